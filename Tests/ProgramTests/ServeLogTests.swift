import Foundation
import HoldfastRigs
import HoldfastTestKit
import Testing

/// Tests of `serve` with `--log-format` and `--log-level`, and of a note printed only on a
/// terminal.
@Suite(.timeLimit(.minutes(60))) struct ServeLogTests {
  private static func log(_ arguments: [String]) async throws -> [String] {
    let scratch = try Scratch()
    // With so few sockets, no limit on descriptors is too low.
    let process = try CommandProcess.start(
      [
        "serve", "--port", "0", "--json", "--data", scratch("backend"), "--max-streams", "100",
        "--max-phones", "100", "--max-sessions", "100",
      ] + arguments)
    let url = try [String: Any].reading(await LineReader(process.lines).next())["url"] as? String
    let asking = try LabProcess([
      "python3", "-c",
      "import urllib.request as r; print(r.urlopen('\(url ?? "")/healthz').status)",
    ])
    #expect(await CommandProcess.outcome(of: asking).output == ["200"])
    process.signal(SIGTERM)
    return await CommandProcess.outcome(of: process).errors
  }

  @Test(arguments: [
    (["--log-format", "json"], ["listening", "draining", "stopped"]),
    (
      ["--log-format", "json", "--log-level", "debug"],
      ["listening", "request", "draining", "stopped"]
    ),
    (
      ["--log-format", "json", "--log-sample", "1"],
      ["listening", "request", "draining", "stopped"]
    ),
    (["--log-format", "json", "--log-sample", "0"], ["listening", "draining", "stopped"]),
    (["--log-format", "json", "--log-level", "warning"], []),
  ])
  func `a level omits the events below it`(arguments: [String], events: [String]) async throws {
    let lines = try await Self.log(arguments)
    #expect(try lines.map { try [String: Any].reading($0)["event"] as? String } == events)
  }

  @Test func `the text format suits people`() async throws {
    let lines = try await Self.log(["--log-format", "text"])
    let names = lines.map {
      $0.replacing(#/^2\d{3}-\d\d-\d\dT[\d:.]+Z/#, with: "TIME").replacing(#/\d+$/#, with: "PORT")
    }
    #expect(
      names == [
        "TIME listening detail=http://127.0.0.1:PORT", "TIME draining", "TIME stopped",
      ])
  }

  @Test func `a token's lifetime is printed on a terminal`() async throws {
    let scratch = try Scratch()
    let script = """
      import os, pty, sys
      child, terminal = pty.fork()
      if child == 0: os.execv(sys.argv[1], sys.argv[1:])
      seen = b""
      try:
        while True: seen += os.read(terminal, 4096)
      except OSError: pass
      print(seen.decode().splitlines()[-1])
      """
    let arguments = ["token", "--user", "ann", "--shops", "bakery", "--create", "--data"]
    for (more, text) in [([], "1h"), (["--ttl", "90s"], "90s")] {
      let outcome = await CommandProcess.outcome(
        of: try LabProcess(
          ["python3", "-c", script, CommandProcess.path] + arguments + [scratch("backend")] + more))
      #expect(
        outcome.output == ["holdfast token: the token is valid for \(text); --ttl changes that"])
    }
  }
}
