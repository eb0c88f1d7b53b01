import Foundation
import HoldfastTestKit
import Testing

/// Tests of commands whose terminal is closed while they run.
@Suite(.timeLimit(.minutes(60))) struct ClosedTerminalTests {
  /// A Python script that runs a command in a terminal, and closes the terminal once the output
  /// contains a given text.
  ///
  /// The script prints whether the command exited by itself.
  private static let script = #"""
    import os, pty, sys
    text, words = sys.argv[1].encode(), sys.argv[2:]
    child, terminal = pty.fork()
    if child == 0: os.execv(words[0], words)
    seen = b""
    while text not in seen: seen += os.read(terminal, 4096)
    os.close(terminal)
    print("ended", os.WIFEXITED(os.waitpid(child, 0)[1]))
    """#

  private func end(
    of arguments: [String], after text: String
  ) async throws -> CommandProcess.Outcome {
    await CommandProcess.outcome(
      of: try LabProcess(["python3", "-c", Self.script, text, CommandProcess.path] + arguments))
  }

  @Test func `ends a relay and a backend although they handle hang-ups`() async throws {
    let scratch = try Scratch()
    let serve = ["serve", "--port", "0", "--data", scratch("backend")]
    #expect(try await end(of: serve, after: "Ctrl-C").output == ["ended True"])
    let relay = ["relay", "--stay", "--server", "http://127.0.0.1:1", "--data", scratch("phone")]
    #expect(try await end(of: relay, after: "starting").output == ["ended True"])
  }

  @Test func `does not end a process started by nohup`() async throws {
    let scratch = try Scratch()
    let line =
      "nohup \(CommandProcess.path) serve --port 0 --data \(scratch("backend")) "
      + "> \(scratch("out")) 2>&1 & echo $! > \(scratch("pid")); "
      + "until grep -q listening \(scratch("out")); do :; done; echo ready; read line"
    let script = Self.script.replacing(
      "os.execv(words[0], words)", with: #"os.execv("/bin/sh", ["sh", "-c", words[1]])"#)
    let outcome = await CommandProcess.outcome(
      of: try LabProcess(["python3", "-c", script, "ready", CommandProcess.path, line]))
    #expect(outcome.output.count == 1)
    let id = try String(contentsOfFile: scratch("pid"), encoding: .utf8)
      .trimmingCharacters(in: .whitespacesAndNewlines)
    let number = try #require(Int32(id))
    // On a hang-up, the backend reloads its files and keeps running.
    #expect(kill(number, 0) == 0)
    #expect(kill(number, SIGKILL) == 0)
  }
}
