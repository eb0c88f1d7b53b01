import Foundation
import HoldfastTestKit
import Testing

@Suite(.timeLimit(.minutes(2))) struct SimulateRelayCommandTests {
  private func run(_ words: String...) async throws -> CommandProcess.Outcome {
    try await CommandProcess.run(["simulate", "relay"] + words)
  }

  @Test func `seeds are played, and the same twice with any number of jobs`() async throws {
    var digests: [String?] = []
    for jobs in ["1", "3"] {
      let outcome = try await run("--seeds", "1..20", "--jobs", jobs, "--json")
      #expect(outcome.status == 0)
      let sum = try [String: Any].reading(outcome.output.last)
      #expect(sum["runs"] as? Int == 20)
      #expect(sum["found"] as? Int == 0)
      digests.append(sum["digest"] as? String)
    }
    #expect(digests[0] != nil && digests[0] == digests[1])
  }

  @Test func `every defect is caught`() async throws {
    let outcome = try await run("--break", "all", "--json")
    let proofs = try outcome.output.map { try [String: Any].reading($0) }
    #expect(outcome.status == 0)
    #expect(proofs.count == 11)
    #expect(proofs.allSatisfy { $0["caught"] as? Bool == true })
  }

  @Test func `a run is told line by line`() async throws {
    let told = try await run("--seeds", "7", "--trace")
    #expect(told.status == 0)
    #expect(told.output.first?.hasPrefix("0.000 s  ") == true)
    let broken = try await run("--seeds", "7", "--trace", "--break", "answersTwice")
    #expect(broken.status == 1)
    #expect(broken.output.contains { $0.contains("FOUND doubled: ") })
    #expect(try await run("--seeds", "1..2", "--trace").status == 2)
  }
}
