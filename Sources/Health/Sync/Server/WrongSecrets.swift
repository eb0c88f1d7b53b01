import HoldfastCore
import HoldfastServerParts

/// The limits of wrong secrets at the routes of health sync.
///
/// They are those of wrong pairing codes, by address. A client that repeats its last wrong secret
/// guesses nothing, so that a phone with an old secret does not lock out the others of its address.
struct WrongSecrets: Sendable {
  /// The maximum number of addresses whose last wrong secret is remembered.
  static let mostRemembered = 10_000

  private(set) var lockOut: LockOut
  /// The hash of the last wrong secret of each address.
  private(set) var last: [String: TokenHash] = [:]

  init(at now: Instant) { lockOut = LockOut(at: now) }

  /// The refusal of a request without a valid secret.
  static let unauthorized = SyncAnswer.error(401, "Unauthorized")

  /// Returns the refusal of a request, or `nil` for one of a user whose address may try a secret.
  mutating func refusal(of call: SyncCall, _ user: SyncUser?, at now: Instant) -> SyncAnswer? {
    guard call.showsSecret, call.wrongSecret == nil || last[call.address] != call.wrongSecret else {
      return user == nil ? Self.unauthorized : nil
    }
    if let wait = lockOut.wait(call.address, at: now) {
      return .error(
        429, "Too many wrong secrets",
        "Try again later, with the secret in the server's file of secrets.", retryAfter: wait)
    }
    guard user == nil else { return nil }
    count(call, at: now)
    return Self.unauthorized
  }

  private mutating func count(_ call: SyncCall, at now: Instant) {
    if let secret = call.wrongSecret {
      if last.count >= Self.mostRemembered { last = [:] }
      last[call.address] = secret
    }
    lockOut.wrong(call.address, at: now)
  }
}

extension WrongSecrets: SelfChecking {
  func check(_ check: inout InvariantCheck) {
    lockOut.check(&check)
    check.require(last.count <= Self.mostRemembered, "sync: the wrong secrets are bounded")
  }
}
