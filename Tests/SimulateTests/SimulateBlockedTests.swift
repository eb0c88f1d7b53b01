import HoldfastTestKit
import Testing

/// Tests of the end of commands whose output is not read.
@Suite(.timeLimit(.minutes(60))) struct SimulateBlockedTests {
  @Test func `a signal ends a trace that nothing reads, and the reason is reported`() async throws {
    let arguments = ["simulate", "held-socket", "--seeds", "1", "--trace", "--verbose"]
    let player = try LabProcess(["python3", "-c", Self.unread, SimulatorProcess.path] + arguments)
    let outcome = await CommandProcess.outcome(of: player)
    let said = "standard output is blocked; ended without writing the rest"
    #expect(outcome.output == ["1", "holdfast-sim simulate held-socket: \(said)"])
    #expect(outcome.errors == [])
  }

  /// A Python program that runs a command with its output in a small pipe, and ends the command
  /// after its first byte.
  private static let unread = """
    import fcntl, os, subprocess, sys
    reader, writer = os.pipe()
    F_SETPIPE_SZ = 1031
    fcntl.fcntl(writer, F_SETPIPE_SZ, 4096)
    run = subprocess.Popen(sys.argv[1:], stdout=writer, stderr=subprocess.PIPE, text=True)
    os.read(reader, 1)
    run.terminate()
    said = run.communicate()[1]
    print(run.returncode)
    print(said, end="")
    """

  @Test func `a signal ends the command although the terminal for its progress is stopped`()
    async throws
  {
    let arguments = ["simulate", "all", "--seeds", "1..100000000"]
    let player = try LabProcess(
      ["python3", "-c", Self.stopped, "signal", SimulatorProcess.path] + arguments)
    let outcome = await CommandProcess.outcome(of: player)
    #expect(outcome.output.first == "message-stream")
    #expect(outcome.output.count { $0.hasPrefix("runs ") } == 1)
    #expect(outcome.output.last == "1")
    #expect(outcome.errors == [])
  }

  @Test func `the run limit ends the command although the terminal is stopped`() async throws {
    try await EndlessPlan.with { file in
      let arguments = ["simulate", "held-socket", "--plan", file, "--run-limit", "300ms"]
      let player = try LabProcess(
        ["python3", "-c", Self.stopped, "wait", SimulatorProcess.path] + arguments)
      let outcome = await CommandProcess.outcome(of: player)
      #expect(outcome.output.contains { $0.hasPrefix("runs ") && $0.hasSuffix(" 0") })
      #expect(outcome.output.last == "1")
      #expect(outcome.errors == [])
    }
  }

  /// A Python program that runs a command whose standard error is a stopped terminal (Ctrl-S). The
  /// program ends the command after its first line, or waits for it to end.
  private static let stopped = """
    import pty, subprocess, sys, termios
    terminal = pty.openpty()[1]
    termios.tcflow(terminal, termios.TCOOFF)
    run = subprocess.Popen(sys.argv[2:], stdout=subprocess.PIPE, stderr=terminal, text=True)
    if sys.argv[1] == "signal":
        print(run.stdout.readline(), end="")
        run.terminate()
    print(run.communicate()[0], end="")
    print(run.returncode)
    """
}
