import Foundation
import HoldfastTestKit
import Testing

/// Plans in files, and options beside each other.
@Suite(.timeLimit(.minutes(1))) struct SimulatePlanTests {
  private func play(
    _ text: String, _ words: String...
  ) async throws -> (outcome: CommandProcess.Outcome, file: String) {
    let scratch = try Scratch()
    try scratch.write(Array(text.utf8), to: "plan.json")
    let file = scratch("plan.json")
    let call = ["simulate", "message-stream", "--plan", file] + words
    return (try await CommandProcess.run(call), file)
  }

  private static func plan(
    _ more: String = "", seed: String = "1", server: String = "\"plain\"",
    actions: String = "[]", weather: String = "{}"
  ) -> String {
    #"{"name":"x","plan":{"seed":\#(seed),"server":\#(server),"length":"10s","#
      + #""actions":\#(actions),"weather":\#(weather)}\#(more)}"#
  }

  @Test func `a plan that a person writes needs no findings`() async throws {
    let actions = #"[{"at":"1s","action":"others 2"}]"#
    let (outcome, _) = try await play(Self.plan(actions: actions), "--json")
    #expect(outcome.status == 0)
    #expect(try [String: Any].reading(outcome.output.last)["runs"] as? Int == 1)
  }

  private static let wrong: [(text: String, cause: String)] = [
    (
      plan(#","expcted":[]"#),
      "expcted: there is no such member, only name, plan, policy, defect, expected, found"
    ),
    (plan(#","defect":"noOverlp""#), "defect: noOverlp is not one of "),
    (plan(seed: "-1"), "plan.seed: it is no whole number from 0 to 18446744073709551615"),
    (plan(seed: "1.5"), "plan.seed: it is no whole number from 0 to 18446744073709551615"),
    (plan(server: "\"plan\""), "plan.server: plan is not one of positions, plain"),
    (plan(weather: #"{"loss":1.5}"#), "plan.weather.loss: it is no number from 0.0 to 1.0"),
    (plan(weather: #"{"pages":"x"}"#), "plan.weather.pages: x is not one of stamp, "),
    (plan(weather: #"{"los":1}"#), "plan.weather.los: there is no such member, only "),
    (
      plan(actions: #"[{"at":"1s","action":"others 2","on":1}]"#),
      "plan.actions[0].on: there is no such member, only at, action"
    ),
    (
      plan(actions: #"[{"at":"soon","action":"others 2"}]"#),
      "plan.actions[0].at: soon is not a span of "
    ),
  ]

  @Test(arguments: wrong)
  func `what is wrong in a plan is told with its place`(text: String, cause: String) async throws {
    let (outcome, file) = try await play(text)
    #expect(outcome.status == 1)
    let begin = "holdfast simulate message-stream: \(file) holds no plan: \(cause)"
    #expect(outcome.errors.last?.hasPrefix(begin) == true)
  }

  @Test func `walks meet no plan with a defect`() async throws {
    let (outcome, file) = try await play(Self.plan(#","defect":"noOverlap""#), "--only", "walks")
    let line = "no walks are taken with the defect of \(file); omit --only"
    #expect(outcome == .failure(2, "holdfast simulate message-stream: " + line))
  }

  @Test(arguments: [
    (["--verbose"], "--verbose has no effect without --trace or --shrink; add --trace or --shrink"),
    (["--corpus", "x"], "--corpus has no effect without --shrink; add --shrink"),
    (
      ["--shrink", "--trace"],
      "--trace has no effect beside --shrink, which tells the story, too; omit --trace"
    ),
    (["--break", "all", "--shrink"], "--shrink has no effect beside --break all; omit --shrink"),
    (["--break", "all", "--trace"], "--trace has no effect beside --break all; omit --trace"),
    (["--break", "all", "--plan", "x"], "--plan has no effect beside --break all; omit --plan"),
    (
      ["--plan", "x", "--preset", "lift"],
      "--preset has no effect beside --plan, which says what happens; omit --preset"
    ),
    (
      ["--plan", "x", "--server", "plain"],
      "--server has no effect beside --plan, which names its server; omit --server"
    ),
  ])
  func `options without an effect are refused`(words: [String], line: String) async throws {
    let outcome = try await CommandProcess.run(["simulate", "message-stream"] + words)
    #expect(outcome == .failure(2, "holdfast simulate message-stream: " + line))
  }

  @Test func `seeds without a failure to shrink are counted`() async throws {
    let words = ["simulate", "held-socket", "--seeds", "1..3", "--shrink"]
    let outcome = try await CommandProcess.run(words + ["--json"])
    #expect(outcome.status == 0)
    #expect(try [String: Any].reading(outcome.output.last)["runs"] as? Int == 3)
    let table = try await CommandProcess.run(words)
    #expect(table.output.contains { $0.hasPrefix("runs ") && $0.hasSuffix(" 3") })
  }
}
