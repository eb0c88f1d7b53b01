import Foundation
import HoldfastTestKit
import Testing

/// Tests of the ends of `holdfast lab`, which leaves neither processes nor files.
@Suite(.timeLimit(.minutes(60))) struct LabCommandTests {
  /// Runs a lab with a line of a shell. Returns the outcome and what is left of its files.
  private static func run(
    _ line: String, shell: String = "sh"
  ) async throws -> (outcome: CommandProcess.Outcome, rest: [String]) {
    try await CommandProcess.scratch { directory in
      let shell = try LabProcess(
        [shell, "-c", line, CommandProcess.path], environment: ["TMPDIR": directory])
      let outcome = await CommandProcess.outcome(of: shell)
      return (outcome, try FileManager.default.contentsOfDirectory(atPath: directory))
    }
  }

  @Test func `a lab whose reader closes the pipe ends, and names each feature once`() async throws {
    let (outcome, rest) = try await Self.run(
      #""$0" lab --json --feature session,socket,session | head -1; exit ${PIPESTATUS[0]}"#,
      shell: "bash")
    #expect(outcome.status == 0, "\(outcome)")
    let lab = try [String: Any].reading(outcome.output.first)
    #expect(lab["features"] as? [String] == ["socket", "session"])
    #expect(outcome.errors == [])
    #expect(rest == [])
  }

  @Test func `a lab that cannot write its address says so, and leaves nothing`() async throws {
    let (outcome, rest) = try await Self.run(#"exec "$0" lab --feature socket >&-"#)
    #expect(
      outcome
        == .failure(1, "holdfast lab: standard output cannot be written: Bad file descriptor"))
    #expect(rest == [])
  }

  @Test(arguments: ["lab", "demo"])
  func `a folder that cannot be used is named with the remedy`(command: String) async throws {
    try await CommandProcess.scratch { directory in
      let file = directory + "/file"
      try "".write(toFile: file, atomically: true, encoding: .utf8)
      let outcome = try await CommandProcess.run(command, environment: ["TMPDIR": file])
      #expect(outcome.status == 1)
      #expect(
        outcome.errors == [
          "holdfast \(command): no folder can be created in \(file): Not a directory; "
            + "set TMPDIR to a folder in which you may write"
        ])
    }
  }
}
