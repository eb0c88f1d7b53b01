import Foundation
import HoldfastTestKit
import Testing

/// Tests of the page on which policies are tried out with a fleet, in a headless browser. The page is
/// compiled for two minutes.
@Suite(
  .enabled(
    if: PlayedSeeds.areAll, "part of make nightly, and of scripts/test --checks playground"),
  .enabled(if: Playground.canBuild, "the toolchain has no standard library for WebAssembly"),
  .enabled(
    if: PageCheck.isInstalled, "\(PageCheck.remedy)"),
  .timeLimit(.minutes(60)))
struct PlaygroundTests {
  @Test func `the page plays what the command line plays, and says what it shows`() async throws {
    try await CommandProcess.scratch { directory in
      let page = directory + "/playground.html"
      try await Playground.build(page)
      let answers = try await Playground.check([page] + Self.runs.map(\.request))
      try #require(answers.output.count == Self.runs.count, "\(answers.errors)")
      for (run, answer) in zip(Self.runs, answers.output) {
        let printed = try await CommandProcess.run(run.command, of: "HoldfastBench")
        #expect(printed.output.contains(answer), "\(run): \(answer.prefix(200))")
      }
      let checks = try await Playground.check([page])
      let failed = checks.output.filter { $0.hasPrefix("✗") } + checks.errors.suffix(5)
      #expect(checks.status == 0, "\(failed.joined(separator: "\n"))")
    }
  }

  /// A run of the herd, as arguments of the command and as a request of the page.
  private struct Run {
    var policy: String
    var change: (key: String, value: String)?
    var cause: String
    var outage: String
    var clients: Int
    var full = "refuse"

    var capacity: Int { (clients + 59) / 60 }
    /// Whether the run is one of the rules that the command adds to each policy.
    var isRule: Bool { policy == "fixed-1s" }

    var command: [String] {
      let first = isRule ? [] : ["--policy", policy, "--alone"]
      let changes = change.map { ["--set", "\($0.key)=\($0.value)"] } ?? []
      return ["herd", "--json"] + first + changes + [
        "--cause", cause, "--outage", outage, "--clients", "\(clients)", "--when-full", full,
        "--capacity", "\(capacity)/s",
      ]
    }

    var request: String {
      let changes = change.map { ["set=\($0.key)=\($0.value)"] } ?? []
      let lines =
        ["herd", "policy=\(policy)"] + changes + [
          "cause=\(cause)", "outage=\(outage)", "clients=\(clients)", "when-full=\(full)",
          "capacity=\(capacity)", "seed=1",
        ]
      return lines.joined(separator: "\n")
    }
  }

  private static let runs = [
    Run(policy: "socket", cause: "crash", outage: "60s", clients: 20_000),
    Run(
      policy: "socket", change: ("retry.reconnect", "1s*2 max 30s +-0.5 min 500ms xunlimited"),
      cause: "crash", outage: "60s", clients: 3000),
    Run(policy: "message-stream", cause: "unavailable", outage: "30s", clients: 2000),
    Run(policy: "session", cause: "drain", outage: "90s", clients: 2000, full: "wait"),
    Run(policy: "health-relay-service", cause: "close", outage: "10s", clients: 1000),
    Run(policy: "health-relay-foreground", cause: "refused", outage: "30s", clients: 500),
    Run(policy: "socket", cause: "unreachable", outage: "20s", clients: 1000),
    Run(policy: "fixed-1s", cause: "crash", outage: "20s", clients: 500),
  ]
}

/// The script of the page, its checks, and the tools that they need.
private enum Playground {
  private static let package = URL(filePath: #filePath).deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent()
  private static let script = package.appending(path: "scripts/playground").path
  private static let checks = "check_playground.py"

  /// Whether the toolchain can compile the page.
  static let canBuild = (try? Shell.wait(for: [script, "--can"])) != nil

  /// Builds the page into a file.
  static func build(_ page: String) async throws {
    try await Shell.run([script, page])
  }

  /// Runs the checks of a page, or prints its answers to requests.
  static func check(_ arguments: [String]) async throws -> CommandProcess.Outcome {
    try await PageCheck.run(checks, arguments)
  }
}
