package import HoldfastCore

/// A table of token buckets by name. Each bucket is stored as the instant at which it is full
/// again.
///
/// This is the generic cell rate algorithm (ITU-T I.371). It uses no fractions and refills no
/// buckets, and its bounds are exact.
package struct TokenBuckets: Sendable {
  private let interval: Duration
  private let burst: Int
  private let bound: Int
  private var fullAt: [String: Instant] = [:]

  /// Creates buckets that allow `burst` events in quick succession, and then one event per
  /// `interval`.
  ///
  /// At most `bound` names are tracked.
  package init(interval: Duration, burst: Int, bound: Int) {
    self.interval = interval
    self.burst = burst
    self.bound = bound
  }

  /// Counts one event.
  ///
  /// Returns the time to wait if the rate is exceeded, or `nil` if the event may pass.
  package mutating func spend(_ name: String, at now: Instant) -> Duration? {
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
  package func check(_ check: inout InvariantCheck) {
    check.require(fullAt.count <= bound, "token buckets: the names that are counted are bounded")
  }
}
