/// A rate limiter that allows a limited number of events in every time window.
public struct Windows: Sendable, Hashable {
  /// The windows, each of which must allow an event. An empty list allows all events.
  public let limits: [AttemptWindow]
  /// The instants of the events, oldest first. Only as many are kept as the largest window needs.
  var times: [Instant] = []

  /// Creates a limiter without events.
  public init(_ limits: [AttemptWindow]) {
    self.limits = limits
  }

  /// Counts an event, even if the windows do not allow it.
  public mutating func note(at now: Instant) {
    times.append(now)
    let limit = limits.map { $0.attempts }.max() ?? 0
    if times.count > limit { times.removeFirst(times.count - limit) }
  }

  /// Counts an event if all windows allow it now. Returns whether they do.
  public mutating func pass(at now: Instant) -> Bool {
    guard earliest(at: now) <= now else { return false }
    note(at: now)
    return true
  }

  /// Returns the earliest time from `now` that every window allows.
  public func earliest(at now: Instant) -> Instant {
    var earliest = now
    for window in limits where times.count >= window.attempts {
      let blocking = times[times.count - window.attempts]
      earliest = max(earliest, blocking.advanced(by: window.per))
    }
    return earliest
  }

  /// Returns the window that allows no event before a time; `nil` if none ends then.
  func limit(until time: Instant) -> AttemptWindow? {
    limits.first { window in
      times.count >= window.attempts
        && times[times.count - window.attempts].advanced(by: window.per) == time
    }
  }
}

extension Windows: SelfChecking {
  public func check(_ check: inout InvariantCheck) {
    check.require(
      times.count <= limits.lazy.map { $0.attempts }.max() ?? 0,
      "windows: no more is remembered than the largest window counts")
    if check.isThorough {
      check.require(times.isAscending, "windows: events are remembered in order")
    }
  }
}

extension [Instant] {
  /// Whether the instants are in ascending order.
  var isAscending: Bool { zip(self, dropFirst()).allSatisfy { $0 <= $1 } }
}
