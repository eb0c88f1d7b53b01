import LinkCore
import LinkStorage
import LinkWire

/// The pairs that phones show now, and the limit of wrong pairs.
struct RelayPairing: Sendable {
  private struct Shown {
    var phone: PhoneID
    var pair: RelayPair
    /// The digest of the pair, stored because every login and every new pair is compared with it.
    var digest: RelayPair.Digest
    var until: Instant
  }

  /// The result of comparing a given pair.
  enum Guess: Sendable {
    /// The pair is shown by this phone.
    case right(PhoneID)
    case wrong
    /// No comparison was made, since too many pairs from the address were wrong.
    case lockedOut(Duration)
  }

  private var shown: [Shown] = []
  private var lockOut: LockOut

  init(_ policy: RelayServerPolicy, at now: Instant) {
    lockOut = LockOut(policy, at: now)
  }

  /// Returns the pair that a phone shows, and its expiry.
  func pair(of phone: PhoneID) -> (pair: RelayPair, until: Instant)? {
    shown.first { $0.phone == phone }.map { ($0.pair, $0.until) }
  }

  /// Replaces the pair of a phone. Returns false if another phone shows the same pair.
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

  /// Returns whether any phone shows this pair.
  func isShown(_ pair: RelayPair) -> Bool { owner(of: pair.digest) != nil }

  /// Compares a pair from an address with all shown pairs, and counts it if it is wrong.
  mutating func guess(word: String, code: String, from address: String, at now: Instant) -> Guess {
    if let wait = lockOut.wait(address, at: now) { return .lockedOut(wait) }
    if let phone = owner(of: RelayPair.Digest(word: word, code: code)) { return .right(phone) }
    lockOut.wrong(address, at: now)
    return .wrong
  }

  /// Returns the phone that shows a pair.
  ///
  /// The given pair is compared with every shown pair, and completely, so that the time reveals
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

  /// Returns whether every phone that shows a pair, with the expiry of the pair, matches.
  func allSatisfy(_ matches: (PhoneID, Instant) -> Bool) -> Bool {
    shown.allSatisfy { matches($0.phone, $0.until) }
  }
}
