import Foundation
import HoldfastTestKit
import LinkSimulator
import Testing

/// `simulate relay`, with the options of every world.
@Suite(.timeLimit(.minutes(5))) struct SimulateRelayTests {
  private func run(_ words: String...) async throws -> CommandProcess.Outcome {
    try await SimulatorProcess.run(["simulate", "relay"] + words)
  }

  @Test func `seeds are played, and the same twice with any number of jobs`() async throws {
    var digests: [String?] = []
    for jobs in ["1", "3"] {
      let outcome = try await run(
        "--preset", "all", "--seeds", "1..20", "--jobs", jobs, "--json")
      #expect(outcome.status == 0)
      let sum = try [String: Any].reading(outcome.output.last)
      #expect(sum["runs"] as? Int == 20)
      digests.append(sum["digest"] as? String)
    }
    #expect(digests[0] != nil && digests[0] == digests[1])
  }

  @Test func `a plan is made small, kept, and played again`() async throws {
    try await CommandProcess.scratch { directory in
      let file = directory + "/case.json"
      let shrunk = try await run(
        "--break", "answersTwice", "--seeds", "1..20", "--shrink", "--corpus", file)
      #expect(shrunk.status == 1)
      let told = try await run("--plan", file, "--trace")
      #expect(told.status == 1)
      #expect(told.output.contains { $0.contains("FOUND    doubled: ") })
    }
  }

  @Test func `takes numbers of the user's own`() async throws {
    let usual = try await run("--seeds", "1..2", "--json")
    let own = try await run("--seeds", "1..2", "--json", "--set", "liveness.silence=45s")
    let digests = try [usual, own].map {
      try [String: Any].reading($0.output.last)["digest"] as? String
    }
    #expect(digests[0] != nil && digests[0] != digests[1])
  }

  @Test func `a signal ends the proofs of all defects`() async throws {
    let words = ["simulate", "message-stream", "--break", "all", "--jobs", "1", "--json"]
    let process = try SimulatorProcess.start(words)
    var lines = process.lines.makeAsyncIterator()
    #expect(await lines.next()?.contains("\"break\"") == true)
    process.signal(SIGINT)
    let outcome = await CommandProcess.outcome(of: process)
    #expect(outcome.status == 1)
    #expect(outcome.output.count + 1 < StreamFeature.Defect.allCases.count)
    #expect(outcome.errors.last?.hasSuffix("stopped before everything was played") == true)
  }

  @Test func `every defect is caught`() async throws {
    let outcome = try await run("--break", "all", "--json")
    let proofs = try outcome.output.map { try [String: Any].reading($0) }
    #expect(outcome.status == 0)
    #expect(proofs.count == RelayDefect.allCases.count)
    #expect(proofs.allSatisfy { $0["caught"] as? Bool == true })
  }

  @Test func `a run is told line by line, with what was found where it happened`() async throws {
    let told = try await run("--seeds", "7", "--trace")
    #expect(told.status == 0)
    #expect(told.output.contains { $0.hasSuffix("phone    launches the app (phone 1)") })
    let broken = try await run("--seeds", "7", "--trace", "--break", "answersTwice")
    #expect(broken.status == 1)
    #expect(broken.output.contains { $0.contains("FOUND    doubled: ") })
    #expect(try await run("--seeds", "1..2", "--trace").status == 2)
  }
}
