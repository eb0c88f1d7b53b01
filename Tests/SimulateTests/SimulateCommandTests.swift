import Foundation
import HoldfastHeldChecks
import HoldfastLinkChecks
import HoldfastMessageChecks
import HoldfastTestKit
import HoldfastWorlds
import Testing

@Suite(.timeLimit(.minutes(60))) struct SimulateCommandTests {
  private func run(
    _ arguments: String..., environment: [String: String] = [:]
  ) async throws -> CommandProcess.Outcome {
    try await SimulatorProcess.run(
      ["simulate", "message-stream"] + arguments, environment: environment)
  }

  @Test func `gives the same output twice in a row and with two hash seeds`() async throws {
    var runs: [[String]] = []
    for environment in [["SWIFT_DETERMINISTIC_HASHING": "1"], [:], [:]] {
      for jobs in ["1", "3"] {
        let outcome = try await run(
          "--seeds", "1..2", "--jobs", jobs, "--json", environment: environment)
        runs.append(try outcome.output.map(Self.withoutWallTime))
      }
      let trace = try await run(
        "--seeds", "5", "--server", "plain", "--trace", "--verbose", environment: environment)
      runs.append(trace.output)
    }
    #expect(runs[0].last?.contains("\"runs\":4,") == true)
    #expect(runs[2].count > 20)
    for index in runs.indices.dropFirst(3) { #expect(runs[index] == runs[index - 3]) }
    #expect(runs[0] == runs[1])
  }

  private static func withoutWallTime(_ line: String) throws -> String {
    var object = try [String: Any].reading(line)
    object["wallSeconds"] = nil
    object["simulatedSecondsPerSecond"] = nil
    let bytes = try JSONSerialization.data(withJSONObject: object, options: .sortedKeys)
    return String(decoding: bytes, as: UTF8.self)
  }

  @Test func `every defect of a world is played, and caught`() async throws {
    let outcome = try await SimulatorProcess.run(
      ["simulate", "held-socket", "--break", "all", "--json"])
    let proofs = try outcome.output.map { try [String: Any].reading($0) }
    #expect(outcome.status == 0)
    #expect(proofs.map { $0["name"] as? String } == HeldFeature.Defect.allCases.map(\.rawValue))
    #expect(proofs.allSatisfy { $0["caught"] as? Bool == true })
  }

  @Test func `a failure names its seed and the command that prints its trace`() async throws {
    let arguments = ["--break", "showsBeforeStored", "--server", "plain"]
    let outcome = try await SimulatorProcess.run(
      ["simulate", "message-stream", "--seeds", "1..2", "--json"] + arguments)
    #expect(outcome.status == 1)
    let failure = try [String: Any].reading(outcome.output.first)
    #expect(failure["event"] as? String == "failure")
    let replay = try #require(failure["replay"] as? String)
    #expect(
      replay
        == "holdfast-sim simulate message-stream --server plain --seeds 1 "
        + "--break showsBeforeStored --trace")
    let trace = try await SimulatorProcess.run(
      replay.split(separator: " ").dropFirst().map(String.init))
    #expect(trace.status == 1)
    #expect(trace.output.contains { $0.contains("  FOUND    early: ") })
    #expect(trace.output.first?.hasPrefix("0:00:00.000  ") == true)
    #expect(trace.output.last?.hasPrefix("seed 1, plain: ") == true)
  }

  @Test func `a plan is shrunk, saved and played again`() async throws {
    try await CommandProcess.scratch { directory in
      let file = directory + "/case.json"
      let outcome = try await run(
        "--break", "showsBeforeStored", "--seeds", "1", "--server", "plain", "--shrink",
        "--corpus", file)
      #expect(outcome.status == 1)
      #expect(outcome.output.last?.hasSuffix("the plan is in \(file)") == true)
      let mode = try FileManager.default.attributesOfItem(atPath: file)[.posixPermissions] as? Int
      #expect(mode == 0o644)
      let again = try await run("--plan", file)
      #expect(again.status == 1)
      #expect(again.output.contains { $0.hasPrefix("early ") && !$0.hasSuffix(" 0") })
      let failure = try [String: Any].reading(
        try await run("--plan", file, "--json").output.first)
      #expect(
        failure["replay"] as? String
          == "holdfast-sim simulate message-stream --plan \(file) --break showsBeforeStored --trace"
      )
      let trace = try await run("--plan", file, "--trace")
      #expect(trace.output.contains { $0.contains("  FOUND    early: ") })
    }
  }

  @Test func `accepts a custom policy`() async throws {
    try await CommandProcess.scratch { directory in
      let file = directory + "/mine.json"
      try #"{"preset":"message-stream","liveness.silence":"45s"}"#.write(
        toFile: file, atomically: true, encoding: .utf8)
      let seeds = ["simulate", "message-stream", "--seeds", "1..2", "--json"]
      let usual = try await SimulatorProcess.run(seeds)
      let own = try await SimulatorProcess.run(seeds + ["--policy", file])
      let set = try await SimulatorProcess.run(seeds + ["--set", "liveness.silence=45s"])
      let digests = try [usual, own, set].map {
        try [String: Any].reading($0.output.last)["digest"] as? String
      }
      #expect(digests[0] != digests[1])
      #expect(digests[1] == digests[2])
    }
  }

  @Test func `the largest seeds are played, and prove that a defect is caught`() async throws {
    let last = "18446744073709551615"
    let outcome = try await run("--seeds", "18446744073709551614..\(last)", "--json")
    #expect(outcome.status == 0)
    let summary = try [String: Any].reading(outcome.output.last)
    #expect(summary["runs"] as? Int == 4)
    #expect(summary["stopped"] as? Bool == false)
    let defect = StreamFeature.Defect.closesAlive.rawValue
    let proofs = try await run("--seeds", last, "--break", defect, "--json")
    #expect(try [String: Any].reading(proofs.output.last)["failed"] as? Int == 2)
  }

  @Test func `every world is played by one command`() async throws {
    let outcome = try await SimulatorProcess.run(
      ["simulate", "all", "--preset", "all", "--seeds", "1..4", "--json"])
    #expect(outcome.status == 0)
    let events = try outcome.output.map { try [String: Any].reading($0) }
    #expect(events.first?["name"] as? String == "message-stream")
    #expect(events.count { $0["event"] as? String == "summary" } == events.count / 2)
    let wrong = try await SimulatorProcess.run(["simulate", "all", "--break", "noOverlap"])
    #expect(wrong.status == 2)
  }

  @Test func `a signal ends the command with the results so far`() async throws {
    var outcome: CommandProcess.Outcome
    var wait = 0
    // If the signal arrives before the command has installed its handler, it ends the command as it
    // would end any process.
    repeat {
      let process = try SimulatorProcess.start([
        "simulate", "held-socket", "--seeds", "1..100000000", "--jobs", "1", "--json",
      ])
      wait += 1000
      for _ in 0..<wait { await Task.yield() }
      process.signal(SIGINT)
      outcome = await CommandProcess.outcome(of: process)
    } while outcome.status == SIGINT || outcome.status == 128 + SIGINT
    #expect(outcome.status == 1)
    let summary = try [String: Any].reading(outcome.output.last)
    #expect(summary["event"] as? String == "summary")
    #expect(summary["stopped"] as? Bool == true)
    #expect((summary["runs"] as? Int).map { $0 < 200_000_000 } == true)
    // A run that is under way may take too long on a busy machine, and is named then.
    #expect(outcome.errors.last?.contains("stopped") == true, "\(outcome.errors)")
  }

  @Test func `a run that takes too long ends the command, and the failure names the seed`()
    async throws
  {
    try await EndlessPlan.with { file in
      let outcome = try await SimulatorProcess.run([
        "simulate", "held-socket", "--plan", file, "--run-limit", "300ms",
      ])
      #expect(outcome.status == 1)
      #expect(
        outcome.errors == [
          "holdfast-sim simulate held-socket: held-socket, seed 7: the run takes longer than "
            + "300ms; attach a debugger to see where it spins, or allow more with --run-limit"
        ])
    }
  }

  @Test func `a signal also ends the command during an endless run`() async throws {
    try await EndlessPlan.with { file in
      var outcome: CommandProcess.Outcome
      var wait = 0
      // If the signal arrives before the command has installed its handler, it ends the command as
      // it would end any process.
      repeat {
        let process = try SimulatorProcess.start([
          "simulate", "held-socket", "--plan", file, "--run-limit", "30m",
        ])
        wait += 1000
        for _ in 0..<wait { await Task.yield() }
        process.signal(SIGTERM)
        outcome = await CommandProcess.outcome(of: process)
      } while outcome.status == SIGTERM || outcome.status == 128 + SIGTERM
      #expect(outcome.status == 1)
      #expect(
        outcome.errors == [
          "holdfast-sim simulate held-socket: stopped; held-socket, seed 7: the run under way did "
            + "not end within 5s"
        ])
    }
  }

  @Test func `all presets are played in turn, and each failure names its preset`() async throws {
    let arguments = ["--preset", "all", "--seeds", "1..14", "--json"]
    let outcome = try await SimulatorProcess.run(["simulate", "message-stream"] + arguments)
    let all = try [String: Any].reading(outcome.output.last)
    #expect(all["runs"] as? Int == 28)
    let swarm = try [String: Any].reading(
      try await run("--preset", "all", "--seeds", "2", "--json").output.last)
    let same = try [String: Any].reading(
      try await run("--preset", "swarm", "--seeds", "2", "--json").output.last)
    #expect(swarm["digest"] as? String == same["digest"] as? String)
    let lift = try [String: Any].reading(
      try await run("--preset", "all", "--seeds", "1", "--json").output.last)
    let one = try [String: Any].reading(
      try await run("--preset", "lift", "--seeds", "1", "--json").output.last)
    #expect(lift["digest"] as? String == one["digest"] as? String)
  }

  @Test(arguments: [
    (["--trace"], "--trace is about one run; add --seeds N and --server KIND"),
    (["--trace", "--seeds", "3"], "--trace is about one run; add --server KIND"),
    (["--trace", "--server", "plain"], "--trace is about one run; add --seeds N"),
    (
      ["--seeds", "5..1"],
      #"--seeds cannot be "5..1"; it must be a seed from 0 to 18446744073709551615, "#
        + "or the first and the last as 1..10000"
    ),
    (["--preset", "trian"], #"--preset cannot be "trian"; did you mean train?"#),
    (["--break", "noOverlp"], #"--break cannot be "noOverlp"; did you mean noOverlap?"#),
    (
      ["--set", "liveness.silense=1s"],
      "liveness.silense is not a policy key; see `holdfast policy show message-stream`"
    ),
  ])
  func `reports wrong usage with exit status 2`(arguments: [String], line: String) async throws {
    let outcome = try await SimulatorProcess.run(["simulate", "message-stream"] + arguments)
    #expect(outcome == .failure(2, "holdfast-sim simulate message-stream: " + line))
  }

  @Test(arguments: ["message-stream", "bottle", "all"])
  func `a default of one word in the help is a valid value of its option`(world: String)
    async throws
  {
    let call = ["simulate", world]
    let help = try await SimulatorProcess.run(call + ["--help"])
    let defaults = Self.defaults(in: help.output)
    #expect(defaults.contains(["--preset", "swarm"]))
    for option in defaults {
      let outcome = try await SimulatorProcess.run(call + option + ["--nonsense"])
      #expect(outcome.errors.first?.contains("unknown option --nonsense") == true, "\(option)")
    }
  }

  /// Returns the options in a help text whose default is a single word, together with that word.
  private static func defaults(in help: [String]) -> [[String]] {
    var options: [[String]] = []
    for line in help {
      let parts = line.split(separator: " ").map(String.init)
      if line.hasPrefix("  --") {
        options.append(parts)
      } else if let last = options.indices.last {
        options[last] += parts
      }
    }
    return options.compactMap { parts in
      guard let label = parts.first, let at = parts.firstIndex(of: "(default:"),
        let value = parts.dropFirst(at + 1).first, value.hasSuffix(")")
      else { return nil }
      return [label, String(value.dropLast())]
    }
  }

  @Test(arguments: [("999ms", 1), ("1s", 0)])
  func `a plan's ping interval is at least one second`(period: String, status: Int32) async throws {
    try await CommandProcess.scratch { directory in
      let file = directory + "/plan.json"
      let plan = #"{"actions":[],"length":"10s","seed":1,"server":"plain","#
      let conditions = #""conditions":{"ping":"\#(period)"}}"#
      let spec = #"{"name":"x","expected":[],"found":[],"plan":\#(plan)\#(conditions)}"#
      try spec.write(toFile: file, atomically: true, encoding: .utf8)
      let outcome = try await run("--plan", file)
      #expect(outcome.status == status)
      let text = "plan.conditions.ping: it must be at least 1s"
      #expect(outcome.errors.contains { $0.contains(text) } == (status != 0))
    }
  }
}
