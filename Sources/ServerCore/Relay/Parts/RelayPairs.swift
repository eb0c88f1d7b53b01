import LinkCore
import LinkWire

/// The pairs that phones show now.
struct RelayPairs: Sendable {
  private struct Shown {
    var phone: PhoneID
    var pair: RelayPair
    /// Made once: every login and every pair that is shown is compared with it.
    var digest: RelayPair.Digest
    var until: Instant
  }

  private var shown: [Shown] = []

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

/// Limits wrong pairs, per address and in total.
struct LockOut: Sendable {
  /// What is known of an address.
  private enum Mark {
    /// The instants of wrong pairs, the oldest first.
    case wrong([Instant])
    case locked(until: Instant)
  }

  private let policy: RelayServerPolicy
  private var marks: [String: Mark] = [:]
  /// When the allowance for all addresses is full again.
  private var fullAt: Instant

  init(_ policy: RelayServerPolicy, at now: Instant) {
    self.policy = policy
    fullAt = now
  }

  /// How long this address has to wait; `nil` when a pair of it may be compared.
  mutating func wait(_ address: String, at now: Instant) -> Duration? {
    let excess = now.duration(to: fullAt) - policy.wrongInterval * (policy.wrongBurst - 1)
    if excess > .zero { return excess }
    switch marks[address] {
    case .locked(let until): return until > now ? now.duration(to: until) : nil
    case .wrong: return nil
    case nil: return hasRoom(at: now) ? nil : policy.wrongWindow
    }
  }

  /// Counts a wrong pair.
  mutating func wrong(_ address: String, at now: Instant) {
    fullAt = max(fullAt, now).advanced(by: policy.wrongInterval)
    var instants: [Instant] = []
    if case .wrong(let earlier) = marks[address] {
      instants = earlier.filter { $0.duration(to: now) < policy.wrongWindow }
    }
    instants.append(now)
    marks[address] =
      instants.count < policy.wrongPairs
      ? .wrong(instants) : .locked(until: now.advanced(by: policy.lockOut))
  }

  private mutating func hasRoom(at now: Instant) -> Bool {
    guard marks.count >= policy.maxWatchedAddresses else { return true }
    marks = marks.filter { _, mark in
      switch mark {
      case .wrong(let instants):
        instants.contains { $0.duration(to: now) < policy.wrongWindow }
      case .locked(let until): until > now
      }
    }
    return marks.count < policy.maxWatchedAddresses
  }
}
