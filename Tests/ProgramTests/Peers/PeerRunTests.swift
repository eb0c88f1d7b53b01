import Foundation
import HoldfastTestKit
import Testing

/// Tests of the built program with the peers in `Tests/Peers`, which were written from the
/// documents.
///
/// docs/peers.md lists what each peer proves. The tests run serially because each of them starts
/// many programs.
@Suite(.serialized, .timeLimit(.minutes(60)))
struct PeerRunTests {
  @Test(.enabled(if: PeerRun.hasWebSockets, "python3-websockets is not installed"))
  func `a session handles fixed frame orders of a plain server`() async throws {
    try await PeerRun.pass("session_cases")
  }

  @Test(.enabled(if: PeerRun.hasWebSockets, "python3-websockets is not installed"))
  func `a session handles a plain server that fails, dies and repeats`() async throws {
    try await PeerRun.pass("session_server")
  }

  @Test(.enabled(if: PeerRun.hasWebSockets, "python3-websockets is not installed"))
  func `a killed server serves foreign session clients`() async throws {
    try await PeerRun.pass("session_client")
  }

  @Test func `health sync handles a server that fails, refuses and cuts`() async throws {
    try await PeerRun.pass("health_server")
  }

  @Test func `a killed server serves a foreign health client`() async throws {
    try await PeerRun.pass("health_client")
  }

  @Test func `a crowd of followers and phones is served up to the maximums`() async throws {
    try await PeerRun.pass("crowd")
  }

  @Test(.enabled(if: Shell.find("prometheus") != nil, "prometheus is not installed"))
  func `Prometheus scrapes a backend and raises its alerts`() async throws {
    try await PeerRun.pass("metrics_prometheus")
  }

  @Test func `posts on a small disk go on while the oldest messages are removed`() async throws {
    try await PeerRun.pass("message_retention")
  }

  @Test func `an operator's backend that denies, hangs and dies decides what is stored`()
    async throws
  {
    try await PeerRun.pass("hook_server")
  }

  @Test func `a killed phone handles a foreign bottle that sleeps, leaves and forgets`()
    async throws
  {
    try await PeerRun.pass("bottle")
  }

  @Test func `a killed bottle serves a foreign phone that is cut and repeats itself`()
    async throws
  {
    try await PeerRun.pass("bottle_phone")
  }
}

/// Tests of the built program with what an operator runs beside it.
@Suite(.serialized, .timeLimit(.minutes(60)))
struct PeerOperationTests {
  @Test func `a service manager is told each state, passes sockets and renews the certificate`()
    async throws
  {
    try await PeerRun.pass("service_manager")
  }

  @Test(
    .enabled(if: PeerRun.hasWebSockets, "python3-websockets is not installed"),
    .enabled(if: PeerRun.has("nginx"), "nginx-light is not installed"))
  func `nginx with the shipped file carries posts and sockets`() async throws {
    try await PeerRun.pass("proxy_nginx")
  }

  @Test(
    .enabled(if: PeerRun.hasWebSockets, "python3-websockets is not installed"),
    .enabled(if: PeerRun.has("caddy"), "caddy is not installed"))
  func `Caddy with the shipped file carries posts and sockets`() async throws {
    try await PeerRun.pass("proxy_caddy")
  }

  @Test func `backups under posts restore without a missing message`() async throws {
    try await PeerRun.pass("backup_restore")
  }

  @Test(
    .enabled(if: PeerRun.hasWebSockets, "python3-websockets is not installed"),
    .enabled(if: PeerRun.hasTokens, "python3-jwt is not installed"))
  func `an operator lists, closes, posts and erases`() async throws {
    try await PeerRun.pass("admin_client")
  }

  /// The peer makes a machine with systemd, and says why where it cannot.
  @Test(
    .enabled(if: PeerRun.hasWebSockets, "python3-websockets is not installed"),
    .enabled(if: PeerRun.hasTokens, "python3-jwt is not installed"))
  func `each command of the page for operators has its effect`() async throws {
    try await PeerRun.pass("operations", orSkip: true)
  }
}

/// Tests of the built program with the peers of a shop, which take as long as all others.
@Suite(.serialized, .timeLimit(.minutes(60)))
struct PeerShopTests {
  @Test(.enabled(if: PeerRun.hasWebSockets, "python3-websockets is not installed"))
  func `a killed server and phone end with the messages of foreign clients`() async throws {
    try await PeerRun.pass("message_client")
  }

  @Test(
    .enabled(if: PeerRun.hasWebSockets, "python3-websockets is not installed"),
    .enabled(if: PeerRun.hasPostgreSQL, "postgresql is not installed"))
  func `killed nodes and a killed database end with the messages of foreign clients`()
    async throws
  {
    try await PeerRun.pass("cluster_client")
  }

  @Test(
    .enabled(if: PeerRun.hasWebSockets, "python3-websockets is not installed"),
    .enabled(if: PeerRun.hasPostgreSQL, "postgresql is not installed"),
    .enabled(if: PeerRun.hasBalancedSDK, "haproxy or the SDK of MCP is not installed"))
  func `nodes that fail in turn behind a balancer keep what they told foreign clients`()
    async throws
  {
    // With this seed the first faults are a frozen primary, a killed node, a failover, and a frozen and
    // a killed node that had the role.
    try await PeerRun.pass("cluster_torture", ["--seed", "6", "--rounds", "5"])
  }

  @Test(.enabled(if: PeerRun.hasWebSockets, "python3-websockets is not installed"))
  func `a killed server keeps and deletes the images of a foreign client`() async throws {
    try await PeerRun.pass("image_client")
  }

  @Test(
    .enabled(if: PeerRun.hasWebSockets, "python3-websockets is not installed"),
    .enabled(if: PeerRun.hasTokens, "python3-jwt is not installed"))
  func `a server accepts the tokens of a foreign identity provider alone`() async throws {
    try await PeerRun.pass("identity_client")
  }
}

/// A test of the built program with edits, deletions, replies and images under faults, one round
/// with each kind of server. `make torture` runs more.
@Suite(.timeLimit(.minutes(60)))
struct TortureTests {
  @Test func `a tortured server, phone and consumer end with the same messages and images`()
    async throws
  {
    let run = try await PeerRun.outcome(
      of: "torture", [CommandProcess.path, "--rounds", "2", "--seconds", "1"])
    #expect(run.status == 0, "\(run.said)")
  }
}

/// One run of a script with the built program. A peer has a fixed seed and 8 s of faults; `make peers`
/// has longer ones.
private enum PeerRun {
  static let python = "/usr/bin/python3"

  static let hasWebSockets: Bool =
    (try? Shell.wait(for: [python, "-c", "import websockets.legacy.client"])) != nil

  /// Whether a program is installed.
  static func has(_ program: String) -> Bool { Shell.find(program) != nil }

  static let hasTokens: Bool = (try? Shell.wait(for: [python, "-c", "import jwt"])) != nil

  private static let package = URL(filePath: #filePath).deletingLastPathComponent()
    .appending(path: "../../..").standardizedFileURL.path

  static let hasPostgreSQL = FileManager.default.fileExists(atPath: "/usr/lib/postgresql")

  /// Whether haproxy and the newer SDK of MCP are installed.
  static let hasBalancedSDK =
    FileManager.default.isExecutableFile(atPath: "/usr/sbin/haproxy")
    && [package, FileManager.default.currentDirectoryPath].contains {
      FileManager.default.isExecutableFile(atPath: "\($0)/.build/mcp-sdk/2/bin/python")
    }

  /// Runs a peer to its end. If it fails, the last lines of its output are the comment of the
  /// failure. Options follow those of all runs, and replace them.
  ///
  /// - Parameter orSkip: Whether a run that this machine does not allow is no failure.
  static func pass(
    _ peer: String, _ options: [String] = [], orSkip: Bool = false
  ) async throws {
    let run = try await outcome(
      of: "peer-runs",
      [CommandProcess.path, "--only", peer, "--seed", "1", "--seconds", "8"] + options)
    let hasPassed = run.output.contains {
      $0.hasPrefix("\(peer): passed") || orSkip && $0.hasPrefix("\(peer): skipped")
    }
    #expect(run.status == 0 && hasPassed, "\(run.said)")
  }

  /// Runs a script of the package to its end.
  static func outcome(
    of script: String, _ words: [String]
  ) async throws -> CommandProcess.Outcome {
    let path = try #require(
      [package, FileManager.default.currentDirectoryPath].map { "\($0)/scripts/\(script)" }
        .first(where: FileManager.default.isExecutableFile))
    let process = try LabProcess([python, path] + words)
    process.endInput()
    return await CommandProcess.outcome(of: process)
  }
}

extension CommandProcess.Outcome {
  /// The last lines of the output.
  fileprivate var said: String { (output + errors).suffix(5).joined(separator: "\n") }
}
