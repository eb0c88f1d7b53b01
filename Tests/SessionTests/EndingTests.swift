import LinkCore
import LinkStorage
import LinkWire
import Testing

@testable import Session

@Suite struct EndingTests {
  @Test func `disconnects at once in the background if nothing is in flight`() {
    var bench = SessionBench.talking()
    bench.say(.window([.one("m0", at: 0)], next: 1))
    bench.give(.link(.device(.lifecycle(.background)), at: bench.wall))
    #expect(!bench.model.isConnected)
    #expect(bench.sent.last == .disconnect(reason: "background"))
  }

  @Test func `gives a prompt 25 s to be accepted in the background`() {
    var bench = SessionBench.prompted()
    bench.give(.link(.device(.lifecycle(.background)), at: bench.wall))
    bench.pass(.milliseconds(24_999))
    #expect(bench.model.isConnected)
    bench.pass(.milliseconds(1))
    #expect(!bench.model.isConnected)
  }

  @Test func `disconnects in the background as soon as the prompt is accepted`() {
    var bench = SessionBench.prompted()
    bench.give(.link(.device(.lifecycle(.background)), at: bench.wall))
    bench.ack(bench.key("a"))
    #expect(!bench.model.isConnected)
    bench.give(.link(.device(.lifecycle(.foreground)), at: bench.wall))
    #expect(bench.opens == 1)
  }

  @Test func `waits in the background for the ack of a prompt that it sent again`() {
    var bench = SessionBench.prompted()
    bench.ack(bench.key("a"))
    bench.lose()
    bench.connect()
    #expect(bench.prompts.count == 2)
    bench.give(.link(.device(.lifecycle(.background)), at: bench.wall))
    #expect(bench.model.isConnected)
    bench.ack(bench.key("a"))
    #expect(!bench.model.isConnected)
  }

  @Test func `a stop reports how many prompts have no answer`() {
    var bench = SessionBench.prompted()
    bench.give(.stop)
    #expect(bench.model.isStopped)
    #expect(bench.notices == [.unanswered(count: 1)])
    bench.give(.link(.device(.again), at: bench.wall))
    #expect(bench.opens == 0)
  }

  @Test func `a stop waits 2 s for the store`() {
    var bench = SessionBench.connected()
    bench.holdsStore = true
    bench.prompt("a")
    bench.give(.stop)
    bench.pass(.milliseconds(1_999))
    #expect(bench.model.isConnected)
    bench.pass(.milliseconds(1))
    #expect(!bench.model.isConnected)
  }

  @Test(arguments: [false, true])
  func `a stop ends after a failed commit, but not during one in flight`(
    hasFailed: Bool
  ) {
    var bench = SessionBench.connected()
    bench.holdsStore = true
    bench.prompt("a")
    bench.give(.stop)
    bench.pass(.seconds(2))
    #expect(!bench.model.isConnected)
    if hasFailed { bench.give(.commitFailed(bench.changes[0].id, .other(detail: "full"))) }
    #expect(bench.model.isStopped == hasFailed)
  }

  @Test func `a retry by the user starts a new series after the last attempt failed`() {
    var bench = SessionBench.opening()
    for _ in 0..<30 where bench.model.link.status.phase != .failed {
      bench.lose()
      bench.pass(.seconds(60))
    }
    #expect(bench.model.link.status.phase == .failed)
    let opens = bench.opens
    bench.give(.link(.device(.again), at: bench.wall))
    #expect(bench.opens == opens + 1)
  }

  @Test func `a stop waits until shown messages are confirmed and that is stored`() {
    var bench = SessionBench.talking()
    bench.give(.stop)
    #expect(bench.model.isConnected)
    bench.holdsStore = true
    bench.give(.shown(through: 10))
    #expect(bench.model.isConnected)
    bench.commit()
    #expect(!bench.model.isConnected)
    while !bench.changes.isEmpty { bench.commit() }
    #expect(bench.model.isStopped)
    var next = SessionBench()
    next.store = bench.store
    next.restore()
    #expect(next.messages == [])
    #expect(next.states == [])
  }

  @Test(arguments: [false, true])
  func `sends no ping while a stop waits for the store`(isStopping: Bool) {
    var bench = SessionBench.connected()
    bench.pass(.seconds(29))
    bench.holdsStore = true
    bench.prompt("a")
    let before = bench.sent.count
    if isStopping { bench.give(.stop) }
    bench.pass(.milliseconds(1_999))
    #expect(bench.sent[before...].contains(.ping) != isStopping)
    #expect(bench.model.isConnected)
  }

  @Test func `a second stop takes no longer than the first`() {
    var bench = SessionBench.connected()
    bench.holdsStore = true
    bench.prompt("a")
    bench.give(.stop)
    bench.pass(.milliseconds(1_500))
    bench.give(.stop)
    bench.pass(.milliseconds(500))
    #expect(!bench.model.isConnected)
  }

  @Test func `waits in the background until received messages are stored and acknowledged`() {
    var bench = SessionBench.talking()
    bench.say(.window([.one("m0", at: 0)], next: 1))
    bench.holdsStore = true
    bench.say(.replay(id: "x1", .one("x1", at: nil), number: nil))
    bench.give(.link(.device(.lifecycle(.background)), at: bench.wall))
    #expect(bench.model.isConnected)
    bench.commit()
    #expect(bench.acks.last == "x1")
    #expect(!bench.model.isConnected)
  }

  @Test func `completes a connection in the background to send its acknowledgements`() {
    var bench = SessionBench.connected()
    bench.holdsStore = true
    bench.say(.replay(id: "x1", .one("x1", at: nil), number: nil))
    bench.lose()
    while !bench.changes.isEmpty { bench.commit() }
    bench.give(.opened(bench.attempt))
    bench.give(.link(.device(.lifecycle(.background)), at: bench.wall))
    bench.connect()
    #expect(bench.acks == ["x1"])
    #expect(!bench.model.isConnected)
  }

  @Test func `does not restore a lost connection in the background for messages stored meanwhile`()
  {
    var bench = SessionBench.talking()
    bench.say(.window([.one("m0", at: 0)], next: 1))
    bench.holdsStore = true
    bench.say(.window([.one("m1", at: 1)], next: 2))
    bench.give(.link(.device(.lifecycle(.background)), at: bench.wall))
    #expect(bench.model.isConnected)
    bench.give(.link(.lost(bench.attempt, .reset), at: bench.wall))
    while !bench.changes.isEmpty { bench.commit() }
    #expect(bench.model.link.status == LinkStatus(phase: .held, reason: .blocked(.background)))
    bench.pass(.seconds(30))
    #expect(bench.opens == 0)
  }

  @Test func `a stop waits 2 s for a confirmation that does not come`() {
    var bench = SessionBench.talking()
    bench.give(.stop)
    bench.pass(.milliseconds(1_999))
    #expect(bench.model.isConnected)
    bench.pass(.milliseconds(1))
    #expect(bench.model.isStopped)
  }

  @Test func `a prompt after a stop is refused`() {
    var bench = SessionBench.connected()
    bench.holdsStore = true
    bench.prompt("a")
    bench.give(.stop)
    bench.prompt("b")
    #expect(bench.states == ["b failed"])
    #expect(bench.reason == "the session is closed")
  }

  @Test func `the next run continues with unanswered prompts`() {
    var bench = SessionBench.prompted()
    bench.prompt("b")
    bench.ack(bench.key("a"))
    let key = bench.key("a")
    var next = SessionBench()
    next.store = bench.store
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

  @Test func `the next run shows stored messages that were not confirmed, and no others`() {
    var bench = SessionBench.talking()
    var next = SessionBench()
    next.store = bench.store
    next.restore()
    #expect(next.messages == ["m0 live"])
    #expect(next.states == ["first answered"])
    bench.give(.shown(through: 10))
    #expect(bench.model.isShown)
    var last = SessionBench()
    last.store = bench.store
    last.restore()
    #expect(last.messages == [])
    #expect(last.states == [])
  }

  @Test func `a record ends at the time of the loss`() {
    var bench = SessionBench.connected()
    let lost = bench.wall.advanced(by: .seconds(1_000))
    bench.give(.link(.lost(bench.attempt, .reset), at: lost))
    let ends = bench.updates.compactMap {
      if case .record(let record) = $0 { record.endedAt } else { nil }
    }
    #expect(ends == [lost])
  }

  @Test func `each connection leaves one record, and its counts are stored by day`() {
    var bench = SessionBench.connected()
    bench.pass(.seconds(31))
    bench.lose()
    let records = bench.updates.compactMap {
      if case .record(let record) = $0 { record } else { nil }
    }
    #expect(records.map(\.reason) == [.failure(.reset)])
    #expect(records.map(\.connected) == [.seconds(31)])
    #expect(records.map(\.roundTrip) == [.zero])
    #expect(bench.store.days.map(\.connects) == [1])
    #expect(bench.store.days.map(\.roundTrips) == [1])
  }
}
