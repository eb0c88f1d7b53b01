import LinkCore

/// A run of tries, told a second time.
struct LinkRun: Sendable, Equatable {
  var isFirst: Bool
  var prepares = false
  var failures = 0
  var hadLink = false
  var refreshed = false
  var spread: Duration?
  var isProbe = false

  static let first = LinkRun(isFirst: true, prepares: true)
  static let again = LinkRun(isFirst: false)

  /// All tries anew, over another way out.
  var anew: LinkRun { LinkRun(isFirst: isFirst, prepares: prepares, spread: spread) }

  /// How many waits came before the next one; `nil` if it needs none.
  var waits: Int? {
    if !isFirst { return failures }
    return failures > 0 ? failures - 1 : nil
  }
}

/// The pace of tries, told a second time: schedules, windows, the breaker, and what servers wish.
struct LinkPace: Sendable {
  let policy: RetryPolicy
  var tries: [Instant] = []
  var failures: [Instant] = []
  var wishedUntil: Instant?

  init(_ policy: RetryPolicy) { self.policy = policy }

  mutating func failed(_ wish: Duration?, at now: Instant) {
    failures.append(now)
    guard let wish = LinkFaults.obeyed(wish, policy) else { return }
    let until = now.advanced(by: wish)
    if let before = wishedUntil, before > until { return }
    wishedUntil = until
  }

  mutating func succeeded() { (failures, wishedUntil) = ([], nil) }

  /// The soonest time from `time` on that allows a try.
  func soonest(_ time: Instant) -> Instant {
    var at = time
    if let wishedUntil, wishedUntil > at { at = wishedUntil }
    at = Self.soonest(at, after: tries, policy.windows)
    guard let breaker = policy.breaker, let last = failures.last else { return at }
    let counted = failures.suffix(breaker.failures)
    guard counted.count == breaker.failures, let first = counted.first,
      !(first.duration(to: last) > breaker.within)
    else { return at }
    return max(at, last.advanced(by: breaker.pause))
  }

  /// The soonest time that windows allow after some events.
  static func soonest(
    _ time: Instant, after events: [Instant], _ windows: [AttemptWindow]
  ) -> Instant {
    var at = time
    for window in windows {
      guard let oldest = events.suffix(window.attempts).first, events.count >= window.attempts
      else { continue }
      at = max(at, oldest.advanced(by: window.per))
    }
    return at
  }

  // Schedules.

  /// The schedule of a run; after a loss the one with more tries.
  func schedule(_ run: LinkRun) -> Schedule {
    guard run.isFirst else { return policy.reconnect }
    guard run.hadLink else { return policy.first }
    switch (Self.tries(of: policy.first), Self.tries(of: policy.reconnect)) {
    case (let few?, let many?): return many > few ? policy.reconnect : policy.first
    case (_?, nil): return policy.reconnect
    case (nil, _?), (nil, nil): return policy.first
    }
  }

  static func tries(of schedule: Schedule) -> Int? {
    switch schedule {
    case .list(let waits): waits.count
    case .exponential(_, _, _, _, _, let attempts): attempts
    }
  }

  /// The least and the longest wait after so many; `nil` after the last.
  static func limits(_ schedule: Schedule, after count: Int) -> (Duration, Duration)? {
    switch schedule {
    case .list(let waits):
      return waits.dropFirst(count).first.map { ($0, $0) }
    case .exponential(let first, let factor, let cap, let jitter, let floor, let attempts):
      if let attempts, attempts <= count { return nil }
      var wait = first
      for _ in 0..<min(count, 70) where wait < cap {
        wait = wait > cap / factor ? cap : wait * factor
      }
      wait = min(wait, cap)
      let (least, most) = (wait * (1 - jitter), wait * (1 + jitter))
      return (least < floor ? floor : least, most < floor ? floor : most)
    }
  }

  static func wait(
    _ schedule: Schedule, after count: Int, _ dice: inout LinkDice
  ) -> Duration? {
    guard let (least, most) = limits(schedule, after: count) else { return nil }
    guard case .exponential(_, _, _, let jitter, _, _) = schedule, jitter > 0 else { return least }
    return least + dice.part(of: most - least)
  }

  /// When the next try of a run is made; `nil` if none is left.
  func next(_ run: LinkRun, at now: Instant, _ dice: inout LinkDice) -> Instant? {
    next(schedule(run), after: run.waits, run.spread, at: now, &dice)
  }

  func next(
    _ schedule: Schedule, after waits: Int?, _ spread: Duration?, at now: Instant,
    _ dice: inout LinkDice
  ) -> Instant? {
    var at = now
    if let waits {
      guard let wait = Self.wait(schedule, after: waits, &dice) else { return nil }
      at = now.advanced(by: wait)
    }
    if let spread {
      // It comes on top of the wait and of the wish.
      if let wishedUntil, wishedUntil > at { at = wishedUntil }
      at = at.advanced(
        by: dice.part(of: spread > policy.longestWish ? policy.longestWish : spread))
    }
    return soonest(at)
  }
}
