import HoldfastCore
import HoldfastRelayData
import HoldfastServerParts

/// The pairing codes that phones currently show, and the limits of wrong codes.
struct RelayPairing: Sendable {
  private struct Shown {
    var phone: PhoneID
    var pair: RelayPair
    /// The digest of the code. It is stored because every login and every new code is compared with
    /// it.
    var digest: RelayPair.Digest
    var until: Instant
  }

  /// The result of an attempt to pair.
  enum Guess: Sendable {
    /// This phone shows the code.
    case right(PhoneID)
    case wrong
    /// No comparison was made, because the address had sent too many wrong codes.
    case lockedOut(Duration)
  }

  private var shown: [Shown] = []
  private var lockOut: LockOut

  init(_ policy: RelayServerPolicy, at now: Instant) {
    lockOut = LockOut(policy.wrongLimits, at: now)
  }

  /// Returns the code that a phone shows, and its expiry.
  func pair(of phone: PhoneID) -> (pair: RelayPair, until: Instant)? {
    shown.first { $0.phone == phone }.map { ($0.pair, $0.until) }
  }

  /// Replaces the code of a phone. Returns false if another phone shows the same code.
  mutating func show(_ pair: RelayPair, of phone: PhoneID, until: Instant) -> Bool {
    let digest = pair.digest
    guard owner(of: digest) == nil else { return false }
    remove(phone)
    shown.append(Shown(phone: phone, pair: pair, digest: digest, until: until))
    return true
  }

  mutating func remove(_ phone: PhoneID) {
    shown.removeAll { $0.phone == phone }
  }

  /// Returns whether any phone shows this code.
  func isShown(_ pair: RelayPair) -> Bool { owner(of: pair.digest) != nil }

  /// Compares a code from an address with all shown codes. A wrong code counts against the address.
  mutating func guess(word: String, code: String, from address: String, at now: Instant) -> Guess {
    if let wait = lockOut.wait(address, at: now) { return .lockedOut(wait) }
    if let phone = owner(of: RelayPair.Digest(word: word, code: code)) { return .right(phone) }
    lockOut.wrong(address, at: now)
    return .wrong
  }

  /// Returns the phone that shows a code.
  ///
  /// The given code is compared completely with every shown code, so that the duration reveals
  /// nothing.
  private func owner(of given: RelayPair.Digest) -> PhoneID? {
    var found: PhoneID?
    for entry in shown where entry.digest.isSame(as: given) { found = entry.phone }
    return found
  }
}

extension RelayPairing: SelfChecking {
  func check(_ check: inout InvariantCheck) {
    lockOut.check(&check)
    guard check.isThorough else { return }
    check.require(
      Set(shown.map(\.phone)).count == shown.count, "relay pairing: a phone shows one pair")
  }

  /// Returns whether a condition holds for every phone that shows a code, and the expiry of the
  /// code.
  func allSatisfy(_ matches: (PhoneID, Instant) -> Bool) -> Bool {
    shown.allSatisfy { matches($0.phone, $0.until) }
  }
}
