import LinkCore

/// Lets one through in a while, and counts the others.
struct Throttle: Sendable, Hashable {
  private let interval: Duration
  private var last: Instant?
  private var withheld = 0

  init(every interval: Duration) {
    self.interval = interval
  }

  /// How many were held back since the one before; `nil` when this one is held back too.
  mutating func pass(at now: Instant) -> Int? {
    if let last, last.duration(to: now) < interval {
      withheld += 1
      return nil
    }
    defer { withheld = 0 }
    last = now
    return withheld
  }
}
