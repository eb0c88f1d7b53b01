/// The waits before the attempts of a series.
public enum Schedule: Sendable, Hashable, Codable {
  /// A list of waits, after which no attempt follows.
  case list([Duration])
  /// Exponential back-off: `first · factor^n`, at most `cap`, with a jitter of ±`jitter` times the
  /// wait, and never below `floor`.
  ///
  /// The wait is drawn uniformly from the part of the range that is not below `floor`.
  case exponential(
    first: Duration, factor: Int, cap: Duration, jitter: Double, floor: Duration, attempts: Int?)

  /// The number of attempts; `nil` if unlimited.
  public var attempts: Int? {
    switch self {
    case .list(let waits): waits.count
    case .exponential(_, _, _, _, _, let attempts): attempts
    }
  }

  /// Returns whether this schedule has more attempts than another one.
  func isLonger(than other: Schedule) -> Bool { attempts ?? .max > other.attempts ?? .max }

  /// Returns the wait before the attempt with an index from 0; `nil` if no attempt is left.
  ///
  /// Back-off in this package is calculated here, except for that of a standby's polls.
  public func wait(before index: Int, generator: inout RandomSource) -> Duration? {
    switch self {
    case .list(let waits):
      return waits.indices.contains(index) ? waits[index] : nil
    case .exponential(_, _, _, let jitter, _, _):
      guard let bounds = bounds(before: index) else { return nil }
      guard jitter > 0 else { return bounds.lowerBound }
      return bounds.lowerBound + generator.duration(below: bounds.upperBound - bounds.lowerBound)
    }
  }

  /// Returns the wait before an attempt, at least as long as the server's retry-after.
  ///
  /// - Parameter retryAfter: The part of the retry-after that is honored.
  public func wait(
    before index: Int, atLeast retryAfter: Duration?, generator: inout RandomSource
  ) -> Duration? {
    wait(before: index, generator: &generator).map { max($0, retryAfter ?? .zero) }
  }

  /// Returns the shortest possible wait before an attempt, which is at least the server's
  /// retry-after.
  ///
  /// Without jitter, no other wait is possible.
  public func shortestWait(before index: Int, atLeast retryAfter: Duration?) -> Duration? {
    bounds(before: index).map { max($0.lowerBound, retryAfter ?? .zero) }
  }

  /// Returns the shortest and the longest possible wait before an attempt.
  public func bounds(before index: Int) -> ClosedRange<Duration>? {
    switch self {
    case .list(let waits):
      return waits.indices.contains(index) ? waits[index]...waits[index] : nil
    case .exponential(let first, let factor, let cap, let jitter, let floor, let attempts):
      if let attempts, index >= attempts { return nil }
      let base = Self.baseWait(before: index, first: first, factor: factor, cap: cap)
      return max(base * (1 - jitter), floor)...max(base * (1 + jitter), floor)
    }
  }

  /// Returns the wait before an attempt without jitter.
  func base(before index: Int) -> Duration? {
    switch self {
    case .list: bounds(before: index)?.lowerBound
    case .exponential(let first, let factor, let cap, _, _, _):
      bounds(before: index).map { _ in
        Self.baseWait(before: index, first: first, factor: factor, cap: cap)
      }
    }
  }

  /// Creates a schedule without jitter and without an end. Each wait is twice the one before, up to
  /// `cap`.
  package static func doubling(from first: Duration, to cap: Duration) -> Schedule {
    .exponential(first: first, factor: 2, cap: cap, jitter: 0, floor: .zero, attempts: nil)
  }

  /// The waits while a store refuses changes: 1, 2, 4 … 30 s.
  package static let afterStoreFailures = doubling(from: .seconds(1), to: .seconds(30))

  /// Returns the wait after a number of failures in a row, from 1, without jitter. It is zero after
  /// the last attempt of the schedule.
  package func wait(after failures: Int) -> Duration { base(before: max(failures, 1) - 1) ?? .zero }

  private static func baseWait(
    before index: Int, first: Duration, factor: Int, cap: Duration
  ) -> Duration {
    // A wait that does not grow needs no steps. Any other wait reaches its cap within 63 steps.
    guard factor > 1, first > .zero else { return min(first, cap) }
    var (wait, steps) = (first, 0)
    while steps < index, wait < cap {
      steps += 1
      // A large factor could exceed the range of a duration.
      let (grown, overflow) = wait.nanoseconds.multipliedReportingOverflow(by: Int64(factor))
      wait = overflow ? cap : .nanoseconds(grown)
    }
    return min(wait, cap)
  }
}
