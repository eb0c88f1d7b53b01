import HoldfastCore
import HoldfastSessionData
import Testing

@testable import HoldfastSession

/// Tests of how answers and refusals are matched to prompts, and of the resulting prompt states.
@Suite struct AnswerTests {
  /// Returns the conversations of the messages that are shown.
  private static func conversations(_ harness: SessionHarness) -> [String] {
    harness.updates.compactMap { update in
      if case .message(let entry, _, _) = update { entry.conversation } else { nil }
    }
  }

  @Test func `a response without a conversation belongs to the conversation of its prompt`() {
    var harness = SessionHarness.connected()
    harness.prompt("a", in: "d")
    harness.say(
      .response(
        SessionResponse(
          id: "m", conversation: nil, idempotencyKey: harness.key("a").description,
          result: .success(text: "x"))))
    #expect(Self.conversations(harness) == ["d"])
  }

  @Test func `a response to no prompt belongs to the conversation it names`() {
    var harness = SessionHarness.connected()
    harness.say(.response(SessionResponse(id: "m", conversation: "d", result: .success(text: "x"))))
    #expect(Self.conversations(harness) == ["d"])
  }

  @Test(arguments: [
    (true, "interrupted", "a interrupted"), (true, "a call was interrupted", "a failed"),
    (false, "the session was interrupted", "a interrupted"), (false, "no", "a failed"),
  ])
  func `a server with keys reports an interruption in one word, a plain one in a sentence`(
    hasKeys: Bool, error: String, state: String
  ) {
    var harness = SessionHarness.prompted(hasKeys ? [.idempotency] : [])
    harness.say(
      .response(
        SessionResponse(
          id: "m", conversation: SessionHarness.conversation,
          idempotencyKey: hasKeys ? harness.key("a").description : nil,
          result: .failure(error: error))))
    #expect(harness.states.last == state)
  }

  @Test func `keeps waiting prompts when another one failed`() {
    var harness = SessionHarness.connected()
    harness.isChecked = false
    for number in 1...102 { harness.prompt("\(number)") }
    harness.refuse(harness.key("102"), "conflict")
    #expect(harness.model.queue.items.map(\.text) == (1...102).map { "\($0)" })
  }

  @Test func `an ack without a key does not belong to a refused prompt`() {
    var harness = SessionHarness.connected([])
    harness.prompt("a")
    harness.refuse(harness.key("a"), "conflict")
    harness.prompt("b")
    harness.ack(nil)
    #expect(harness.states.last == "b accepted")
  }

  @Test func `a loss while only a refused prompt waits is no large failure`() {
    var harness = SessionHarness.prompted()
    harness.refuse(harness.key("a"), "busy")
    harness.give(.link(.lost(harness.attempt, .reset), at: harness.wall))
    #expect(harness.model.payload.outcomes == [])
  }

  @Test func `a prompt without an ack that waits behind a long one is not in flight`() {
    var harness = SessionHarness.connected()
    let long = String(repeating: "x", count: 30 * 16_384)
    harness.prompt("a")
    harness.prompt(long, in: "d")
    // After 10 s the long prompt is sent. After 30 s the short one is due for a retry.
    harness.pass(.seconds(35))
    #expect(harness.prompts.map(\.text) == ["a", long])
    #expect(harness.model.connection?.sent == [harness.key(long)])
  }

  @Test func `measures a prompt of control characters by its size as JSON`() {
    var harness = SessionHarness.connected()
    harness.isChecked = false
    harness.prompt(String(repeating: "\u{1}", count: 163_840))
    #expect(harness.prompts == [])
    #expect(harness.reason == "a prompt has at most 983040 bytes as JSON")
  }

  @Test func `refuses a prompt before the store was read`() {
    var harness = SessionHarness()
    harness.prompt("a")
    #expect(harness.states == ["a failed"])
    #expect(harness.reason == "the session is closed")
    #expect(harness.model.queue.items == [])
  }

  /// Returns a harness without a connection, whose prompt "a" has an unknown outcome and can be
  /// retried.
  private static func failed() -> SessionHarness {
    var harness = SessionHarness.prompted([])
    harness.pass(.seconds(300))
    var next = SessionHarness(seed: 8)
    next.store = harness.store
    next.restore()
    next.log = []
    return next
  }

  @Test func `a retried prompt waits in the next run, too`() {
    var harness = Self.failed()
    #expect(harness.model.unanswered == 0)
    harness.retry(harness.key("a"))
    var next = SessionHarness(seed: 9)
    next.store = harness.store
    next.restore()
    #expect(next.model.unanswered == 1)
  }

  @Test func `a retried prompt can become stale`() {
    var harness = Self.failed()
    harness.retry(harness.key("a"))
    harness.pass(.milliseconds(59_999))
    #expect(harness.notices == [])
    harness.pass(.milliseconds(1))
    #expect(harness.notices == [.stale(harness.key("a"))])
  }
}
