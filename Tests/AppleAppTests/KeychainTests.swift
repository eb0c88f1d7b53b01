import HoldfastCore
import HoldfastPorts
import HoldfastTestKit
@_spi(Script) import Security
@_spi(Script) import os
import Testing

@testable import HoldfastAppleApp

/// Tests of the keychain. Each test uses a service of its own.
struct KeychainTests {
  private let service = "test.\(UUID().uuidString)"
  private var keychain: Keychain { Keychain(service: service) }
  private var script: ScriptedKeychain { ScriptedKeychain(service: service) }

  @Test func `satisfies the contract of a secret store`() async throws {
    try await secretStoreContract { keychain }
  }

  @Test func `a locked device reads only what background work needs`() throws {
    let other = try #require(SecretName("other"))
    try keychain.write(Secret("a"), .resume, access: .afterFirstUnlock)
    try keychain.write(Secret("b"), other, access: .whileUnlocked)
    #expect(script.accessibility == ["resume": "cku", "other": "aku"])
    script.set(.locked)
    #expect(try keychain.read(.resume) == Secret("a"))
    #expect { try keychain.read(other) } throws: { isLocked($0) }
    #expect { try keychain.write(Secret("c"), other, access: .whileUnlocked) } throws: {
      isLocked($0)
    }
    script.set(.neverUnlocked)
    #expect { try keychain.read(.resume) } throws: { isLocked($0) }
    script.set(.unlocked)
    #expect(try keychain.read(other) == Secret("b"))
  }

  @Test func `a write changes the accessibility of an existing secret`() throws {
    try keychain.write(Secret("a"), .resume, access: .whileUnlocked)
    try keychain.write(Secret("b"), .resume, access: .afterFirstUnlock)
    #expect(script.accessibility == ["resume": "cku"])
  }

  @Test func `a secret that an extension adds meanwhile is replaced`() throws {
    script.addRival("theirs")
    try keychain.write(Secret("ours"), .resume, access: .afterFirstUnlock)
    #expect(try keychain.read(.resume) == Secret("ours"))
  }

  @Test func `an item that is not text is corrupt, and other refusals are denied`() throws {
    try keychain.write(Secret("a"), .resume, access: .afterFirstUnlock)
    script.spoil("resume")
    #expect(throws: StoreFailure.corrupt(detail: "The keychain's item resume is not text.")) {
      try keychain.read(.resume)
    }
    script.fail(errSecMissingEntitlement)
    #expect(throws: StoreFailure.self) {
      try keychain.write(Secret("b"), .resume, access: .afterFirstUnlock)
    }
  }

  @Test func `a log shows its details to debuggers only`() {
    let log = SystemLog(subsystem: service, category: "sync")
    log.write("uploads ended")
    log.write("upload failed", detail: "user 7", level: .failure)
    let lines = logLines(of: service)
    #expect(lines.map(\.stored) == ["uploads ended", "upload failed: <private>"])
    #expect(lines.map(\.shown) == ["uploads ended", "upload failed: user 7"])
    #expect(lines.map(\.level) == [.default, .error])
  }
}

private func isLocked(_ error: any Error) -> Bool {
  if case .locked? = error as? StoreFailure { true } else { false }
}
