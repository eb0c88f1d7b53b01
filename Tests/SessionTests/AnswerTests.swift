import LinkCore
import LinkStorage
import LinkWire
import Testing

@testable import Session

/// Tests that match answers and refusals to prompts, and check the remaining state of the prompts.
@Suite struct AnswerTests {
  /// Returns the conversations of the messages shown.
  private static func conversations(_ bench: SessionBench) -> [String] {
    bench.updates.compactMap { update in
      if case .message(let entry, _, _) = update { entry.conversation } else { nil }
    }
  }

  @Test func `a response without a conversation belongs to the conversation of its prompt`() {
    var bench = SessionBench.connected()
    bench.prompt("a", in: "d")
    bench.say(
      .response(
        SessionResponse(
          id: "m", conversation: nil, idempotencyKey: bench.key("a").description,
          result: .success(text: "x"))))
    #expect(Self.conversations(bench) == ["d"])
  }

  @Test func `a response to no prompt belongs to the conversation it names`() {
    var bench = SessionBench.connected()
    bench.say(.response(SessionResponse(id: "m", conversation: "d", result: .success(text: "x"))))
    #expect(Self.conversations(bench) == ["d"])
  }

  @Test(arguments: [
    (true, "interrupted", "a interrupted"), (true, "a call was interrupted", "a failed"),
    (false, "the session was interrupted", "a interrupted"), (false, "no", "a failed"),
  ])
  func `a server with keys reports an interruption in one word, a plain one in a sentence`(
    hasKeys: Bool, error: String, state: String
  ) {
    var bench = SessionBench.prompted(hasKeys ? [.idempotency] : [])
    bench.say(
      .response(
        SessionResponse(
          id: "m", conversation: SessionBench.conversation,
          idempotencyKey: hasKeys ? bench.key("a").description : nil,
          result: .failure(error: error))))
    #expect(bench.states.last == state)
  }

  @Test func `keeps waiting prompts when another one failed`() {
    var bench = SessionBench.connected()
    bench.isChecked = false
    for number in 1...102 { bench.prompt("\(number)") }
    bench.refuse(bench.key("102"), "conflict")
    #expect(bench.model.queue.items.map(\.text) == (1...102).map { "\($0)" })
  }

  @Test func `an ack without a key does not belong to a refused prompt`() {
    var bench = SessionBench.connected([])
    bench.prompt("a")
    bench.refuse(bench.key("a"), "conflict")
    bench.prompt("b")
    bench.ack(nil)
    #expect(bench.states.last == "b accepted")
  }

  @Test func `a loss while only a refused prompt waits is no large failure`() {
    var bench = SessionBench.prompted()
    bench.refuse(bench.key("a"), "busy")
    bench.give(.link(.lost(bench.attempt, .reset), at: bench.wall))
    #expect(bench.model.payload.outcomes == [])
  }

  @Test func `a prompt without an ack that waits behind a long one is not in flight`() {
    var bench = SessionBench.connected()
    let long = String(repeating: "x", count: 30 * 16_384)
    bench.prompt("a")
    bench.prompt(long, in: "d")
    // After 10 s the long prompt is sent; after 30 s the short one is due for a retry.
    bench.pass(.seconds(35))
    #expect(bench.prompts.map(\.text) == ["a", long])
    #expect(bench.model.connection?.sent == [bench.key(long)])
  }

  @Test func `measures a prompt of control characters by its size as JSON`() {
    var bench = SessionBench.connected()
    bench.isChecked = false
    bench.prompt(String(repeating: "\u{1}", count: 163_840))
    #expect(bench.prompts == [])
    #expect(bench.reason == "a prompt has at most 983040 bytes as JSON")
  }

  @Test func `refuses a prompt before the store was read`() {
    var bench = SessionBench()
    bench.prompt("a")
    #expect(bench.states == ["a failed"])
    #expect(bench.reason == "the session is closed")
    #expect(bench.model.queue.items == [])
  }

  /// Returns a harness without a connection, whose prompt "a" has an unknown outcome and can be
  /// retried.
  private static func failed() -> SessionBench {
    var bench = SessionBench.prompted([])
    bench.pass(.seconds(300))
    var next = SessionBench(seed: 8)
    next.store = bench.store
    next.restore()
    next.log = []
    return next
  }

  @Test func `a retried prompt waits in the next run, too`() {
    var bench = Self.failed()
    #expect(bench.model.unanswered == 0)
    bench.give(.retry(bench.key("a")))
    var next = SessionBench(seed: 9)
    next.store = bench.store
    next.restore()
    #expect(next.model.unanswered == 1)
  }

  @Test func `a retried prompt can become stale`() {
    var bench = Self.failed()
    bench.give(.retry(bench.key("a")))
    bench.pass(.milliseconds(59_999))
    #expect(bench.notices == [])
    bench.pass(.milliseconds(1))
    #expect(bench.notices == [.stale(bench.key("a"))])
  }
}
