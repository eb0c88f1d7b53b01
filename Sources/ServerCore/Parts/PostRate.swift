import LinkCore

/// The token bucket of every user's posts, kept as one instant a user: when the bucket is full
/// again.
///
/// The generic cell rate algorithm (ITU-T I.371): no fractions, no refilling, exact at every bound.
struct PostRate: Sendable {
  private let interval: Duration
  private let burst: Int
  let bound: Int
  var fullAt: [String: Instant] = [:]

  init(interval: Duration, burst: Int, bound: Int) {
    self.interval = interval
    self.burst = burst
    self.bound = bound
  }

  /// Counts one post; answers how long to wait when the user is too fast, `nil` when it may pass.
  mutating func spend(_ user: String, at now: Instant) -> Duration? {
    if fullAt.count >= bound, fullAt[user] == nil {
      fullAt = fullAt.filter { $0.value > now }
      guard fullAt.count < bound else { return interval * burst }
    }
    let full = max(fullAt[user] ?? now, now)
    let excess = now.duration(to: full) - interval * (burst - 1)
    guard excess <= .zero else { return excess }
    fullAt[user] = full.advanced(by: interval)
    return nil
  }
}

extension PostRate: SelfChecking {
  func check(_ check: inout InvariantCheck) {
    check.require(fullAt.count <= bound, "post rate: the users that it counts are bounded")
  }
}
