import Foundation
import HoldfastCore
import HoldfastLinkChecks
import HoldfastMessageChecks
import HoldfastTestKit
import HoldfastWorlds
import Testing

/// Tests of plans in files and of combinations of options.
@Suite(.timeLimit(.minutes(60))) struct SimulatePlanTests {
  private func play(
    _ text: String, _ arguments: [String] = []
  ) async throws -> (outcome: CommandProcess.Outcome, file: String) {
    let scratch = try Scratch()
    try scratch.write(Array(text.utf8), to: "plan.json")
    let file = scratch("plan.json")
    let call = ["simulate", "message-stream", "--plan", file] + arguments
    return (try await SimulatorProcess.run(call), file)
  }

  private static func plan(
    _ more: String = "", seed: String = "1", server: String = "\"plain\"",
    actions: String = "[]", networkConditions: String = "{}"
  ) -> String {
    #"{"name":"x","plan":{"seed":\#(seed),"server":\#(server),"length":"10s","#
      + #""actions":\#(actions),"conditions":\#(networkConditions)}\#(more)}"#
  }

  @Test func `a hand-written plan needs no findings`() async throws {
    let actions = #"[{"at":"1s","action":"others 2"}]"#
    let (outcome, _) = try await play(Self.plan(actions: actions), ["--json"])
    #expect(outcome.status == 0)
    #expect(try [String: Any].reading(outcome.output.last)["runs"] as? Int == 1)
  }

  private static let wrong: [(text: String, cause: String)] = [
    (plan(#","expected":["lost","lst"]"#), "expected[1]: lst is not one of lost, duplicated, "),
    (
      plan(#","policy":{"preset":"message-stream","liveness.silense":"1s"}"#),
      "policy: liveness.silense is not a policy key"
    ),
    (plan(seed: "\"x\""), "plan.seed is not a number"),
    (plan(actions: "{}"), "plan.actions is not a list"),
    (plan(seed: #"1,"seed":2"#), "plan.seed occurs twice"),
    (
      plan(networkConditions: #"{"tokenLife":"0s"}"#),
      "plan.conditions.tokenLife: it must be at least 1s"
    ),
    (
      plan(actions: #"[{"at":"1s","action":"nonsense 5"}]"#),
      "plan.actions[0].action: no action: nonsense 5; in this world there are background, suspend, "
    ),
    (
      plan(actions: #"[{"at":"1s","action":"reset"},{"at":"1s","action":"kill@7 10s"}]"#),
      "plan.actions[1].action: kill@7 10s: there is 1 phone, number 0"
    ),
    (
      plan(actions: #"[{"at":"10s","action":"others 2"}]"#),
      "plan.actions[0].at: 10s is not before the end of the plan, 10s"
    ),
    (
      plan(server: "\"only\""),
      "plan.server: only is not one of positions, plain; the plan may be one of another world"
    ),
    (
      plan(#","expcted":[]"#),
      "expcted: there is no such member, only name, plan, policy, defect, expected, found"
    ),
    (plan(#","defect":"noOverlp""#), "defect: noOverlp is not one of "),
    (plan(seed: "-1"), "plan.seed: it is no whole number from 0 to 18446744073709551615"),
    (plan(seed: "1.5"), "plan.seed: it is no whole number from 0 to 18446744073709551615"),
    (plan(server: "\"plan\""), "plan.server: plan is not one of positions, plain"),
    (
      plan(networkConditions: #"{"loss":1.5}"#),
      "plan.conditions.loss: it is no number from 0.0 to 1.0"
    ),
    (plan(networkConditions: #"{"pages":"x"}"#), "plan.conditions.pages: x is not one of stamp, "),
    (plan(networkConditions: #"{"los":1}"#), "plan.conditions.los: there is no such member, only "),
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
  func `an error in a plan is reported with its location`(text: String, cause: String) async throws
  {
    let (outcome, file) = try await play(text)
    #expect(outcome.status == 1)
    let begin = "holdfast-sim simulate message-stream: \(file) holds no plan: \(cause)"
    #expect(outcome.errors.last?.hasPrefix(begin) == true)
  }

  @Test func `a plan with another world's server is refused`()
    async throws
  {
    let scratch = try Scratch()
    try scratch.write(Array(Self.plan().utf8), to: "plan.json")
    let file = scratch("plan.json")
    let outcome = try await SimulatorProcess.run("simulate", "held-socket", "--plan", file)
    let cause = "plan.server: there is one kind of server; the plan may be one of another world"
    let line = "holdfast-sim simulate held-socket: \(file) holds no plan: \(cause)"
    #expect(outcome == .failure(1, line))
  }

  @Test func `a plan's expected but missing findings are reported`() async throws {
    let text = Self.plan(#","expected":["lost","early"]"#)
    let line = "the plan expected lost, early, which were not found"
    for arguments in [[], ["--trace"]] {
      let (outcome, _) = try await play(text, arguments)
      #expect(outcome.status == 0)
      #expect(outcome.output.last == line)
      let (events, _) = try await play(text, arguments + ["--json"])
      let last = try [String: Any].reading(events.output.last)
      #expect(last["missing"] as? [String] == ["lost", "early"])
    }
    let (clean, _) = try await play(Self.plan(), ["--json"])
    #expect(try [String: Any].reading(clean.output.last)["missing"] as? [String] == [])
  }

  @Test func `--set changes the policy of a plan, not that of the world`() async throws {
    try await CommandProcess.scratch { directory in
      let file = directory + "/plan.json"
      var digests: [String?] = []
      for (own, set) in [
        (["45s", "1s"], []), (["45s", "4s"], ["--set", "retry.serverJitter=1s"]),
      ] {
        let policy = try LinkPolicy.messageStream.setting([
          ("liveness.silence", own[0]), ("retry.serverJitter", own[1]),
        ])
        let plan = WorldPlan<StreamFeature>.drawn(.swarm, seed: 1, server: .plain)
        try JSONEncoder().encode(CorpusCase(name: "x", plan: plan, policy: policy))
          .write(to: URL(filePath: file))
        let call = ["simulate", "message-stream", "--plan", file, "--json"]
        let outcome = try await SimulatorProcess.run(call + set)
        digests.append(try [String: Any].reading(outcome.output.last)["digest"] as? String)
      }
      #expect(digests[0] != nil && digests[0] == digests[1])
    }
  }

  @Test(arguments: [
    (["--verbose"], "--verbose has no effect without --trace or --shrink; add --trace or --shrink"),
    (["--corpus", "x"], "--corpus has no effect without --shrink; add --shrink"),
    (
      ["--shrink", "--trace"],
      "--trace has no effect beside --shrink, which prints the trace, too; omit --trace"
    ),
    (["--break", "all", "--shrink"], "--shrink has no effect beside --break all; omit --shrink"),
    (["--break", "all", "--trace"], "--trace has no effect beside --break all; omit --trace"),
    (["--break", "all", "--plan", "x"], "--plan has no effect beside --break all; omit --plan"),
    (
      ["--plan", "x", "--preset", "lift"],
      "--preset has no effect beside --plan, which says what happens; omit --preset"
    ),
    (
      ["--plan", "x", "--seeds", "5..9"],
      "--seeds has no effect beside --plan, which has a seed of its own; omit --seeds"
    ),
    (
      ["--shrink", "--corpus", "-"],
      "--corpus cannot be standard output, where the trace is printed; name a file"
    ),
    (
      ["--policy", "nope"],
      "no policy is named nope; name a file, or one of "
        + LinkPolicy.presets.map(\.name).joined(separator: ", ")
    ),
    (
      ["--plan", "x", "--server", "plain"],
      "--server has no effect beside --plan, which names its server; omit --server"
    ),
  ])
  func `options without an effect are refused`(arguments: [String], line: String) async throws {
    let outcome = try await SimulatorProcess.run(["simulate", "message-stream"] + arguments)
    #expect(outcome == .failure(2, "holdfast-sim simulate message-stream: " + line))
  }

  @Test func `seeds are counted if there is no failure to shrink`() async throws {
    let arguments = ["simulate", "held-socket", "--seeds", "1..3", "--shrink"]
    let outcome = try await SimulatorProcess.run(arguments + ["--json"])
    #expect(outcome.status == 0)
    #expect(try [String: Any].reading(outcome.output.last)["runs"] as? Int == 3)
    let table = try await SimulatorProcess.run(arguments)
    #expect(table.output.contains { $0.hasPrefix("runs ") && $0.hasSuffix(" 3") })
  }
}
