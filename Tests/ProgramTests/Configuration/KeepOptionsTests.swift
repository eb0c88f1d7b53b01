import HoldfastTestKit
import Testing

/// Tests of the options that limit how long messages are kept, with the program.
@Suite(.timeLimit(.minutes(60))) struct KeepOptionsTests {
  private static func check(_ arguments: String...) async throws -> CommandProcess.Outcome {
    let scratch = try Scratch()
    return try await CommandProcess.run(
      ["serve", "--check", "--data", scratch("data")] + arguments)
  }

  @Test func `limits are for all shops or for one`() async throws {
    let run = try await Self.check(
      "--keep-messages", "30d", "--keep-messages", "bakery=12h", "--keep-messages", "a-b=all",
      "--keep-bytes", "64KiB", "--keep-bytes", "bakery=2GiB", "--keep-bytes", "cellar=1000TB")
    #expect(run.status == 0 && run.errors == [])
    let rows = run.output.map { $0.split(separator: " ").map(String.init) }
    #expect(
      rows.contains(["keep-messages", "30d", "bakery=12h", "a-b=all", "command", "line"]))
    #expect(rows.contains { $0.starts(with: ["keep-bytes", "64KiB", "bakery=2GiB"]) })
  }

  @Test(arguments: ["1s", "1", "36500d", "10000h", "all", "bakery=1.5h"])
  func `an age is accepted`(text: String) async throws {
    #expect(try await Self.check("--keep-messages", text).status == 0)
  }

  @Test(arguments: [
    "0s", "999ms", "36501d", "1.5d", "-1d", "d", "", "forever", "=1d", "bakery=", "bakery=none",
    "10001h",
  ])
  func `another age is refused`(text: String) async throws {
    let run = try await Self.check("--keep-messages", text)
    #expect(run.status == 2)
    #expect(run.errors.joined().contains("keep-messages"))
  }

  @Test(arguments: ["65536", "64KiB", "1000TB", "1MB", "all", "bakery=65536"])
  func `a size is accepted`(text: String) async throws {
    #expect(try await Self.check("--keep-bytes", text).status == 0)
  }

  @Test(arguments: [
    "65535", "63KiB", "1000000000000001", "1001TB", "1.5GB", "-1GB", "MB", "", "1 GB", "bakery=x",
    "99999999999999999999GB",
  ])
  func `another size is refused`(text: String) async throws {
    let run = try await Self.check("--keep-bytes", text)
    #expect(run.status == 2)
    #expect(run.errors.joined().contains("keep-bytes"))
  }
}
