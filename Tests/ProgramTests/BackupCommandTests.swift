import Foundation
import Glibc
import HoldfastLab
import HoldfastRigs
import HoldfastTestKit
import Testing

/// Tests of `holdfast backup` and `holdfast restore` with a running `holdfast serve`.
@Suite(.timeLimit(.minutes(60))) struct BackupCommandTests {
  @Test func `a running backend is backed up, checked, restored and served again`() async throws {
    let scratch = try Scratch()
    let (data, file, other) = (scratch("data"), scratch("backup.tar"), scratch("other"))
    let server = try CommandProcess.start(["serve", "--port", "0", "--json", "--data", data])
    _ = await LineReader(server.lines).next()
    let made = try await CommandProcess.run("backup", "--data", data, "--to", file, "--json")
    #expect(made.status == 0)
    let report = try [String: Any].reading(made.output.first)
    #expect(report["file"] as? String == file)
    #expect((report["stores"] as? [String])?.count == 4)
    #expect(report["wait_ms"] is Int)
    #expect((report["sha256"] as? String)?.count == 64)
    let again = try await CommandProcess.run("backup", "--data", data, "--to", file)
    #expect(again.status == 1)
    #expect(again.errors.last?.hasSuffix("name another file, or add --replace") == true)
    server.signal(SIGKILL)
    _ = await server.exit()

    let checked = try await CommandProcess.run("restore", "--check", file, "--json")
    #expect(checked.status == 0)
    #expect(
      try [String: Any].reading(checked.output.first)["files"] as? Int == report["files"] as? Int)
    #expect(try await CommandProcess.run("restore", file, "--data", other).status == 0)
    let twice = try await CommandProcess.run("restore", file, "--data", other)
    #expect(twice.status == 1)
    #expect(twice.errors.last?.contains("other is not empty; move its content away") == true)
    let restored = try CommandProcess.start(["serve", "--port", "0", "--json", "--data", other])
    let first = try [String: Any].reading(await LineReader(restored.lines).next())
    #expect(first["url"] != nil)
    restored.signal(SIGKILL)
    _ = await restored.exit()
  }

  @Test func `wrong uses have a remedy`() async throws {
    let scratch = try Scratch()
    try scratch.write(Array("text\n".utf8), to: "file")
    let file = scratch("file")
    let both = try await CommandProcess.run(
      "restore", "--check", file, "--data", scratch("data"))
    #expect(both.status == 2)
    let foreign = try await CommandProcess.run("restore", "--check", file)
    #expect(foreign.status == 1)
    #expect(
      foreign.errors.last?.hasSuffix("name a file that `holdfast backup` has written") == true)
    let none = try await CommandProcess.run(
      "backup", "--data", scratch.path, "--to", "/dev/null/backup")
    #expect(none.status == 1)
    #expect(none.errors.last?.contains("is no data directory of a backend") == true)
    #expect(try await CommandProcess.run("backup", "--data", scratch.path).status == 2)
  }
}
