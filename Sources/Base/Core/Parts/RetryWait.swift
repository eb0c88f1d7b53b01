/// The parts of the wait before an attempt, and the rule that decided its length.
///
/// A link explains its wait with it. No decision depends on it. `Schedule` calculates the wait of
/// the schedule.
public struct RetryWait: Sendable, Hashable {
  /// The time of the attempt.
  public var until: Instant
  /// The wait of the schedule before jitter; `nil` if no schedule was used.
  public var base: Duration?
  /// The wait of the schedule with jitter.
  public var drawn: Duration
  /// The random part of the jitter window that was added.
  public var spread: Duration
  /// The jitter window; `nil` if none was used.
  public var window: Duration?
  /// The rule that decided.
  public var rule: Rule

  /// A rule that decides when the next attempt is made.
  public enum Rule: Sendable, Hashable {
    /// The schedule and the jitter window.
    case schedule
    /// The server's retry-after, which ends after the wait of the schedule.
    case retryAfter
    /// A limit of attempts in a window of time.
    case window(AttemptWindow)
    /// The pause after many failures.
    case breaker(Breaker)
  }
}

extension Retry {
  /// Returns the wait before the next attempt with its parts; `nil` if the schedule is exhausted.
  ///
  /// The parameters are those of `plan`.
  func wait(
    _ schedule: Schedule, before index: Int?, jitterWindow: Duration?, at now: Instant,
    generator: inout RandomSource
  ) -> RetryWait? {
    var drawn = Duration.zero
    if let index {
      guard let scheduled = schedule.wait(before: index, generator: &generator) else { return nil }
      drawn = scheduled
    }
    let due = now.advanced(by: drawn)
    var (spread, start) = (Duration.zero, due)
    let window = jitterWindow.map { min($0, policy.maxRetryAfter) }
    if let window {
      spread = generator.duration(below: window)
      start = max(due, notBefore ?? due).advanced(by: spread)
    }
    var wait = RetryWait(
      until: earliest(at: start), base: index.flatMap { schedule.base(before: $0) }, drawn: drawn,
      spread: spread, window: window, rule: .schedule)
    wait.rule = rule(for: wait.until, from: max(start, notBefore ?? start), due: due)
    return wait
  }

  /// Returns the wait until every window, the breaker and the retry-after allow an attempt.
  func wait(at now: Instant) -> RetryWait {
    let until = earliest(at: now)
    let rule = rule(for: until, from: max(now, notBefore ?? now), due: now)
    return RetryWait(
      until: until, base: nil, drawn: .zero, spread: .zero, window: nil, rule: rule)
  }

  /// Returns the rule that decided the time of an attempt.
  ///
  /// - Parameters:
  ///   - start: The time that the schedule, the jitter window and the retry-after allow.
  ///   - due: The time that the schedule allows.
  private func rule(for time: Instant, from start: Instant, due: Instant) -> RetryWait.Rule {
    if time > start {
      if let window = attempts.limit(until: time) { return .window(window) }
      if let breaker = policy.breaker { return .breaker(breaker) }
    }
    return (notBefore ?? due) > due ? .retryAfter : .schedule
  }
}
