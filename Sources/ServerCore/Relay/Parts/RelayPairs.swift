import LinkCore
import LinkStorage

/// The pairs that phones show now.
struct RelayPairs: Sendable {
  struct Shown {
    var phone: PhoneID
    var pair: RelayPair
    /// Made once: every login and every pair that is shown is compared with it.
    var digest: RelayPair.Digest
    var until: Instant
  }

  var shown: [Shown] = []

  /// The pair that a phone shows, and until when.
  func pair(of phone: PhoneID) -> (pair: RelayPair, until: Instant)? {
    shown.first { $0.phone == phone }.map { ($0.pair, $0.until) }
  }

  /// Shows a pair in place of the phone's former one; false when another phone shows the same.
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

  /// Whose pair that is. Compares with every pair, wholly: time tells nothing of any.
  func owner(word: String, code: String) -> PhoneID? {
    owner(of: RelayPair.Digest(word: word, code: code))
  }

  private func owner(of given: RelayPair.Digest) -> PhoneID? {
    var found: PhoneID?
    for entry in shown where entry.digest.isSame(as: given) { found = entry.phone }
    return found
  }
}

extension RelayPairs: SelfChecking {
  func check(_ check: inout InvariantCheck) {
    guard check.isThorough else { return }
    check.require(
      Set(shown.map(\.phone)).count == shown.count, "relay pairs: a phone shows one pair")
  }
}
