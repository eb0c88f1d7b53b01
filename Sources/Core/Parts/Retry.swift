/// Decides when the next try may be made: schedule, windows, breaker and the server's wish.
struct Retry: Sendable, Hashable {
  private let link: LinkPolicy
  private var attempts: Windows
  /// When tries failed, oldest first; as many as the breaker needs.
  private(set) var failures: [Instant] = []
  /// No try before this: the server asked for it.
  private(set) var notBefore: Instant?

  init(_ link: LinkPolicy) {
    self.link = link
    attempts = Windows(link)
  }

  private var policy: RetryPolicy { link.retry }

  mutating func noteAttempt(at now: Instant) {
    attempts.note(at: now)
  }

  /// - Parameter wish: how long the server asked to be left alone, as far as it is obeyed.
  mutating func noteFailure(at now: Instant, wish: Duration?) {
    if let breaker = policy.breaker {
      failures.append(now)
      if failures.count > breaker.failures { failures.removeFirst() }
    }
    if let wish {
      let until = now.advanced(by: wish)
      notBefore = max(notBefore ?? until, until)
    }
  }

  /// A stable link forgives failures and wishes, never the windows.
  mutating func noteStable() {
    failures = []
    notBefore = nil
  }

  /// The earliest instant that every window, the breaker and the server's wish allow.
  func earliest(at now: Instant) -> Instant {
    var earliest = attempts.earliest(at: max(now, notBefore ?? now))
    if let breaker = policy.breaker, failures.count >= breaker.failures,
      let first = failures.first, let last = failures.last,
      first.duration(to: last) <= breaker.within
    {
      earliest = max(earliest, last.advanced(by: breaker.pause))
    }
    return earliest
  }

  /// When the next try of `series` is due; `nil` when its schedule is exhausted.
  ///
  /// The spread comes on top of the wait and of the server's wish: at its end all would come.
  func plan(_ series: Series, at now: Instant, chance: inout Chance) -> Instant? {
    var wait = Duration.zero
    if let index = series.scheduleIndex {
      let schedule = series.origin == .first ? policy.first : policy.reconnect
      guard let scheduled = schedule.wait(before: index, chance: &chance) else { return nil }
      wait = scheduled
    }
    let due = now.advanced(by: wait)
    guard let spread = series.spread else { return earliest(at: due) }
    return earliest(
      at: max(due, notBefore ?? due).advanced(
        by: chance.duration(below: min(spread, policy.longestWish))))
  }

  /// How many tries a series has before standby; `nil` without end.
  func limit(of series: Series) -> Int? {
    (series.origin == .first ? policy.first : policy.reconnect).attempts
  }
}
