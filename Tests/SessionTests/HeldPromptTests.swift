import HoldfastTestKit
import LinkCore
import LinkWire
import Testing

@testable import Session

/// Tests of the effects of a long upload and of a plain server on prompts in flight.
@Suite struct HeldPromptTests {
  @Test func `silence does not end the connection while a long prompt is uploaded`() {
    var bench = SessionBench.connected()
    let attempt = bench.attempt
    bench.answersPings = false
    bench.pass(.seconds(10))
    bench.prompt(String(repeating: "a", count: 30 * 16_384))
    // With a short prompt the connection would end 60 s after the last sign of life.
    bench.pass(.seconds(52))
    #expect(bench.attempt == attempt)
    #expect(bench.model.link.status.phase == .connected)
  }

  @Test func `a short prompt does not extend the allowed silence`() {
    var bench = SessionBench.connected()
    let attempt = bench.attempt
    bench.answersPings = false
    bench.prompt("short")
    bench.pass(.seconds(60))
    #expect(bench.attempt != attempt)
  }

  @Test func `gives up a prompt that a plain server accepted, even if no history arrives`() {
    var bench = SessionBench.lostByPlainServer()
    bench.pass(.seconds(299))
    #expect(bench.states.last == "a accepted")
    bench.pass(.seconds(1))
    #expect(bench.states.last == "a unsure")
    #expect(bench.prompts.count == 1)
  }

  @Test func `a prompt whose pause ends behind a long upload waits for it without a deadline`() {
    var bench = SessionBench.prompted()
    bench.prompt("b", in: "other")
    bench.refuse(bench.key("a"), "busy")
    bench.prompt(String(repeating: "c", count: 200_000), in: "third")
    bench.pass(.seconds(2))
    #expect(bench.prompts.map(\.text.count) == [1, 1])
    #expect(bench.model.deadline.map { $0 > bench.now } == true)
    bench.ack(bench.key("b"))
    #expect(bench.prompts.map(\.text) == ["a", "b", "a"])
  }
}
