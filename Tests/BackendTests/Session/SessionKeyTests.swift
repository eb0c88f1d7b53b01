import Foundation
import HoldfastCore
import HoldfastSessionData
import HoldfastTestKit
import Testing

@testable import HoldfastBackend

/// Tests of the file that contains the key of session clients.
@Suite(.offThePool, .timeLimit(.minutes(60))) struct SessionKeyTests {
  private static let digits = "0123456789abcdef0123456789abcdef"

  @Test func `a missing key is created once, readable only by its owner, and reused`() async throws
  {
    let scratch = try Scratch()
    var keys: Set<String> = []
    for _ in 1...2 {
      try await BackendRig.run(in: scratch("data")) { rig in
        let key = try scratch.text(of: "data/session-key")
        keys.insert(key)
        #expect(try scratch.mode(of: "data/session-key") == 0o600)
        #expect(key.wholeMatch(of: /holdfast-[0-9a-f]{32}/) != nil)
        #expect(try SessionClient(port: rig.address.port, key: key).rest() == [])
      }
    }
    #expect(keys.count == 1)
  }

  @Test func `the key is stored at the configured path`() async throws {
    let scratch = try Scratch()
    try await BackendRig.run(in: scratch("data"), { $0.sessionKeyFile = scratch("own/key") }) {
      rig in
      let key = try scratch.text(of: "own/key")
      #expect(try SessionClient(port: rig.address.port, key: key).rest() == [])
      #expect(!FileManager.default.fileExists(atPath: scratch("data/session-key")))
    }
  }

  @Test(arguments: [
    "holdfast-\(digits)", "holdfast-\(digits)\n", "untethered-\(digits)\r\n", "a-1-\(digits)",
  ])
  func `a key with any prefix is read, with or without a line ending`(content: String) async throws
  {
    let scratch = try Scratch()
    let path = try BackendRig.writeKey(content, in: scratch)
    try await BackendRig.run(in: scratch("data"), { $0.sessionKeyFile = path }) { rig in
      let key = content.trimmingCharacters(in: .newlines)
      #expect(try SessionClient(port: rig.address.port, key: key).rest() == [])
      let other = try SessionClient(port: rig.address.port)
      let wrong = key.dropLast() + "0"
      try other.say(.connect(SessionConnect(session: "ann", key: Secret(String(wrong)))))
      #expect(try other.message() == .authError(message: "Authentication failed"))
      #expect(try other.closeCode() == 4401)
      #expect(rig.lines.all.allSatisfy { !$0.contains(Self.digits.dropLast()) })
    }
  }

  @Test(arguments: [
    "", "\n", "holdfast-", digits, "-\(digits)x", "holdfast-\(digits.dropLast())",
    "holdfast-\(digits)0", "holdfast-\(digits.uppercased())", "Holdfast-\(digits)",
    "holdfast_\(digits)", "holdfast-\(digits)\n\n", "holdfast-\(digits) ", " holdfast-\(digits)",
    "holdfast-\(digits)\nholdfast-\(digits)", String(repeating: "a", count: 96) + "-" + digits,
  ])
  func `a file with other content is refused, and the error does not repeat the content`(
    content: String
  ) async throws {
    let scratch = try Scratch()
    let path = try BackendRig.writeKey(content, in: scratch)
    let error = await #expect(throws: BackendError.self) {
      try await BackendRig.run(in: scratch("data"), { $0.sessionKeyFile = path }) { _ in }
    }
    #expect(
      error
        == .key(
          path: path,
          detail: "the file must contain only a session key: holdfast- and 32 lowercase "
            + "hexadecimal digits"))
    #expect(try scratch.text(of: "key") == content)
  }

  @Test(arguments: [0o400, 0o600, 0o640, 0o604, 0o620, 0o602])
  func `a file that others can read or change is refused`(mode: Int) async throws {
    let scratch = try Scratch()
    let path = try BackendRig.writeKey(in: scratch)
    try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
    let run = {
      try await BackendRig.run(in: scratch("data"), { $0.sessionKeyFile = path }) { _ in }
    }
    guard mode & 0o077 != 0 else { return try await run() }
    let error = await #expect(throws: BackendError.self) { try await run() }
    #expect(error == .openToOthers(path: path))
  }

  @Test func `a bound proof is valid only for the message that it signs`() async throws {
    let key = try #require(SessionKey(BackendRig.sessionKey))
    try await BackendRig.session { rig in
      /// Returns whether the server accepts a `connect` that is changed after it was signed.
      func isTaken(_ change: (inout SessionConnect) -> Void) throws -> Bool {
        let client = try SessionClient(port: rig.address.port)
        var connect = SessionConnect(
          session: "ann", timestamp: client.hello.timestamp, features: [.boundProof])
        connect.proof = Secret(key.sign(connect.signedText(client.hello.challenge ?? "")))
        change(&connect)
        try client.say(.connect(connect))
        if case .connected = try client.message() { return true }
        return false
      }
      #expect(try isTaken { _ in })
      #expect(try !isTaken { $0.session = "bob" })
      #expect(try !isTaken { $0.version = "0.4.0" })
      #expect(try !isTaken { $0.timestamp = $0.timestamp?.advanced(by: .milliseconds(1)) })
      #expect(try !isTaken { $0.features = [] })
      let plain = try SessionClient(port: rig.address.port)
      var connect = SessionConnect(session: "ann", timestamp: plain.hello.timestamp)
      connect.proof = Secret(key.sign(plain.hello.challenge ?? ""))
      try plain.say(.connect(connect))
      guard case .connected = try plain.message() else {
        return #expect(Bool(false), "the signature of a challenge alone was refused")
      }
    }
  }

  @Test func `a signature is valid only for its challenge`() throws {
    let key = try #require(SessionKey(BackendRig.sessionKey))
    // echo -n challenge | openssl dgst -sha256 -hmac holdfast-0123456789abcdef0123456789abcdef
    let code = "84b9452bae763a3afed0e89d63e48f6b67dce3e0a44daf907faed40462be637e"
    #expect(key.sign("challenge") == code)
    #expect(key.signs("challenge", as: Secret(code)))
    #expect(!key.signs("challenge", as: Secret(String(code.dropLast()))))
    #expect(!key.signs("challenges", as: Secret(code)))
    #expect("\(key)" == "[key]")
  }
}
