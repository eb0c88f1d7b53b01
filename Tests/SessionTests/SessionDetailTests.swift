import LinkCore
import LinkStorage
import LinkWire
import Testing

@testable import Session

/// Tests of the reports and the stored data of a session besides its prompts.
@Suite struct SessionDetailTests {
  @Test func `each prompt becomes stale after its own 60 s`() {
    var bench = SessionBench()
    bench.restore()
    bench.prompt("a")
    bench.pass(.seconds(10))
    bench.prompt("b")
    #expect(bench.model.deadline == .second(60))
    bench.pass(.seconds(50))
    #expect(bench.notices == [.stale(bench.key("a"))])
    bench.pass(.seconds(10))
    #expect(bench.notices == [.stale(bench.key("a")), .stale(bench.key("b"))])
  }

  @Test func `an error without a key does not affect an unsent prompt`() {
    var bench = SessionBench.connected()
    bench.say(.draining(message: "", retryAfter: .seconds(5), window: nil))
    bench.prompt("b")
    #expect(bench.states == ["b queued"])
    let error = SessionError(message: "no", code: "x", conversation: SessionBench.conversation)
    bench.say(.error(error))
    #expect(bench.states == ["b queued"])
    #expect(bench.notices.last == .refused(error))
  }

  @Test func `an error without a key ends the sent prompt of its conversation`() {
    var bench = SessionBench.prompted()
    bench.prompt("b")
    bench.say(.error(SessionError(message: "no", conversation: SessionBench.conversation)))
    #expect(bench.states == ["a queued", "a sent", "b queued", "a failed", "b sent"])
  }

  @Test func `an error that answers a subscription ends no prompt of its conversation`() {
    var bench = SessionBench.talking()
    bench.prompt("b")
    let error = SessionError(message: "no", conversation: SessionBench.conversation)
    bench.say(.error(error))
    #expect(bench.states.last == "b sent")
    #expect(bench.notices == [.refused(error)])
    bench.say(.error(error))
    #expect(bench.states.last == "b failed")
  }

  @Test(arguments: [(-1, 0), (0, 0), (1, 1), (2, 2), (3, 2)])
  func `a store returns at most the requested number of entries, and none for a negative limit`(
    limit: Int, count: Int
  ) {
    let bench = SessionBench.talking()
    let entries = bench.store.history(of: SessionBench.conversation, before: nil, limit: limit)
    #expect(entries.map(\.number) == Array([1, 2, 3].prefix(2).suffix(count)).map(UInt64.init))
  }

  @Test func `a retry request does not cancel a stop`() {
    var bench = SessionBench.connected()
    bench.holdsStore = true
    bench.prompt("a")
    bench.give(.stop)
    bench.give(.link(.device(.again), at: bench.wall))
    bench.pass(.seconds(2))
    #expect(!bench.model.isConnected)
    #expect(!bench.model.isStopping && !bench.model.link.isWanted)
  }

  @Test func `a short prompt without an answer does not shorten the time of a long one behind it`()
  {
    var bench = SessionBench.connected()
    let attempt = bench.attempt
    bench.answersPings = false
    bench.prompt("short")
    bench.prompt(String(repeating: "a", count: 30 * 16_384), in: "d")
    bench.pass(.seconds(62))
    #expect(bench.prompts.count >= 2)
    #expect(bench.attempt == attempt)
  }

  @Test func `a response without a key ends no prompt of another conversation`() {
    var bench = SessionBench.acceptedByPlainServer()
    bench.say(.response(SessionResponse(id: "m", conversation: "d", result: .success(text: "x"))))
    #expect(bench.states.last == "a accepted")
    #expect(bench.messages == ["m live"])
  }

  @Test func `an ack without a key settles no prompt that already has one`() {
    var bench = SessionBench.connected()
    bench.ack(nil)
    bench.prompt("a")
    bench.ack(bench.key("a"))
    bench.prompt("b", in: "d")
    bench.ack(nil)
    #expect(bench.states.last == "b accepted")
  }

  @Test func `ignores an ack that nothing awaits`() {
    var bench = SessionBench.connected()
    // The first ack answers the message size.
    bench.ack(nil)
    bench.log = []
    bench.ack(nil)
    #expect(bench.log == [])
    bench.prompt("a")
    bench.ack(nil)
    #expect(bench.states.last == "a accepted")
  }

  @Test func `stores 100 failed prompts and forgets the oldest beyond that`() {
    var bench = SessionBench.connected()
    bench.isChecked = false
    for number in 1...102 {
      bench.prompt("\(number)")
      bench.refuse(bench.key("\(number)"), "conflict")
    }
    let kept = (3...102).map { "\($0)" }
    #expect(bench.model.queue.items.map(\.text) == kept)
    let stored = bench.store.open(as: SessionBench.client).prompts
    #expect(stored.map(\.text) == kept)
  }

  @Test func `connect contains the number up to which everything is stored`() {
    var bench = SessionBench.connected([.idempotency, .resume])
    bench.say(.replay(id: "x1", .one("x1", at: nil), number: 1))
    bench.holdsStore = true
    bench.say(.replay(id: "x2", .one("x2", at: nil), number: 2))
    bench.lose()
    bench.connect([.idempotency, .resume])
    #expect(bench.connects.map(\.connect.received) == [1])
  }

  @Test func `shows each temporary refusal with its reason`() {
    var bench = SessionBench.prompted()
    bench.ack(bench.key("a"))
    for count in 2...3 {
      bench.refuse(bench.key("a"), "busy")
      bench.pass(.seconds(3))
      #expect(bench.prompts.count == count)
    }
    #expect(bench.states.count { $0 == "a queued" } == 3)
  }

  /// Returns a window of a server with sequence numbers that has two messages, at 1 and 2, and
  /// states this range.
  private static func window(first: UInt64?, last: UInt64?, next: UInt64) -> SessionServerMessage {
    .history(
      SessionHistory(
        conversation: SessionBench.conversation,
        entries: [.one("u", .user, at: 1), .one("m0", at: 2)],
        place: .sequence(first: first, last: last, next: next), isComplete: true))
  }

  @Test func `a window without a range begins with its first message`() {
    var bench = SessionBench.talking(version: .oldest)
    bench.say(Self.window(first: nil, last: nil, next: 3))
    #expect(bench.model.conversations[SessionBench.conversation]?.sequence == 2)
    #expect(bench.subscriptions.count == 1)
  }

  @Test func `a window with a stated end ends there, whatever it contains`() {
    var bench = SessionBench.talking(version: .oldest)
    bench.say(Self.window(first: 1, last: 5, next: 6))
    #expect(bench.model.conversations[SessionBench.conversation]?.sequence == 5)
  }

  @Test func `a prompt with an unknown outcome is retried under a new key`() {
    var bench = SessionBench.prompted([])
    let key = bench.key("a")
    bench.pass(.seconds(300))
    #expect(bench.states.last == "a unsure")
    bench.give(.retry(key))
    #expect(bench.states.suffix(2) == ["a queued", "a sent"])
    #expect(bench.prompts.map(\.idempotencyKey) == [key, bench.key("a")].map(\.description))
    #expect(bench.key("a") != key)
  }

  @Test func `shows a prompt that failed in an earlier run when it is retried`() {
    var bench = SessionBench.prompted([])
    let key = bench.key("a")
    bench.pass(.seconds(300))
    let numbers = bench.updates.compactMap { update in
      if case .prompt(_, let news) = update { news } else { nil }
    }
    for number in numbers { bench.give(.shown(through: number)) }
    var next = SessionBench(seed: 8)
    next.store = bench.store
    next.restore()
    #expect(numbers == [2])
    #expect(next.states == [])
    next.give(.retry(key))
    #expect(next.states == ["a queued"])
  }

  @Test func `a refusal of an accepted prompt keeps its entry`() {
    var bench = SessionBench.prompted()
    bench.ack(bench.key("a"))
    bench.refuse(bench.key("a"), "conflict")
    #expect(bench.states.last == "a failed")
    #expect(bench.store.history(of: SessionBench.conversation, before: nil, limit: 9).count == 1)
  }

  @Test(arguments: [(1_000, "x1"), (1_001, "x2")])
  func `keeps the newest 1,000 acknowledgements for the next connection`(
    count: Int, first: String
  ) {
    var bench = SessionBench.connected()
    bench.isChecked = false
    bench.holdsStore = true
    for number in 1...count {
      bench.say(.replay(id: "x\(number)", .one("x\(number)", at: nil), number: nil))
    }
    bench.lose()
    while !bench.changes.isEmpty { bench.commit() }
    bench.connect()
    #expect(bench.acks.count == 1_000)
    #expect(bench.acks.first == first && bench.acks.last == "x\(count)")
  }

  @Test func `everything is shown when the last number was confirmed`() {
    var bench = SessionBench.connected()
    #expect(bench.model.isShown)
    bench.say(.replay(id: "x1", .one("x1", at: nil), number: nil))
    #expect(!bench.model.isShown)
    bench.give(.shown(through: 1))
    #expect(bench.model.isShown)
  }

  @Test func `a change contains a conversation once, in its latest state`() {
    var batch = SessionBatch()
    for sequence in 1...3 as ClosedRange<UInt64> {
      batch.put(KnownConversation(id: "c", sequence: sequence))
      batch.put(KnownConversation(id: "d"))
    }
    #expect(batch.change.conversations.map(\.id) == ["c", "d"])
    #expect(batch.change.conversations.map(\.sequence) == [3, 0])
  }

  @Test func `a deferred prompt is in the next change once`() {
    var batch = SessionBatch()
    var prompt = StoredPrompt(
      id: UUID128(high: 0, low: 1), conversation: "c", text: "a", number: 1,
      createdAt: Timestamp(nanoseconds: 0))
    batch.put(prompt)
    prompt.isAccepted = true
    batch.putLater(prompt)
    #expect(batch.change.prompts.map(\.isAccepted) == [false])
    batch.seal()
    #expect(batch.change.prompts == [prompt])
    batch = SessionBatch()
    batch.putLater(prompt)
    #expect(batch.isEmpty)
  }

  @Test func `a refused prompt keeps its text and its conversation when retried`() {
    var bench = SessionBench.connected()
    bench.prompt("a", in: "other")
    bench.refuse(bench.key("a"), "too_long")
    bench.give(.retry(bench.key("a")))
    #expect(bench.prompts.map(\.text) == ["a", "a"])
    #expect(bench.prompts.map(\.conversation) == ["other", "other"])
    #expect(Set(bench.prompts.map(\.idempotencyKey)).count == 2)
  }

  @Test func `ten successes after a failure increase the maximum message size`() {
    var size = PayloadSize()
    size.noteLoss()
    for _ in 0..<10 { size.noteArrival(bytes: 200_000) }
    #expect(size.kilobytes == 220)
  }

  @Test func `an input returns its link event`() {
    let event = LinkEvent.device(.woke)
    #expect(SessionModel.Input(event, at: SessionBench().wall).event == event)
    #expect(SessionModel.Input.start.event == nil)
  }

  @Test func `a session started before its store was read does nothing`() {
    var bench = SessionBench()
    #expect(bench.give(.start) == [])
    #expect(bench.model.deadline == nil)
  }

  @Test func `the first attempt has the wall-clock time at which the store was read`() {
    let bench = SessionBench.opening()
    #expect(bench.model.connection?.startedAt == bench.wall)
  }

  @Test func `a change does not store a prompt that it forgets`() {
    var batch = SessionBatch()
    let prompt = StoredPrompt(
      id: UUID128(high: 0, low: 1), conversation: "c", text: "a", number: 1,
      createdAt: Timestamp(nanoseconds: 0))
    batch.put(prompt)
    batch.forget(prompt.id)
    #expect(batch.change.prompts == [])
    #expect(batch.change.forgotten == [prompt.id])
  }

  @Test func `a repeated refusal of the store counts once`() {
    var bench = SessionBench.connected()
    bench.holdsStore = true
    bench.prompt("a")
    let id = bench.changes.removeFirst().id
    for _ in 1...2 { bench.give(.commitFailed(id, .full(detail: ""))) }
    #expect(bench.notices == [.store(.full(detail: ""))])
    bench.pass(.seconds(1))
    #expect(bench.changes.count == 1)
  }
}
