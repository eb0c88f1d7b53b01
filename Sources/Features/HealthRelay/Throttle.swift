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

/// Counts what happened within the last minute, up to a limit.
struct SlidingCount: Sendable, Hashable {
  private var times: [Instant] = []

  /// Notes one more, unless there were as many as `limit` within a minute.
  mutating func note(at now: Instant, limit: Int) -> Bool {
    times.removeAll { $0.duration(to: now) >= .seconds(60) }
    guard times.count < limit else { return false }
    times.append(now)
    return true
  }
}
