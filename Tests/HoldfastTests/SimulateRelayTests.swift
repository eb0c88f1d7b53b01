import Foundation
import HoldfastTestKit
import Testing

/// `simulate health-relay`, with the options of every world.
@Suite(.timeLimit(.minutes(2))) struct SimulateRelayTests {
  private func run(_ words: String...) async throws -> CommandProcess.Outcome {
    try await CommandProcess.run(["simulate", "health-relay"] + words)
  }

  @Test func `every defect is caught`() async throws {
    let outcome = try await run("--break", "all", "--json")
    let proofs = try outcome.output.map { try [String: Any].reading($0) }
    #expect(outcome.status == 0)
    #expect(proofs.count == 17)
    #expect(proofs.allSatisfy { $0["caught"] as? Bool == true })
  }

  @Test func `a run is told line by line, with what was found where it happened`() async throws {
    let told = try await run("--seeds", "7", "--trace")
    #expect(told.status == 0)
    #expect(told.output.contains { $0.hasSuffix("phone    launches the app (phone 1)") })
    let broken = try await run("--seeds", "7", "--trace", "--break", "answersTwice")
    #expect(broken.status == 1)
    #expect(broken.output.contains { $0.contains("FOUND    doubled: ") })
  }
}
