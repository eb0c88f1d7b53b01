import HoldfastCore
import HoldfastSessionData
import HoldfastTestKit
import Testing

@testable import HoldfastSession

/// Tests of the effects of a long upload and of a plain server on prompts in flight.
@Suite struct HeldPromptTests {
  @Test func `silence does not end the connection while a long prompt is uploaded`() {
    var harness = SessionHarness.connected()
    let attempt = harness.attempt
    harness.answersPings = false
    harness.pass(.seconds(10))
    harness.prompt(String(repeating: "a", count: 30 * 16_384))
    // With a short prompt the connection would end 60 s after the last sign of life.
    harness.pass(.seconds(52))
    #expect(harness.attempt == attempt)
    #expect(harness.model.link.status.phase == .connected)
  }

  @Test func `a short prompt does not extend the allowed silence`() {
    var harness = SessionHarness.connected()
    let attempt = harness.attempt
    harness.answersPings = false
    harness.prompt("short")
    harness.pass(.seconds(60))
    #expect(harness.attempt != attempt)
  }

  @Test func `gives up a prompt that a plain server accepted, even if no history arrives`() {
    var harness = SessionHarness.lostByPlainServer()
    harness.pass(.seconds(299))
    #expect(harness.states.last == "a accepted")
    harness.pass(.seconds(1))
    #expect(harness.states.last == "a unsure")
    #expect(harness.prompts.count == 1)
  }

  @Test func `a prompt whose pause ends behind a long upload waits for it without a deadline`() {
    var harness = SessionHarness.prompted()
    harness.prompt("b", in: "other")
    harness.refuse(harness.key("a"), "busy")
    let long = String(repeating: "c", count: 200_000)
    harness.prompt(long, in: "third")
    harness.pass(.seconds(2))
    #expect(harness.prompts.map(\.text.count) == [1, 1, 200_000])
    #expect(harness.model.deadline.map { $0 > harness.now } == true)
    harness.ack(harness.key(long))
    #expect(harness.prompts.map(\.text.count) == [1, 1, 200_000, 1])
  }

  @Test(arguments: [(16_127, 2), (16_128, 1), (16_129, 1)])
  func `prompts of other conversations wait once 16 KiB are on the way`(bytes: Int, sent: Int) {
    var harness = SessionHarness.connected()
    let text = String(repeating: "a", count: bytes)
    harness.prompt(text)
    harness.prompt("b", in: "other")
    #expect(harness.prompts.count == sent)
    harness.ack(harness.key(text))
    #expect(harness.prompts.count == 2)
  }

  @Test func `64 short prompts follow each other without an ack, and the next one waits`() {
    var harness = SessionHarness.connected()
    for number in 10..<76 { harness.prompt("\(number)", in: "\(number)") }
    #expect(harness.prompts.count == 64)
    harness.ack(harness.key("10"))
    #expect(harness.prompts.count == 65)
  }

  @Test func `a plain server gets one prompt at a time`() {
    var harness = SessionHarness.prompted([])
    harness.prompt("b", in: "other")
    #expect(harness.prompts.map(\.text) == ["a"])
    harness.ack(nil)
    #expect(harness.prompts.map(\.text) == ["a", "b"])
  }
}
