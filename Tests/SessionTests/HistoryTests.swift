import HoldfastCore
import HoldfastSessionData
import Testing

@testable import HoldfastSession

@Suite struct HistoryTests {
  private static let old = SessionVersion.oldest

  @Test func `a message is stored before it is acknowledged and shown`() {
    var harness = SessionHarness.prompted()
    let key = harness.key("a")
    harness.ack(key)
    harness.holdsStore = true
    harness.respond("m1", to: key)
    #expect(harness.acks == [])
    #expect(harness.messages == [])
    harness.commit()
    #expect(harness.acks == ["m1"])
    #expect(harness.messages == ["m1 live"])
    #expect(harness.states.last == "a answered")
  }

  @Test func `retries a refused commit after 1, 2 and 4 s, and loses nothing`() {
    var harness = SessionHarness.connected()
    harness.holdsStore = true
    harness.prompt("a")
    for wait in [1, 2, 4] {
      harness.give(.commitFailed(harness.changes.removeFirst().id, .full(detail: "")))
      #expect(harness.changes.isEmpty)
      harness.pass(.seconds(wait) - .milliseconds(1))
      #expect(harness.changes.isEmpty)
      harness.pass(.milliseconds(1))
      #expect(harness.changes.count == 1)
    }
    harness.commit()
    #expect(harness.prompts.map(\.text) == ["a"])
    #expect(
      harness.notices == Array(repeating: .store(.full(detail: "")), count: 3) + [.storeRecovered])
  }

  @Test func `a late refusal of the store is ignored`() {
    var harness = SessionHarness.connected()
    harness.holdsStore = true
    harness.prompt("a")
    harness.give(.commitFailed(SessionCommitID(99), .full(detail: "")))
    #expect(harness.notices == [])
    #expect(harness.changes.count == 1)
    harness.commit()
    #expect(harness.states.first == "a queued")
  }

  @Test func `loads the contents of the store only once`() {
    var harness = SessionHarness.connected()
    let other = ClientSessionSnapshot(client: UUID128(high: 7, low: 7))
    #expect(harness.give(.restored(other, conversation: "b", at: harness.wall)) == [])
    #expect(harness.model.client == SessionHarness.client)
  }

  @Test func `a gap before the first message begins at the start`() {
    var harness = SessionHarness.talking(version: SessionVersion(0, 4, 0))
    harness.say(
      .numbered([], next: 1, gap: SessionHistory.Gap(requested: 3, oldest: 0, reason: .clientAhead))
    )
    #expect(harness.gaps == [.clientAhead])
  }

  @Test func `a message that also arrives by history and replay is shown once, acknowledged again`()
  {
    var harness = SessionHarness.talking()
    harness.say(.window([.one("m0", at: 0)], next: 1))
    harness.say(.replay(id: "m0", .one("m0", at: nil), number: nil))
    #expect(harness.messages == ["m0 live"])
    #expect(harness.acks == ["m0", "m0"])
  }

  @Test func `does not report an own prompt in a history`() {
    var harness = SessionHarness.prompted()
    let key = harness.key("a")
    harness.ack(key)
    harness.say(.window([.one(key.description, .user, "a", at: 0)], next: 1))
    #expect(harness.messages == [])
  }

  @Test func `counts replays by number, in any order`() {
    var harness = SessionHarness.connected([.idempotency, .resume])
    harness.say(.replay(id: "x1", .one("x1", at: nil), number: 1))
    harness.say(.replay(id: "x3", .one("x3", at: nil), number: 3))
    #expect(harness.store.open(as: SessionHarness.client).received == 1)
    harness.say(.replay(id: "x2", .one("x2", at: nil), number: 2))
    #expect(harness.store.open(as: SessionHarness.client).received == 3)
    #expect(harness.messages == ["x1 replay", "x3 replay", "x2 replay"])
    #expect(harness.acks == ["x1", "x3", "x2"])
  }

  @Test func `sends the acks of stored messages on the next connection`() {
    var harness = SessionHarness.connected()
    harness.holdsStore = true
    harness.say(.replay(id: "x1", .one("x1", at: nil), number: nil))
    harness.lose()
    harness.holdsStore = false
    while !harness.changes.isEmpty { harness.commit() }
    #expect(harness.acks == [])
    harness.connect()
    #expect(harness.acks == ["x1"])
  }

  @Test func `requests a known conversation from its cursor, in either version`() {
    for (version, cursors) in [
      (
        SessionVersion.newest,
        [SessionCursor.offset(0, signature: nil), .offset(2, signature: "s")]
      ),
      (Self.old, [.sequence(0), .sequence(2)]),
    ] {
      var harness = SessionHarness.talking(version: version)
      let two = [SessionEntry.one("u", .user, at: 1), .one("m0", at: 2)]
      let zero = [SessionEntry.one("u", .user, at: 0), .one("m0", at: 1)]
      harness.say(version == Self.old ? .numbered(two, next: 3) : .window(zero, next: 2))
      harness.lose()
      harness.connect(version: version)
      #expect(harness.subscriptions.map(\.cursor) == cursors)
    }
  }

  @Test func `requests the next window after an incomplete one`() {
    var harness = SessionHarness.talking()
    harness.say(.window([.one("x", at: 0), .one("y", at: 1)], next: 2, isComplete: false))
    #expect(
      harness.subscriptions.map(\.cursor) == [
        .offset(0, signature: nil), .offset(2, signature: "s"),
      ])
    harness.say(.window([.one("z", at: 2)], next: 3))
    #expect(harness.subscriptions.count == 2)
    #expect(harness.gaps == [])
    #expect(harness.messages.map { $0.prefix(1) } == ["m", "x", "y", "z"])
    #expect(harness.model.isCaughtUp)
  }

  @Test func `does not request an incomplete window again that makes no progress`() {
    var harness = SessionHarness.talking()
    harness.say(.window([], next: 0, isComplete: false))
    harness.say(.window([], next: 0, isComplete: false))
    #expect(harness.subscriptions.count <= 2)
    #expect(harness.model.isCaughtUp)
  }

  @Test func `reports pruned messages as a gap, and requests the rest`() {
    var harness = SessionHarness.talking(version: Self.old)
    harness.say(
      .numbered([], next: 11, gap: SessionHistory.Gap(requested: 0, oldest: 11, reason: .pruned)))
    #expect(harness.gaps == [.pruned])
    #expect(harness.subscriptions.map(\.cursor) == [.sequence(0), .sequence(10)])
  }

  @Test func `a server that is behind the client is read from the start`() {
    var harness = SessionHarness.talking(version: Self.old)
    harness.say(.numbered([.one("x", at: 1), .one("y", at: 2)], next: 3))
    harness.lose()
    harness.connect(version: Self.old)
    harness.say(
      .numbered(
        [], next: 1, gap: SessionHistory.Gap(requested: 2, oldest: 1, reason: .clientAhead)))
    #expect(harness.gaps == [.clientAhead])
    #expect(harness.subscriptions.map(\.cursor) == [.sequence(0), .sequence(2), .sequence(0)])
  }

  @Test(arguments: [
    (SessionServerMessage.window([], next: 0, isReplaced: true), SessionGap.replaced),
    (.window([], next: 1), .clientAhead),
  ])
  func `a file that was replaced or truncated is a gap and is read from its beginning`(
    window: SessionServerMessage, gap: SessionGap
  ) {
    var harness = SessionHarness.talking()
    harness.say(.window([.one("x", at: 0), .one("y", at: 1)], next: 2))
    harness.lose()
    harness.connect()
    harness.say(window)
    #expect(harness.gaps == [gap])
    #expect(harness.subscriptions.last?.cursor == .offset(0, signature: nil))
  }

  @Test func `requests a hole once, then reports it as a gap`() {
    var harness = SessionHarness.talking()
    let late = SessionServerMessage.window([.one("x", at: 5), .one("y", at: 6)], next: 7)
    harness.say(late)
    #expect(harness.gaps == [])
    #expect(harness.subscriptions.count == 2)
    harness.say(late)
    #expect(harness.gaps == [.hole])
    #expect(harness.messages.map { $0.prefix(1) } == ["m", "x", "y"])
    #expect(harness.model.isCaughtUp)
  }

  @Test func `reports messages that the server dropped as one gap`() {
    var harness = SessionHarness.opening()
    harness.connect(isRecovered: false)
    harness.say(.error(SessionError(message: "", code: "not_recovered")))
    #expect(harness.gaps == [.notRecovered])
    harness.say(.replay(id: "x5", .one("x5", at: nil), number: 5))
    #expect(harness.store.open(as: SessionHarness.client).received == 5)
  }

  @Test func `forgets numbers received beyond a hole once the server dropped messages`() {
    var harness = SessionHarness.connected([.idempotency, .resume])
    harness.say(.replay(id: "x1", .one("x1", at: nil), number: 1))
    harness.say(.replay(id: "x3", .one("x3", at: nil), number: 3))
    harness.say(.error(SessionError(message: "", code: "not_recovered")))
    harness.say(.replay(id: "x5", .one("x5", at: nil), number: 5))
    #expect(harness.model.messages.received == 5)
    #expect(harness.model.messages.ahead == [])
    harness.say(.replay(id: "x7", .one("x7", at: nil), number: 7))
    #expect(harness.model.messages.received == 5)
    harness.say(.replay(id: "x6", .one("x6", at: nil), number: 6))
    #expect(harness.store.open(as: SessionHarness.client).received == 7)
  }

  @Test func `a repeated old message is not the next one after dropped messages`() {
    var harness = SessionHarness.connected([.idempotency, .resume])
    harness.say(.replay(id: "x1", .one("x1", at: nil), number: 1))
    harness.say(.replay(id: "x2", .one("x2", at: nil), number: 2))
    harness.say(.error(SessionError(message: "", code: "not_recovered")))
    harness.say(.replay(id: "x2", .one("x2", at: nil), number: 2))
    harness.say(.replay(id: "x5", .one("x5", at: nil), number: 5))
    #expect(harness.store.open(as: SessionHarness.client).received == 5)
    #expect(harness.model.messages.ahead == [])
  }

  @Test func `remembers 1,000 numbers beyond a missing one`() {
    var harness = SessionHarness.connected([.idempotency, .resume])
    harness.isChecked = false
    for number in UInt64(2)...1_003 {
      harness.say(.replay(id: "x\(number)", .one("x\(number)", at: nil), number: number))
    }
    #expect(harness.model.messages.ahead == Set(UInt64(2)...1_001))
    #expect(harness.model.messages.received == 0)
    harness.say(.replay(id: "x1", .one("x1", at: nil), number: 1))
    #expect(harness.model.messages.ahead == [])
    #expect(harness.model.messages.received == 1_001)
  }

  @Test func `a live message is shown as live`() {
    var harness = SessionHarness.talking()
    harness.say(.window([.one("m0", at: 0)], next: 1))
    harness.say(.window([.one("x", at: 1)], next: 2))
    #expect(harness.messages == ["m0 live", "x live"])
  }

  @Test func `requests several conversations in one batch if the server supports it`() {
    var harness = SessionHarness.connected([.idempotency, .batch])
    for name in ["c", "d"] {
      harness.prompt(name, in: name)
      harness.ack(harness.key(name))
    }
    harness.lose()
    harness.log = []
    harness.connect([.idempotency, .batch])
    for name in ["c", "d"] { harness.ack(harness.key(name)) }
    let batches = harness.sent.compactMap {
      if case .subscribeBatch(let all) = $0 { all.map(\.conversation) } else { nil }
    }
    #expect(batches == [["c", "d"]])
  }
}
