import LinkCore

/// Counts of recent events, in steps by chance beside a list of all events.
struct QueueWindowsWalk: TwinWalk {
  var chance: Chance
  var stray: String?
  var all: [Instant] = []

  init(_ chance: Chance) { self.chance = chance }

  /// Takes so many steps with a new count; returns the first difference.
  mutating func walk(_ steps: Int) -> String? {
    let limits = (0..<number(0...3)).map { _ in
      AttemptWindow(attempts: number(1...4), per: .seconds(number(1...9)))
    }
    var windows = Windows(limits)
    var now = Instant.zero
    for _ in 0..<steps where stray == nil {
      now = now.advanced(by: .seconds(number(0...3)))
      compareNext(windows.earliest(at: now), limits, now)
      if happens(3) {
        windows.note(at: now)
        all.append(now)
      } else {
        comparePass(windows.pass(at: now), limits, now)
        if earliest(limits, now) <= now { all.append(now) }
      }
      compareInvariants(of: windows, after: "an event")
    }
    return stray
  }

  mutating func compareNext(_ found: Instant, _ limits: [AttemptWindow], _ now: Instant) {
    compare("the next event at \(now)", found, earliest(limits, now))
  }

  mutating func comparePass(_ found: Bool, _ limits: [AttemptWindow], _ now: Instant) {
    compare("whether an event may be at \(now)", found, earliest(limits, now) <= now)
  }

  /// In no stretch of a window there may be more events than it allows.
  private func earliest(_ limits: [AttemptWindow], _ now: Instant) -> Instant {
    var next = now
    for limit in limits where all.count >= limit.attempts {
      let oldest = all.suffix(limit.attempts).first ?? now
      let end = Instant(nanoseconds: oldest.nanoseconds + limit.per.nanoseconds)
      if end > next { next = end }
    }
    return next
  }
}
