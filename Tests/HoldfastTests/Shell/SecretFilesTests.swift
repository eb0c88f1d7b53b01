import Holdfast
import HoldfastCore
import HoldfastTestKit
import Testing

/// Tests of `SecretFiles`, which stores secrets in files that only their owner can read.
@Suite struct SecretFilesTests {
  @Test func `files pass the contract suite of secret stores`() async throws {
    let scratch = try Scratch()
    try await secretStoreContract { SecretFiles(in: scratch("secrets")) }
  }

  @Test func `a secret is stored in a file of its name that only its owner can read`() throws {
    let scratch = try Scratch()
    let files = SecretFiles(in: scratch.path)
    try files.write(Secret("token"), .resume)
    #expect(files.path(of: .resume) == scratch("resume"))
    #expect(try scratch.mode(of: "resume") == 0o600)
    #expect(try scratch.text(of: "resume") == "token\n")
  }
}
