import HoldfastCore
import HoldfastPorts
import HoldfastTestKit
@_spi(Script) import Security
import Testing
@_spi(Script) import os

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

  @Test func `a write fails for now if an extension adds and removes the secret meanwhile`() throws
  {
    script.addRival("theirs", isKept: false)
    #expect { try keychain.write(Secret("ours"), .resume, access: .afterFirstUnlock) } throws: {
      isLocked($0)
    }
    try keychain.write(Secret("ours"), .resume, access: .afterFirstUnlock)
    #expect(try keychain.read(.resume) == Secret("ours"))
  }

  @Test func `a removal on a locked device removes the secret or fails for now`() throws {
    try keychain.write(Secret("a"), .resume, access: .whileUnlocked)
    script.set(.locked)
    script.fail(errSecInteractionNotAllowed)
    #expect { try keychain.write(nil, .resume, access: .whileUnlocked) } throws: { isLocked($0) }
    script.fail(nil)
    #expect(script.accessibility == ["resume": "aku"])
    try keychain.write(nil, .resume, access: .whileUnlocked)
    #expect(script.accessibility == [:])
    #expect(try keychain.read(.resume) == nil)
  }

  @Test(arguments: [
    (
      errSecInteractionNotAllowed,
      StoreFailure.locked(
        detail: "The keychain does not allow access to resume now, for example before the device "
          + "was unlocked.")
    ),
    (errSecNotAvailable, .locked(detail: "The keychain is not available for resume now.")),
    (errSecAllocate, .other(detail: "The keychain failed for resume with status -108.")),
    (errSecParam, .other(detail: "The keychain failed for resume with status -50.")),
    (errSecDiskFull, .full(detail: "The keychain has no room for resume.")),
    (errSecDecode, .corrupt(detail: "The keychain cannot decode resume.")),
    (errSecAuthFailed, .denied(detail: "The keychain refused resume.")),
    (
      errSecMissingEntitlement,
      .denied(detail: "The app lacks the entitlement for the keychain's item resume.")
    ),
  ])
  func `only failures that do not pass are final`(status: OSStatus, failure: StoreFailure) throws {
    script.fail(status)
    #expect(throws: failure) { try keychain.read(.resume) }
    #expect(throws: failure) {
      try keychain.write(Secret("a"), .resume, access: .afterFirstUnlock)
    }
    #expect(throws: failure) { try keychain.write(nil, .resume, access: .afterFirstUnlock) }
  }

  @Test func `an item that is not text is corrupt`() throws {
    try keychain.write(Secret("a"), .resume, access: .afterFirstUnlock)
    script.spoil("resume")
    #expect(throws: StoreFailure.corrupt(detail: "The keychain's item resume is not text.")) {
      try keychain.read(.resume)
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
