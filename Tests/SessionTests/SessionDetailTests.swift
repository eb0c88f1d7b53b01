import HoldfastCore
import HoldfastSessionData
import Testing

@testable import HoldfastSession

/// Tests of the reports and the stored data of a session, except for its prompts.
@Suite struct SessionDetailTests {
  @Test func `each prompt becomes stale after its own 60 s`() {
    var harness = SessionHarness()
    harness.restore()
    harness.prompt("a")
    harness.pass(.seconds(10))
    harness.prompt("b")
    #expect(harness.model.deadline == .second(60))
    harness.pass(.seconds(50))
    #expect(harness.notices == [.stale(harness.key("a"))])
    harness.pass(.seconds(10))
    #expect(harness.notices == [.stale(harness.key("a")), .stale(harness.key("b"))])
  }

  @Test func `an error without a key does not affect an unsent prompt`() {
    var harness = SessionHarness.connected()
    harness.say(.draining(message: "", retryAfter: .seconds(5), window: nil))
    harness.prompt("b")
    #expect(harness.states == ["b queued"])
    let error = SessionError(message: "no", code: "x", conversation: SessionHarness.conversation)
    harness.say(.error(error))
    #expect(harness.states == ["b queued"])
    #expect(harness.notices.last == .refused(error))
  }

  @Test func `an error without a key ends the sent prompt of its conversation`() {
    var harness = SessionHarness.prompted()
    harness.prompt("b")
    harness.say(.error(SessionError(message: "no", conversation: SessionHarness.conversation)))
    #expect(harness.states == ["a queued", "a sent", "b queued", "a failed", "b sent"])
  }

  @Test func `an error that answers a subscription ends no prompt of its conversation`() {
    var harness = SessionHarness.talking()
    harness.prompt("b")
    let error = SessionError(message: "no", conversation: SessionHarness.conversation)
    harness.say(.error(error))
    #expect(harness.states.last == "b sent")
    #expect(harness.notices == [.refused(error)])
    harness.say(.error(error))
    #expect(harness.states.last == "b failed")
  }

  @Test(arguments: [(-1, 0), (0, 0), (1, 1), (2, 2), (3, 2)])
  func `a store returns at most the requested number of entries, and none for a negative limit`(
    limit: Int, count: Int
  ) {
    let harness = SessionHarness.talking()
    let entries = harness.store.history(of: SessionHarness.conversation, before: nil, limit: limit)
    #expect(entries.map(\.number) == Array([1, 2, 3].prefix(2).suffix(count)).map(UInt64.init))
  }

  @Test func `a retry request does not cancel a stop`() {
    var harness = SessionHarness.connected()
    harness.holdsStore = true
    harness.prompt("a")
    harness.give(.stop)
    harness.give(.link(.device(.again), at: harness.wall))
    harness.pass(.seconds(2))
    #expect(!harness.model.isConnected)
    #expect(!harness.model.isStopping && !harness.model.link.isWanted)
  }

  @Test func `a short prompt without an answer does not shorten the time of a long one behind it`()
  {
    var harness = SessionHarness.connected()
    let attempt = harness.attempt
    harness.answersPings = false
    harness.pass(.seconds(10))
    harness.prompt("short")
    harness.prompt(String(repeating: "a", count: 30 * 16_384), in: "d")
    #expect(harness.prompts.count == 2)
    // Without the long prompt the connection would end 60 s after the last sign of life.
    harness.pass(.seconds(52))
    #expect(harness.attempt == attempt)
  }

  @Test func `a response without a key ends no prompt of another conversation`() {
    var harness = SessionHarness.acceptedByPlainServer()
    harness.say(.response(SessionResponse(id: "m", conversation: "d", result: .success(text: "x"))))
    #expect(harness.states.last == "a accepted")
    #expect(harness.messages == ["m live"])
  }

  @Test func `an ack without a key settles no prompt that already has one`() {
    var harness = SessionHarness.connected()
    harness.ack(nil)
    harness.prompt("a")
    harness.ack(harness.key("a"))
    harness.prompt("b", in: "d")
    harness.ack(nil)
    #expect(harness.states.last == "b accepted")
  }

  @Test func `ignores an ack that nothing awaits`() {
    var harness = SessionHarness.connected()
    // The first ack answers the message size.
    harness.ack(nil)
    harness.log = []
    harness.ack(nil)
    #expect(harness.log == [])
    harness.prompt("a")
    harness.ack(nil)
    #expect(harness.states.last == "a accepted")
  }

  @Test func `stores 100 failed prompts and forgets the oldest beyond that`() {
    var harness = SessionHarness.connected()
    harness.isChecked = false
    for number in 1...102 {
      harness.prompt("\(number)")
      harness.refuse(harness.key("\(number)"), "conflict")
    }
    let expected = (3...102).map { "\($0)" }
    #expect(harness.model.queue.items.map(\.text) == expected)
    let stored = harness.store.open(as: SessionHarness.client).prompts
    #expect(stored.map(\.text) == expected)
  }

  @Test func `connect contains the number up to which everything is stored`() {
    var harness = SessionHarness.connected([.idempotency, .resume])
    harness.say(.replay(id: "x1", .one("x1", at: nil), number: 1))
    harness.holdsStore = true
    harness.say(.replay(id: "x2", .one("x2", at: nil), number: 2))
    harness.lose()
    harness.connect([.idempotency, .resume])
    #expect(harness.connects.map(\.connect.received) == [1])
  }

  @Test func `shows each temporary refusal with its reason`() {
    var harness = SessionHarness.prompted()
    harness.ack(harness.key("a"))
    for count in 2...3 {
      harness.refuse(harness.key("a"), "busy")
      harness.pass(.seconds(3))
      #expect(harness.prompts.count == count)
    }
    #expect(harness.states.count { $0 == "a queued" } == 3)
  }

  /// Returns a window of a server with sequence numbers. It has two messages, at 1 and 2, and
  /// states the given range.
  private static func window(first: UInt64?, last: UInt64?, next: UInt64) -> SessionServerMessage {
    .history(
      SessionHistory(
        conversation: SessionHarness.conversation,
        entries: [.one("u", .user, at: 1), .one("m0", at: 2)],
        extent: .sequence(first: first, last: last, next: next), isComplete: true))
  }

  @Test func `a window without a range begins with its first message`() {
    var harness = SessionHarness.talking(version: .oldest)
    harness.say(Self.window(first: nil, last: nil, next: 3))
    #expect(harness.model.conversations[SessionHarness.conversation]?.sequence == 2)
    #expect(harness.subscriptions.count == 1)
  }

  @Test func `a window with a stated end ends there, whatever it contains`() {
    var harness = SessionHarness.talking(version: .oldest)
    harness.say(Self.window(first: 1, last: 5, next: 6))
    #expect(harness.model.conversations[SessionHarness.conversation]?.sequence == 5)
  }

  @Test func `a prompt with an unknown outcome is retried under a new key`() {
    var harness = SessionHarness.prompted([])
    let key = harness.key("a")
    harness.pass(.seconds(300))
    #expect(harness.states.last == "a unsure")
    harness.retry(key)
    #expect(harness.states.suffix(2) == ["a queued", "a sent"])
    #expect(harness.prompts.map(\.idempotencyKey) == [key, harness.key("a")].map(\.description))
    #expect(harness.key("a") != key)
  }

  @Test func `shows a prompt that failed in an earlier run when it is retried`() {
    var harness = SessionHarness.prompted([])
    let key = harness.key("a")
    harness.pass(.seconds(300))
    let numbers = harness.updates.compactMap { update in
      if case .prompt(_, let news) = update { news } else { nil }
    }
    for number in numbers { harness.give(.shown(through: number)) }
    var next = SessionHarness(seed: 8)
    next.store = harness.store
    next.restore()
    #expect(numbers == [2])
    #expect(next.states == [])
    next.retry(key)
    #expect(next.states == ["a queued"])
  }

  @Test func `a refusal of an accepted prompt keeps its entry`() {
    var harness = SessionHarness.prompted()
    harness.ack(harness.key("a"))
    harness.refuse(harness.key("a"), "conflict")
    #expect(harness.states.last == "a failed")
    #expect(
      harness.store.history(of: SessionHarness.conversation, before: nil, limit: 9).count == 1)
  }

  @Test(arguments: [(1_000, "x1"), (1_001, "x2")])
  func `keeps the newest 1,000 acknowledgements for the next connection`(
    count: Int, first: String
  ) {
    var harness = SessionHarness.connected()
    harness.isChecked = false
    harness.holdsStore = true
    for number in 1...count {
      harness.say(.replay(id: "x\(number)", .one("x\(number)", at: nil), number: nil))
    }
    harness.lose()
    while !harness.changes.isEmpty { harness.commit() }
    harness.connect()
    #expect(harness.acks.count == 1_000)
    #expect(harness.acks.first == first && harness.acks.last == "x\(count)")
  }

  @Test func `everything is shown when the last number was confirmed`() {
    var harness = SessionHarness.connected()
    #expect(harness.model.isShown)
    harness.say(.replay(id: "x1", .one("x1", at: nil), number: nil))
    #expect(!harness.model.isShown)
    harness.give(.shown(through: .max))
    #expect(harness.model.isShown)
    harness.say(.replay(id: "x2", .one("x2", at: nil), number: nil))
    #expect(!harness.model.isShown, "a mark does not reach later messages")
    harness.give(.shown(through: 2))
    #expect(harness.model.isShown)
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
    var harness = SessionHarness.connected()
    harness.prompt("a", in: "other")
    harness.refuse(harness.key("a"), "too_long")
    harness.retry(harness.key("a"))
    #expect(harness.prompts.map(\.text) == ["a", "a"])
    #expect(harness.prompts.map(\.conversation) == ["other", "other"])
    #expect(Set(harness.prompts.map(\.idempotencyKey)).count == 2)
  }

  @Test func `ten successes after a failure increase the maximum message size`() {
    var size = PayloadSize()
    size.noteLoss()
    for _ in 0..<10 { size.noteArrival(bytes: 200_000) }
    #expect(size.kilobytes == 220)
  }

  @Test func `an input returns its link event`() {
    let event = LinkEvent.device(.woke)
    #expect(SessionModel.Input(event, at: SessionHarness().wall).event == event)
    #expect(SessionModel.Input.start.event == nil)
  }

  @Test func `a session started before its store was read does nothing`() {
    var harness = SessionHarness()
    #expect(harness.give(.start) == [])
    #expect(harness.model.deadline == nil)
  }

  @Test func `the first attempt has the wall-clock time at which the store was read`() {
    let harness = SessionHarness.opening()
    #expect(harness.model.connection?.startedAt == harness.wall)
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
    var harness = SessionHarness.connected()
    harness.holdsStore = true
    harness.prompt("a")
    let id = harness.changes.removeFirst().id
    for _ in 1...2 { harness.give(.commitFailed(id, .full(detail: ""))) }
    #expect(harness.notices == [.store(.full(detail: ""))])
    harness.pass(.seconds(1))
    #expect(harness.changes.count == 1)
  }
}
