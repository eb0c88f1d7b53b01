import LinkCore

/// A token bucket for each of several names, kept as one instant: when the bucket is full again.
///
/// The generic cell rate algorithm (ITU-T I.371): no fractions, no refilling, exact at every bound.
struct TokenBuckets: Sendable {
  private let interval: Duration
  private let burst: Int
  private let bound: Int
  private var fullAt: [String: Instant] = [:]

  /// Buckets that let `burst` events of a name pass at once after a pause, and one each `interval`;
  /// at most `bound` names are counted at a time.
  init(interval: Duration, burst: Int, bound: Int) {
    self.interval = interval
    self.burst = burst
    self.bound = bound
  }

  /// Counts one event; returns how long to wait when they are too fast, `nil` if it may pass.
  mutating func spend(_ name: String, at now: Instant) -> Duration? {
    if fullAt.count >= bound, fullAt[name] == nil {
      fullAt = fullAt.filter { $0.value > now }
      guard fullAt.count < bound else { return interval * burst }
    }
    let full = max(fullAt[name] ?? now, now)
    let excess = now.duration(to: full) - interval * (burst - 1)
    guard excess <= .zero else { return excess }
    fullAt[name] = full.advanced(by: interval)
    return nil
  }
}

extension TokenBuckets: SelfChecking {
  func check(_ check: inout InvariantCheck) {
    check.require(fullAt.count <= bound, "token buckets: the names that are counted are bounded")
  }
}
