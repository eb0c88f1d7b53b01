import Foundation
import HoldfastBackend
import HoldfastCore
import HoldfastIdentity
import HoldfastTestKit
import Testing

struct BackendTokensTests {
  private static let secret = [UInt8](0..<32)
  private static let claims = Claims(
    user: "ann", name: "Ann", shops: [BackendRig.shop],
    expiresAt: Timestamp(nanoseconds: 1_900_000_000_000_000_000))
  private static let payload =
    "eyJzdWIiOiJhbm4iLCJuYW1lIjoiQW5uIiwic2hvcHMiOlsiYmFrZXJ5Il0sImV4cCI6MTkwMDAwMDAwMH0"
  /// A token that another HMAC implementation signed with the secret 0, 1, 2, … 31.
  private static let foreign =
    "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.\(payload).vHMVkp1VFs_l-kiHiteiO3vVfFk65DpvvqPHku_CVX4"

  private static func tokens() throws -> Tokens { try #require(Tokens(secret: secret)) }

  @Test func `verifies a token signed by another implementation`() throws {
    #expect(try Self.tokens().verify(Self.foreign) == .valid(Self.claims))
  }

  @Test func `verifies its own tokens, which another secret does not`() throws {
    let tokens = try Self.tokens()
    let token = tokens.issue(
      user: "ann", name: "Ann", shops: [BackendRig.shop], until: Self.claims.expiresAt)
    #expect(tokens.verify(token) == .valid(Self.claims))
    let others = try #require(Tokens(secret: [UInt8](1...32)))
    #expect(others.verify(token) == .invalid(reason: "wrong signature"))
  }

  @Test(arguments: [
    "", "a", "a.b.c", "\(foreign).x", " \(foreign)", "\(foreign)=",
    "eyJhbGciOiJub25lIn0.\(payload).",
    "eyJhbGciOiJub25lIn0.\(payload).JCWFnsk_0QWlMMkCzfhMaz-_yqyNA_cGfv1ecPGVm3s",
  ])
  func `rejects tokens that are malformed or use another algorithm`(token: String) throws {
    #expect(try Self.tokens().verify(token) == .invalid(reason: "malformed"))
  }

  @Test func `rejects a token with any changed character`() throws {
    let tokens = try Self.tokens()
    let bytes = [UInt8](Self.foreign.utf8)
    for index in bytes.indices {
      var changed = bytes
      changed[index] = changed[index] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
      let credential = tokens.verify(String(decoding: changed, as: UTF8.self))
      guard case .invalid = credential else {
        Issue.record("accepted a change at \(index)")
        return
      }
    }
  }

  @Test func `creates its secret once, readable only by its owner`() throws {
    let scratch = try Scratch()
    let directory = scratch("not/yet")
    let first = try Tokens.open(in: directory)
    let second = try Tokens.open(in: directory)
    let token = first.issue(user: "ann", name: "", shops: [], until: Self.claims.expiresAt)
    guard case .valid = second.verify(token) else {
      Issue.record("the second call created another secret")
      return
    }
    #expect(try scratch.mode(of: "not/yet/secret") == 0o600)
    #expect(try scratch.bytes(of: "not/yet/secret").count == 32)
    #expect(try FileManager.default.contentsOfDirectory(atPath: directory) == ["secret"])
  }

  @Test(arguments: [
    (0o600, true), (0o400, true), (0o640, false), (0o620, false), (0o604, false), (0o644, false),
  ])
  func `rejects a secret file that others can access`(mode: Int, isTaken: Bool) throws {
    let scratch = try Scratch()
    let path = scratch("secret")
    try scratch.write([UInt8](repeating: 7, count: 32), to: "secret")
    try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
    do {
      _ = try Tokens.open(in: scratch.path)
      #expect(isTaken)
    } catch {
      #expect(!isTaken && error == .openToOthers(path: path))
    }
  }

  @Test(arguments: [(31, false), (32, true), (33, true)])
  func `requires a secret of at least 32 bytes`(count: Int, isEnough: Bool) throws {
    #expect((Tokens(secret: [UInt8](repeating: 7, count: count)) != nil) == isEnough)
    let scratch = try Scratch()
    try scratch.write([UInt8](repeating: 7, count: count), to: "secret")
    try FileManager.default.setAttributes(
      [.posixPermissions: 0o600], ofItemAtPath: scratch("secret"))
    #expect(((try? Tokens.open(in: scratch.path)) != nil) == isEnough)
  }
}
