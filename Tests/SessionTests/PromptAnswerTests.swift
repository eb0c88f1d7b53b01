import HoldfastCore
import HoldfastSessionData
import Testing

@testable import HoldfastSession

/// Tests of the keys of prompts, of the answers that are reported with their ends, and of the marks
/// of single news items.
@Suite struct PromptAnswerTests {
  @Test func `a prompt is sent under the key that the user supplies, once`() {
    var harness = SessionHarness.connected()
    let key = UUID128(high: 3, low: 4)
    harness.prompt("a", key: key)
    let before = harness.log.count
    harness.prompt("b", key: key)
    #expect(harness.prompts.map(\.idempotencyKey) == [key.description])
    #expect(harness.log.count == before)
  }

  @Test func `a failed prompt is not retried under a key that is in use`() {
    var harness = SessionHarness.prompted()
    let key = harness.key("a")
    harness.refuse(key, "conflict")
    harness.give(.retry(key, as: key))
    #expect(harness.states.last == "a failed")
    #expect(harness.model.queue[key]?.text == "a")
  }

  @Test func `the answer is reported with the end of its prompt`() {
    var harness = SessionHarness.prompted()
    harness.respond("m1", to: harness.key("a"), "x")
    #expect(harness.answers == ["m1 x"])
  }

  @Test func `an answer that the history has shown before is reported with the end, too`() {
    var harness = SessionHarness.prompted()
    harness.say(.replay(id: "m1", .one("m1", .assistant, "x", at: nil), number: nil))
    harness.respond("m1", to: harness.key("a"), "x")
    #expect(harness.messages == ["m1 replay"])
    #expect(harness.answers == ["m1 x"])
  }

  @Test(arguments: ["m1", nil])
  func `a server without keys reports answers, too`(id: String?) {
    var harness = SessionHarness.acceptedByPlainServer()
    let key = harness.key("a")
    harness.respond(id, to: nil, "x")
    #expect(harness.answers == ["\(id ?? "response-\(key)") x"])
  }

  @Test func `the next run reports an end that was not marked, but not its answer`() {
    var harness = SessionHarness.prompted()
    harness.respond("m1", to: harness.key("a"), "x")
    harness.log = []
    harness.relaunch()
    #expect(harness.states == ["a answered"])
    #expect(harness.answers == [])
  }

  @Test func `single marks are stored, and earlier news are still shown`() {
    var harness = SessionHarness.connected()
    for id in ["x1", "x2", "x3", "x4"] {
      harness.say(.replay(id: id, .one(id, at: nil), number: nil))
    }
    harness.give(.answersShown([2, 9]))
    #expect(harness.unshown == [1, 3, 4])
    harness.give(.shown(through: 1))
    #expect(harness.unshown == [3, 4])
    harness.give(.answersShown([4]))
    #expect(!harness.model.isShown)
    harness.give(.answersShown([3, 4]))
    #expect(harness.unshown == [])
    #expect(harness.model.isShown)
    #expect(harness.model.shown.confirmed == 4)
  }
}

extension SessionHarness {
  /// The answers that were reported with the ends of prompts, as "id text".
  fileprivate var answers: [String] {
    updates.compactMap { update in
      guard case .prompt(let prompt, _) = update else { return nil }
      return prompt.answer.map { "\($0.id) \($0.text)" }
    }
  }

  /// The numbers of the news that the next run would show.
  fileprivate var unshown: [UInt64] {
    var store = store
    return store.open(as: Self.client).unshown.map(\.number)
  }
}
