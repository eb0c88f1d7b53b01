import Foundation
import HoldfastTestKit
import Testing

/// Tests of commands that are given a pipe in place of a file.
@Suite(.timeLimit(.minutes(60))) struct PipeArgumentTests {
  private static let twice = "is not a regular file, but is opened more than once"
  private static let unwritten = "is a pipe that no program writes to"

  struct Case: Sendable {
    var arguments: [String]
    var status: Int32
    var cause: String
    var remedy: String
  }

  @Test(arguments: [
    Case(
      arguments: ["socket", "wss://127.0.0.1:1", "--ca", "PIPE"],
      status: 5, cause: twice, remedy: "give --ca a file"),
    Case(
      arguments: ["serve", "--tls-cert", "PIPE", "--tls-key", "/dev/null"],
      status: 5, cause: twice, remedy: "give --tls-cert a file"),
    Case(
      arguments: ["serve", "--tls-cert", "absent", "--tls-key", "PIPE"],
      status: 5, cause: twice, remedy: "give --tls-key a file"),
    Case(
      arguments: ["replay", "PIPE"], status: 1, cause: twice, remedy: "give holdfast replay a file"),
    Case(
      arguments: ["policy", "check", "PIPE"], status: 1, cause: unwritten,
      remedy: "start the program that writes to it first"),
    Case(
      arguments: [
        "send", "--server", "http://127.0.0.1:1", "--shop", "a", "hello", "--token-file", "PIPE",
      ],
      status: 1, cause: unwritten, remedy: "start the program that writes to it first"),
  ])
  func `does not block a command`(_ expected: Case) async throws {
    let scratch = try Scratch()
    try await Shell.run(["mkfifo", "-m", "600", scratch("pipe")])
    let outcome = try await CommandProcess.run(
      expected.arguments.map { $0 == "PIPE" ? scratch("pipe") : $0 })
    #expect(outcome.status == expected.status)
    let line = "\(scratch("pipe")) \(expected.cause); \(expected.remedy)"
    #expect(outcome.errors.last?.hasSuffix(line) == true, "\(outcome.errors)")
  }

  @Test func `is read when a program writes to it`() async throws {
    let scratch = try Scratch()
    try await Shell.run(["mkfifo", "-m", "600", scratch("pipe")])
    let show = "\(CommandProcess.path) policy show message-stream --json > \(scratch("pipe"))"
    let writer = try LabProcess(["/bin/sh", "-c", show])
    let outcome = try await CommandProcess.run("policy", "check", scratch("pipe"))
    #expect(outcome.status == 0, "\(outcome.errors)")
    #expect(await writer.exit() == 0)
  }
}
