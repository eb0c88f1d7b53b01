import Foundation
import HoldfastTestKit
import Testing

/// Tests of the help, the version and the error messages of `holdfast-sim`.
@Suite(.timeLimit(.minutes(60))) struct SimulatorProgramTests {
  @Test(arguments: [
    [], ["simulate"], ["simulate", "message-stream"], ["simulate", "relay"], ["simulate", "all"],
    ["simulate", "bottle-cost"], ["judge"], ["version"], ["completions"], ["manual"],
  ])
  func `explains every command`(arguments: [String]) async throws {
    let help = try await SimulatorProcess.run(arguments + ["--help"])
    #expect(help.status == 0)
    #expect(help.errors == [])
    let name = (["holdfast-sim"] + arguments).joined(separator: " ")
    #expect(help.output.first?.hasPrefix("\(name) - ") == true)
    #expect(help.output.contains { $0.hasPrefix("Usage: \(name)") })
    #expect(help.output.last == "  2  invalid command line")
    #expect(
      help.output.allSatisfy { $0.count <= 80 || $0.hasPrefix("  ") && $0.contains("holdfast") })
  }

  @Test(arguments: ["message-stream", "relay", "held-socket", "session", "sync", "bottle"])
  func `the policy key that the help sets is valid in each world`(world: String) async throws {
    let help = try await SimulatorProcess.run("simulate", world, "--help")
    let line = try #require(help.output.first { $0.contains("mine.json --set ") })
    let set = try #require(line.firstMatch(of: /--set (\S+)/)?.1)
    let outcome = try await SimulatorProcess.run(
      "simulate", world, "--seeds", "1", "--set", String(set))
    #expect(outcome.status == 0, "\(outcome.errors)")
  }

  @Test func `states its version`() async throws {
    let version = try await SimulatorProcess.run("--version")
    #expect(version.status == 0)
    #expect(version.output.first?.wholeMatch(of: /holdfast-sim \d+\.\d+\.\d+/) != nil)
  }

  @Test func `bash completes its commands, also in POSIX mode`() async throws {
    let script = """
      set -o posix
      eval "$("$0" completions bash)"
      COMP_WORDS=(holdfast-sim simulate rel); COMP_CWORD=2
      _holdfast_sim
      echo "${COMPREPLY[@]}"
      """
    let bash = try LabProcess(["bash", "-c", script, SimulatorProcess.path])
    let outcome = await CommandProcess.outcome(of: bash)
    #expect(outcome.errors == [])
    #expect(outcome.output == ["relay"])
  }

  @Test func `the error names the program when its output cannot be written`() async throws {
    let full = try LabProcess(["sh", "-c", "exec \(SimulatorProcess.path) version > /dev/full"])
    #expect(
      await CommandProcess.outcome(of: full)
        == .failure(1, "holdfast-sim: standard output cannot be written: No space left on device"))
  }

  @Test(arguments: [
    ("retry.windows", "1/2562047h"), ("retry.first", "1s*2 max 30s +-0.25 min 1s x1000000"),
    ("retry.stability", "2562047h"),
  ])
  func `policy values beyond their range are reported as wrong usage`(
    key: String, value: String
  ) async throws {
    let outcome = try await SimulatorProcess.run(
      "simulate", "message-stream", "--set", "\(key)=\(value)")
    #expect(outcome.status == 2)
    #expect(outcome.errors.count == 1)
    #expect(outcome.errors.first?.contains("its range is ") == true)
  }

  @Test(arguments: [
    (
      #"{"wallDrift":9223372036854775807}"#, "[]",
      "plan.conditions.wallDrift: it is no number from -0.01 to 0.01"
    ),
    ("{}", #"[{"at":"10001h","action":"send"}]"#, "10001h is not a span of 0s to 10000h"),
    (
      "{}", #"[{"at":"1s","action":"restStatus 99999 1s"}]"#,
      "no action: restStatus 99999 1s; it is restStatus, 200 to 599, a span of 0s to 10000h"
    ),
  ])
  func `plan values beyond their range are reported with the range`(
    networkConditions: String, actions: String, reason: String
  ) async throws {
    try await CommandProcess.scratch { directory in
      let plan =
        #"{"seed":1,"server":"plain","conditions":\#(networkConditions),"actions":\#(actions),"length":"1h"}"#
      let file = directory + "/plan.json"
      try #"{"name":"x","plan":\#(plan),"expected":[],"found":[]}"#.write(
        toFile: file, atomically: true, encoding: .utf8)
      let outcome = try await SimulatorProcess.run("simulate", "message-stream", "--plan", file)
      #expect(outcome.status == 1)
      #expect(outcome.errors.first?.contains(reason) == true, "\(outcome.errors)")
    }
  }

  @Test(arguments: [
    ("", "it is not JSON: the text ends too early at byte 0"), ("{}", "name is missing"),
    ("[]", "the file is not an object"), (#"{"name":1}"#, "name is not a text"),
    (#"{"name":null}"#, "name is null"),
  ])
  func `a file that is not a plan is reported without type names`(
    text: String, cause: String
  ) async throws {
    let scratch = try Scratch()
    try scratch.write(Array(text.utf8), to: "plan.json")
    let plan = scratch("plan.json")
    let outcome = try await SimulatorProcess.run("simulate", "message-stream", "--plan", plan)
    #expect(
      outcome
        == .failure(1, "holdfast-sim simulate message-stream: \(plan) holds no plan: \(cause)"))
  }

  @Test func `a pipe without a writer does not block the command`() async throws {
    let scratch = try Scratch()
    let pipe = scratch("pipe")
    _ = await CommandProcess.outcome(of: try LabProcess(["mkfifo", "-m", "600", pipe]))
    let outcome = try await SimulatorProcess.run("simulate", "message-stream", "--plan", pipe)
    #expect(outcome.status == 1)
    let line =
      "\(pipe) is a pipe that no program writes to; start the program that writes to it first"
    #expect(outcome.errors.last?.hasSuffix(line) == true, "\(outcome.errors)")
  }
}
