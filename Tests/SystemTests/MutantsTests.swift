import HoldfastChildProcesses
import Testing

/// Tests of `scripts/mutants`, the tool behind `make mutants`.
@Suite(.timeLimit(.minutes(60))) struct MutantsTests {
  @Test(.enabled(if: Self.hasPython, "needs Python 3"))
  func `creates mutants of each class and distinguishes caught from surviving ones`() async throws {
    let root = "/" + #filePath.split(separator: "/").dropLast(3).joined(separator: "/")
    let child = try ChildProcess(
      ChildLaunch("/usr/bin/env", ["env", "python3", root + "/scripts/mutants", "--self-test"]))
    #expect(await child.ended() == .exited(0))
  }

  private static var hasPython: Bool {
    (try? ChildProcess(ChildLaunch("/usr/bin/env", ["env", "python3", "-c", ""])))?.wait()
      == .exited(0)
  }
}
