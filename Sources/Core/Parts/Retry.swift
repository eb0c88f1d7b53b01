/// A plan for the next try: a schedule, windows, a breaker and the server's wishes together.
///
/// A link uses it for its attempts. Work that holds no link uses it alone: call `noteAttempt`
/// before each try, `noteFailure` or `noteStable` after it, and `plan` for the next instant.
public struct Retry: Sendable, Hashable {
  private let shared: Shared<RetryPolicy>
  var attempts: Windows
  /// When tries failed, oldest first; as many as the breaker needs.
  public internal(set) var failures: [Instant] = []
  /// The server asked for no try before this.
  public private(set) var notBefore: Instant?

  /// Creates a plan for work that was never tried.
  public init(_ policy: RetryPolicy) {
    shared = Shared(policy)
    attempts = Windows(policy.windows)
  }

  /// The numbers.
  public var policy: RetryPolicy { shared.value }

  /// Counts a try that begins now.
  public mutating func noteAttempt(at now: Instant) {
    attempts.note(at: now)
  }

  /// Counts a try that failed.
  ///
  /// - Parameter wish: How long the server asked to be left alone; obeyed up to
  ///   `RetryPolicy.longestWish`.
  public mutating func noteFailure(at now: Instant, wish: Duration?) {
    if let breaker = policy.breaker {
      failures.append(now)
      if failures.count > breaker.failures { failures.removeFirst() }
    }
    if let wish = policy.obeyed(wish) {
      let until = now.advanced(by: wish)
      notBefore = max(notBefore ?? until, until)
    }
  }

  /// Forgets failures and wishes because the work succeeded; the windows still count its tries.
  public mutating func noteStable() {
    failures = []
    notBefore = nil
  }

  /// The earliest instant that every window, the breaker and the server's wish allow.
  public func earliest(at now: Instant) -> Instant { limit(at: max(now, notBefore ?? now)) }

  /// Whether a try is put off to `time` by the windows or the breaker, and by nothing else.
  func isLimited(until time: Instant, at now: Instant) -> Bool {
    time > now && limit(at: now) == time
  }

  /// The earliest instant that every window and the breaker allow.
  private func limit(at now: Instant) -> Instant {
    var earliest = attempts.earliest(at: now)
    if let breaker = policy.breaker, failures.count >= breaker.failures,
      let first = failures.first, let last = failures.last,
      first.duration(to: last) <= breaker.within
    {
      earliest = max(earliest, last.advanced(by: breaker.pause))
    }
    return earliest
  }

  /// The instant of the next try; `nil` if the schedule is exhausted.
  ///
  /// - Parameters:
  ///   - schedule: The waits between tries.
  ///   - index: The place of the next try in the schedule, from 0; `nil` for a try without a wait.
  ///   - spread: The window over which the try is spread, because the server may have failed for
  ///     many clients at once. It comes on top of the wait and of the server's wish.
  public func plan(
    _ schedule: Schedule, before index: Int?, spread: Duration? = nil, at now: Instant,
    chance: inout Chance
  ) -> Instant? {
    var wait = Duration.zero
    if let index {
      guard let scheduled = schedule.wait(before: index, chance: &chance) else { return nil }
      wait = scheduled
    }
    let due = now.advanced(by: wait)
    guard let spread else { return earliest(at: due) }
    return earliest(
      at: max(due, notBefore ?? due).advanced(
        by: chance.duration(below: min(spread, policy.longestWish))))
  }
}

extension Retry {
  /// The instant of the next try of a link's series; `nil` if its schedule is exhausted.
  func plan(_ series: Series, at now: Instant, chance: inout Chance) -> Instant? {
    plan(
      schedule(of: series), before: series.scheduleIndex, spread: series.spread, at: now,
      chance: &chance)
  }

  /// How many tries a series has before standby; `nil` without end.
  func limit(of series: Series) -> Int? { schedule(of: series).attempts }

  private func schedule(of series: Series) -> Schedule {
    guard series.origin == .first else { return policy.reconnect }
    // Once there was a link, as many tries follow as after the loss of one.
    return series.hadLink && policy.reconnect.isLonger(than: policy.first)
      ? policy.reconnect : policy.first
  }
}

extension Retry: SelfChecking {
  public func check(_ check: inout InvariantCheck) {
    check.require(
      failures.count <= policy.breaker?.failures ?? 0,
      "retry: no more failures are remembered than the breaker counts")
    if check.isThorough {
      check.require(failures.isAscending, "retry: failures are remembered in order")
    }
    attempts.check(&check)
  }
}
