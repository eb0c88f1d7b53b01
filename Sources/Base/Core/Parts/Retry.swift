/// A planner for attempts that combines a schedule, windows, a breaker and the server's
/// retry-after.
///
/// A link plans its attempts with it. Work without a link uses it directly: call `noteAttempt`
/// before each attempt, `noteFailure` or `noteStable` after it, and `plan` for the time of the next
/// one.
public struct Retry: Sendable, Hashable {
  private let shared: Shared<RetryPolicy>
  var attempts: Windows
  /// The instants at which attempts failed, oldest first. Only as many are kept as the breaker
  /// needs.
  public internal(set) var failures: [Instant] = []
  /// The end of the server's retry-after.
  public private(set) var notBefore: Instant?

  /// Creates a planner without attempts.
  public init(_ policy: RetryPolicy) {
    shared = Shared(policy)
    attempts = Windows(policy.windows)
  }

  /// The policy of the planner.
  public var policy: RetryPolicy { shared.value }

  /// Counts an attempt that begins now.
  public mutating func noteAttempt(at now: Instant) {
    attempts.note(at: now)
  }

  /// Counts an attempt that failed.
  ///
  /// - Parameter retryAfter: The server's retry-after, which is honored up to
  ///   `RetryPolicy.maxRetryAfter`.
  public mutating func noteFailure(at now: Instant, retryAfter: Duration?) {
    if let breaker = policy.breaker {
      failures.append(now)
      if failures.count > breaker.failures { failures.removeFirst() }
    }
    if let retryAfter = policy.honored(retryAfter) {
      let until = now.advanced(by: retryAfter)
      notBefore = max(notBefore ?? until, until)
    }
  }

  /// Resets the failures and the retry-after after a success. The windows still count the attempts.
  public mutating func noteStable() {
    failures = []
    notBefore = nil
  }

  /// Returns the earliest time that every window, the breaker and the retry-after allow.
  public func earliest(at now: Instant) -> Instant { limit(at: max(now, notBefore ?? now)) }

  /// Returns whether only the windows or the breaker delay an attempt to `time`.
  func isLimited(until time: Instant, at now: Instant) -> Bool {
    time > now && limit(at: now) == time
  }

  /// Returns the earliest time that every window and the breaker allow.
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

  /// Returns the time of the next attempt; `nil` if the schedule is exhausted.
  ///
  /// - Parameters:
  ///   - schedule: The waits between attempts.
  ///   - index: The index of the attempt in the schedule, from 0; `nil` for no scheduled wait.
  ///   - jitterWindow: The jitter window, used if the server may have failed for many clients at
  ///     once. A random part of the window is added to the wait and to the retry-after.
  public func plan(
    _ schedule: Schedule, before index: Int?, jitterWindow: Duration? = nil, at now: Instant,
    generator: inout RandomSource
  ) -> Instant? {
    wait(schedule, before: index, jitterWindow: jitterWindow, at: now, generator: &generator)?.until
  }
}

extension Retry {
  /// Returns the wait before the next attempt of a link's series; `nil` if its schedule is
  /// exhausted.
  func wait(_ series: Series, at now: Instant, generator: inout RandomSource) -> RetryWait? {
    wait(
      schedule(of: series), before: series.scheduleIndex, jitterWindow: series.jitterWindow,
      at: now, generator: &generator)
  }

  /// Returns the number of attempts before standby; `nil` if unlimited.
  func limit(of series: Series) -> Int? { schedule(of: series).attempts }

  private func schedule(of series: Series) -> Schedule {
    guard series.origin == .first else { return policy.reconnect }
    // A series in which a link was lost gets at least as many attempts as the reconnect schedule.
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
