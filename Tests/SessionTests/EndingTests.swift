import HoldfastCore
import HoldfastSessionData
import Testing

@testable import HoldfastSession

@Suite struct EndingTests {
  @Test func `disconnects at once in the background if nothing is in flight`() {
    var harness = SessionHarness.talking()
    harness.say(.window([.one("m0", at: 0)], next: 1))
    harness.give(.link(.device(.lifecycle(.background)), at: harness.wall))
    #expect(!harness.model.isConnected)
    #expect(harness.sent.last == .disconnect(reason: "background"))
  }

  @Test func `gives a prompt 25 s to be accepted in the background`() {
    var harness = SessionHarness.prompted()
    harness.give(.link(.device(.lifecycle(.background)), at: harness.wall))
    harness.pass(.milliseconds(24_999))
    #expect(harness.model.isConnected)
    harness.pass(.milliseconds(1))
    #expect(!harness.model.isConnected)
  }

  @Test func `disconnects in the background as soon as the prompt is accepted`() {
    var harness = SessionHarness.prompted()
    harness.give(.link(.device(.lifecycle(.background)), at: harness.wall))
    harness.ack(harness.key("a"))
    #expect(!harness.model.isConnected)
    harness.give(.link(.device(.lifecycle(.foreground)), at: harness.wall))
    #expect(harness.opens == 1)
  }

  @Test func `waits in the background for the ack of a prompt that it sent again`() {
    var harness = SessionHarness.prompted()
    harness.ack(harness.key("a"))
    harness.lose()
    harness.connect()
    #expect(harness.prompts.count == 2)
    harness.give(.link(.device(.lifecycle(.background)), at: harness.wall))
    #expect(harness.model.isConnected)
    harness.ack(harness.key("a"))
    #expect(!harness.model.isConnected)
  }

  @Test func `a stop reports how many prompts have no answer`() {
    var harness = SessionHarness.prompted()
    harness.give(.stop)
    #expect(harness.model.isStopped)
    #expect(harness.notices == [.unanswered(count: 1)])
    harness.give(.link(.device(.again), at: harness.wall))
    #expect(harness.opens == 0)
  }

  @Test func `a stop waits 2 s for the store`() {
    var harness = SessionHarness.connected()
    harness.holdsStore = true
    harness.prompt("a")
    harness.give(.stop)
    harness.pass(.milliseconds(1_999))
    #expect(harness.model.isConnected)
    harness.pass(.milliseconds(1))
    #expect(!harness.model.isConnected)
  }

  @Test(arguments: [false, true])
  func `a stop ends after a failed commit, but not during one in flight`(
    hasFailed: Bool
  ) {
    var harness = SessionHarness.connected()
    harness.holdsStore = true
    harness.prompt("a")
    harness.give(.stop)
    harness.pass(.seconds(2))
    #expect(!harness.model.isConnected)
    if hasFailed { harness.give(.commitFailed(harness.changes[0].id, .other(detail: "full"))) }
    #expect(harness.model.isStopped == hasFailed)
  }

  @Test func `a retry by the user starts a new series after the last attempt failed`() {
    var harness = SessionHarness.opening()
    for _ in 0..<30 where harness.model.link.status.phase != .failed {
      harness.lose()
      harness.pass(.seconds(60))
    }
    #expect(harness.model.link.status.phase == .failed)
    let opens = harness.opens
    harness.give(.link(.device(.again), at: harness.wall))
    #expect(harness.opens == opens + 1)
  }

  @Test func `a stop waits until shown messages are confirmed and that is stored`() {
    var harness = SessionHarness.talking()
    harness.give(.stop)
    #expect(harness.model.isConnected)
    harness.holdsStore = true
    harness.give(.shown(through: 10))
    #expect(harness.model.isConnected)
    harness.commit()
    #expect(!harness.model.isConnected)
    while !harness.changes.isEmpty { harness.commit() }
    #expect(harness.model.isStopped)
    var next = SessionHarness()
    next.store = harness.store
    next.restore()
    #expect(next.messages == [])
    #expect(next.states == [])
  }

  @Test(arguments: [false, true])
  func `sends no ping while a stop waits for the store`(isStopping: Bool) {
    var harness = SessionHarness.connected()
    harness.pass(.seconds(29))
    harness.holdsStore = true
    harness.prompt("a")
    let before = harness.sent.count
    if isStopping { harness.give(.stop) }
    harness.pass(.milliseconds(1_999))
    #expect(harness.sent[before...].contains(.ping) != isStopping)
    #expect(harness.model.isConnected)
  }

  @Test func `a second stop takes no longer than the first`() {
    var harness = SessionHarness.connected()
    harness.holdsStore = true
    harness.prompt("a")
    harness.give(.stop)
    harness.pass(.milliseconds(1_500))
    harness.give(.stop)
    harness.pass(.milliseconds(500))
    #expect(!harness.model.isConnected)
  }

  @Test func `waits in the background until received messages are stored and acknowledged`() {
    var harness = SessionHarness.talking()
    harness.say(.window([.one("m0", at: 0)], next: 1))
    harness.holdsStore = true
    harness.say(.replay(id: "x1", .one("x1", at: nil), number: nil))
    harness.give(.link(.device(.lifecycle(.background)), at: harness.wall))
    #expect(harness.model.isConnected)
    harness.commit()
    #expect(harness.acks.last == "x1")
    #expect(!harness.model.isConnected)
  }

  @Test func `completes a connection in the background to send its acknowledgements`() {
    var harness = SessionHarness.connected()
    harness.holdsStore = true
    harness.say(.replay(id: "x1", .one("x1", at: nil), number: nil))
    harness.lose()
    while !harness.changes.isEmpty { harness.commit() }
    harness.give(.opened(harness.attempt))
    harness.give(.link(.device(.lifecycle(.background)), at: harness.wall))
    harness.connect()
    #expect(harness.acks == ["x1"])
    #expect(!harness.model.isConnected)
  }

  @Test func `does not restore a lost connection in the background for messages stored meanwhile`()
  {
    var harness = SessionHarness.talking()
    harness.say(.window([.one("m0", at: 0)], next: 1))
    harness.holdsStore = true
    harness.say(.window([.one("m1", at: 1)], next: 2))
    harness.give(.link(.device(.lifecycle(.background)), at: harness.wall))
    #expect(harness.model.isConnected)
    harness.give(.link(.lost(harness.attempt, .reset), at: harness.wall))
    while !harness.changes.isEmpty { harness.commit() }
    #expect(harness.model.link.status == LinkStatus(phase: .held, reason: .blocked(.background)))
    harness.pass(.seconds(30))
    #expect(harness.opens == 0)
  }

  @Test func `a stop waits 2 s for a confirmation that does not come`() {
    var harness = SessionHarness.talking()
    harness.give(.stop)
    harness.pass(.milliseconds(1_999))
    #expect(harness.model.isConnected)
    harness.pass(.milliseconds(1))
    #expect(harness.model.isStopped)
  }

  @Test func `a prompt after a stop is refused`() {
    var harness = SessionHarness.connected()
    harness.holdsStore = true
    harness.prompt("a")
    harness.give(.stop)
    harness.prompt("b")
    #expect(harness.states == ["b failed"])
    #expect(harness.reason == "the session is closed")
  }

  @Test func `the next run continues with unanswered prompts`() {
    var harness = SessionHarness.prompted()
    harness.prompt("b")
    harness.ack(harness.key("a"))
    let key = harness.key("a")
    var next = SessionHarness()
    next.store = harness.store
    next.restore()
    next.give(.start)
    next.connect()
    #expect(next.model.unanswered == 2)
    #expect(next.prompts.map(\.idempotencyKey) == [key.description])
    #expect(next.prompts.map(\.isNew) == [true])
    next.respond("m1", to: key)
    #expect(next.prompts.map(\.text) == ["a", "b"])
    next.prompt("c")
    #expect(next.model.queue.items.map(\.number) == [2, 3])
  }

  @Test func `a stop without a reader waits for no marks, and the next run has the messages`() {
    var harness = SessionHarness.talking()
    harness.give(.stopUnread)
    #expect(harness.model.isStopped)
    var next = SessionHarness()
    next.store = harness.store
    next.restore()
    #expect(next.messages == ["m0 live"])
    #expect(next.states == ["first answered"])
  }

  @Test func `the next run shows stored messages that were not confirmed, and no others`() {
    var harness = SessionHarness.talking()
    var next = SessionHarness()
    next.store = harness.store
    next.restore()
    #expect(next.messages == ["m0 live"])
    #expect(next.states == ["first answered"])
    harness.give(.shown(through: 10))
    #expect(harness.model.isShown)
    var last = SessionHarness()
    last.store = harness.store
    last.restore()
    #expect(last.messages == [])
    #expect(last.states == [])
  }

  @Test func `a record ends at the time of the loss`() {
    var harness = SessionHarness.connected()
    let lost = harness.wall.advanced(by: .seconds(1_000))
    harness.give(.link(.lost(harness.attempt, .reset), at: lost))
    let ends = harness.updates.compactMap {
      if case .record(let record) = $0 { record.endedAt } else { nil }
    }
    #expect(ends == [lost])
  }

  @Test func `each connection leaves one record, and its counts are stored by day`() {
    var harness = SessionHarness.connected()
    harness.pass(.seconds(31))
    harness.lose()
    let records = harness.updates.compactMap {
      if case .record(let record) = $0 { record } else { nil }
    }
    #expect(records.map(\.reason) == [.failure(.reset)])
    #expect(records.map(\.connected) == [.seconds(31)])
    #expect(records.map(\.roundTrip) == [.zero])
    #expect(harness.store.days.map(\.connects) == [1])
    #expect(harness.store.days.map(\.roundTrips) == [1])
  }
}
