import LinkCore
import LinkStorage
import LinkWire
import Testing

@testable import Session

@Suite struct HistoryTests {
  private static let old = SessionVersion.oldest

  @Test func `a message is stored before it is acknowledged and shown`() {
    var bench = SessionBench.prompted()
    let key = bench.key("a")
    bench.ack(key)
    bench.holdsStore = true
    bench.respond("m1", to: key)
    #expect(bench.acks == [])
    #expect(bench.messages == [])
    bench.commit()
    #expect(bench.acks == ["m1"])
    #expect(bench.messages == ["m1 live"])
    #expect(bench.states.last == "a answered")
  }

  @Test func `retries a refused commit after 1, 2 and 4 s, and loses nothing`() {
    var bench = SessionBench.connected()
    bench.holdsStore = true
    bench.prompt("a")
    for wait in [1, 2, 4] {
      bench.give(.commitFailed(bench.changes.removeFirst().id, .full(detail: "")))
      #expect(bench.changes.isEmpty)
      bench.pass(.seconds(wait) - .milliseconds(1))
      #expect(bench.changes.isEmpty)
      bench.pass(.milliseconds(1))
      #expect(bench.changes.count == 1)
    }
    bench.commit()
    #expect(bench.prompts.map(\.text) == ["a"])
    #expect(
      bench.notices == Array(repeating: .store(.full(detail: "")), count: 3) + [.storeRecovered])
  }

  @Test func `a late refusal of the store is ignored`() {
    var bench = SessionBench.connected()
    bench.holdsStore = true
    bench.prompt("a")
    bench.give(.commitFailed(SessionCommitID(99), .full(detail: "")))
    #expect(bench.notices == [])
    #expect(bench.changes.count == 1)
    bench.commit()
    #expect(bench.states.first == "a queued")
  }

  @Test func `loads the contents of the store only once`() {
    var bench = SessionBench.connected()
    let other = ClientSessionSnapshot(client: UUID128(high: 7, low: 7))
    #expect(bench.give(.restored(other, conversation: "b", at: bench.wall)) == [])
    #expect(bench.model.client == SessionBench.client)
  }

  @Test func `a gap before the first message begins at the start`() {
    var bench = SessionBench.talking(version: SessionVersion(0, 4, 0))
    bench.say(
      .numbered([], next: 1, gap: SessionHistory.Gap(requested: 3, oldest: 0, reason: .clientAhead))
    )
    #expect(bench.gaps == [.clientAhead])
  }

  @Test func `a message that also arrives by history and replay is shown once, acknowledged again`()
  {
    var bench = SessionBench.talking()
    bench.say(.window([.one("m0", at: 0)], next: 1))
    bench.say(.replay(id: "m0", .one("m0", at: nil), number: nil))
    #expect(bench.messages == ["m0 live"])
    #expect(bench.acks == ["m0", "m0"])
  }

  @Test func `does not report an own prompt in a history`() {
    var bench = SessionBench.prompted()
    let key = bench.key("a")
    bench.ack(key)
    bench.say(.window([.one(key.description, .user, "a", at: 0)], next: 1))
    #expect(bench.messages == [])
  }

  @Test func `counts replays by number, in any order`() {
    var bench = SessionBench.connected([.idempotency, .resume])
    bench.say(.replay(id: "x1", .one("x1", at: nil), number: 1))
    bench.say(.replay(id: "x3", .one("x3", at: nil), number: 3))
    #expect(bench.store.open(as: SessionBench.client).received == 1)
    bench.say(.replay(id: "x2", .one("x2", at: nil), number: 2))
    #expect(bench.store.open(as: SessionBench.client).received == 3)
    #expect(bench.messages == ["x1 replay", "x3 replay", "x2 replay"])
    #expect(bench.acks == ["x1", "x3", "x2"])
  }

  @Test func `sends the acks of stored messages on the next connection`() {
    var bench = SessionBench.connected()
    bench.holdsStore = true
    bench.say(.replay(id: "x1", .one("x1", at: nil), number: nil))
    bench.lose()
    bench.holdsStore = false
    while !bench.changes.isEmpty { bench.commit() }
    #expect(bench.acks == [])
    bench.connect()
    #expect(bench.acks == ["x1"])
  }

  @Test func `requests a known conversation from its cursor, in either version`() {
    for (version, cursors) in [
      (
        SessionVersion.newest,
        [SessionCursor.offset(0, signature: nil), .offset(2, signature: "s")]
      ),
      (Self.old, [.sequence(0), .sequence(2)]),
    ] {
      var bench = SessionBench.talking(version: version)
      let two = [SessionEntry.one("u", .user, at: 1), .one("m0", at: 2)]
      let zero = [SessionEntry.one("u", .user, at: 0), .one("m0", at: 1)]
      bench.say(version == Self.old ? .numbered(two, next: 3) : .window(zero, next: 2))
      bench.lose()
      bench.connect(version: version)
      #expect(bench.subscriptions.map(\.cursor) == cursors)
    }
  }

  @Test func `requests the next window after an incomplete one`() {
    var bench = SessionBench.talking()
    bench.say(.window([.one("x", at: 0), .one("y", at: 1)], next: 2, isComplete: false))
    #expect(
      bench.subscriptions.map(\.cursor) == [
        .offset(0, signature: nil), .offset(2, signature: "s"),
      ])
    bench.say(.window([.one("z", at: 2)], next: 3))
    #expect(bench.subscriptions.count == 2)
    #expect(bench.gaps == [])
    #expect(bench.messages.map { $0.prefix(1) } == ["m", "x", "y", "z"])
    #expect(bench.model.isCaughtUp)
  }

  @Test func `does not request an incomplete window again that makes no progress`() {
    var bench = SessionBench.talking()
    bench.say(.window([], next: 0, isComplete: false))
    bench.say(.window([], next: 0, isComplete: false))
    #expect(bench.subscriptions.count <= 2)
    #expect(bench.model.isCaughtUp)
  }

  @Test func `reports pruned messages as a gap, and requests the rest`() {
    var bench = SessionBench.talking(version: Self.old)
    bench.say(
      .numbered([], next: 11, gap: SessionHistory.Gap(requested: 0, oldest: 11, reason: .pruned)))
    #expect(bench.gaps == [.pruned])
    #expect(bench.subscriptions.map(\.cursor) == [.sequence(0), .sequence(10)])
  }

  @Test func `a server that is behind the client is read from the start`() {
    var bench = SessionBench.talking(version: Self.old)
    bench.say(.numbered([.one("x", at: 1), .one("y", at: 2)], next: 3))
    bench.lose()
    bench.connect(version: Self.old)
    bench.say(
      .numbered(
        [], next: 1, gap: SessionHistory.Gap(requested: 2, oldest: 1, reason: .clientAhead)))
    #expect(bench.gaps == [.clientAhead])
    #expect(bench.subscriptions.map(\.cursor) == [.sequence(0), .sequence(2), .sequence(0)])
  }

  @Test(arguments: [
    (SessionServerMessage.window([], next: 0, isReplaced: true), SessionGap.replaced),
    (.window([], next: 1), .clientAhead),
  ])
  func `a file that was replaced or truncated is a gap and is read from its beginning`(
    window: SessionServerMessage, gap: SessionGap
  ) {
    var bench = SessionBench.talking()
    bench.say(.window([.one("x", at: 0), .one("y", at: 1)], next: 2))
    bench.lose()
    bench.connect()
    bench.say(window)
    #expect(bench.gaps == [gap])
    #expect(bench.subscriptions.last?.cursor == .offset(0, signature: nil))
  }

  @Test func `requests a hole once, then reports it as a gap`() {
    var bench = SessionBench.talking()
    let late = SessionServerMessage.window([.one("x", at: 5), .one("y", at: 6)], next: 7)
    bench.say(late)
    #expect(bench.gaps == [])
    #expect(bench.subscriptions.count == 2)
    bench.say(late)
    #expect(bench.gaps == [.hole])
    #expect(bench.messages.map { $0.prefix(1) } == ["m", "x", "y"])
    #expect(bench.model.isCaughtUp)
  }

  @Test func `reports messages that the server dropped as one gap`() {
    var bench = SessionBench.opening()
    bench.connect(isRecovered: false)
    bench.say(.error(SessionError(message: "", code: "not_recovered")))
    #expect(bench.gaps == [.notRecovered])
    bench.say(.replay(id: "x5", .one("x5", at: nil), number: 5))
    #expect(bench.store.open(as: SessionBench.client).received == 5)
  }

  @Test func `forgets numbers received beyond a hole once the server dropped messages`() {
    var bench = SessionBench.connected([.idempotency, .resume])
    bench.say(.replay(id: "x1", .one("x1", at: nil), number: 1))
    bench.say(.replay(id: "x3", .one("x3", at: nil), number: 3))
    bench.say(.error(SessionError(message: "", code: "not_recovered")))
    bench.say(.replay(id: "x5", .one("x5", at: nil), number: 5))
    #expect(bench.model.messages.received == 5)
    #expect(bench.model.messages.ahead == [])
    bench.say(.replay(id: "x7", .one("x7", at: nil), number: 7))
    #expect(bench.model.messages.received == 5)
    bench.say(.replay(id: "x6", .one("x6", at: nil), number: 6))
    #expect(bench.store.open(as: SessionBench.client).received == 7)
  }

  @Test func `a repeated old message is not the next one after dropped messages`() {
    var bench = SessionBench.connected([.idempotency, .resume])
    bench.say(.replay(id: "x1", .one("x1", at: nil), number: 1))
    bench.say(.replay(id: "x2", .one("x2", at: nil), number: 2))
    bench.say(.error(SessionError(message: "", code: "not_recovered")))
    bench.say(.replay(id: "x2", .one("x2", at: nil), number: 2))
    bench.say(.replay(id: "x5", .one("x5", at: nil), number: 5))
    #expect(bench.store.open(as: SessionBench.client).received == 5)
    #expect(bench.model.messages.ahead == [])
  }

  @Test func `remembers 1,000 numbers beyond a missing one`() {
    var bench = SessionBench.connected([.idempotency, .resume])
    bench.isChecked = false
    for number in UInt64(2)...1_003 {
      bench.say(.replay(id: "x\(number)", .one("x\(number)", at: nil), number: number))
    }
    #expect(bench.model.messages.ahead == Set(UInt64(2)...1_001))
    #expect(bench.model.messages.received == 0)
    bench.say(.replay(id: "x1", .one("x1", at: nil), number: 1))
    #expect(bench.model.messages.ahead == [])
    #expect(bench.model.messages.received == 1_001)
  }

  @Test func `a live message is shown as live`() {
    var bench = SessionBench.talking()
    bench.say(.window([.one("m0", at: 0)], next: 1))
    bench.say(.window([.one("x", at: 1)], next: 2))
    #expect(bench.messages == ["m0 live", "x live"])
  }

  @Test func `requests several conversations in one batch if the server supports it`() {
    var bench = SessionBench.connected([.idempotency, .batch])
    for name in ["c", "d"] {
      bench.prompt(name, in: name)
      bench.ack(bench.key(name))
    }
    bench.lose()
    bench.log = []
    bench.connect([.idempotency, .batch])
    for name in ["c", "d"] { bench.ack(bench.key(name)) }
    let batches = bench.sent.compactMap {
      if case .subscribeBatch(let all) = $0 { all.map(\.conversation) } else { nil }
    }
    #expect(batches == [["c", "d"]])
  }
}
