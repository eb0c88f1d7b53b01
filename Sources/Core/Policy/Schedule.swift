/// How long to wait before each try of a series.
public enum Schedule: Sendable, Hashable, Codable {
  /// These waits, then no more.
  case list([Duration])
  /// `first · factor^n`, at most `cap`, spread by ±`jitter` of itself, never under `floor`: drawn
  /// evenly from what is left above it.
  case exponential(
    first: Duration, factor: Int, cap: Duration, jitter: Double, floor: Duration, attempts: Int?)

  /// How many tries it allows; `nil` means without end.
  public var attempts: Int? {
    switch self {
    case .list(let waits): waits.count
    case .exponential(_, _, _, _, _, let attempts): attempts
    }
  }

  /// Whether it allows more tries than another schedule.
  func isLonger(than other: Schedule) -> Bool { attempts ?? .max > other.attempts ?? .max }

  /// The wait before try `index` (from 0); `nil` when no try is left.
  ///
  /// This is the one home of the backoff arithmetic.
  public func wait(before index: Int, chance: inout Chance) -> Duration? {
    switch self {
    case .list(let waits):
      return waits.indices.contains(index) ? waits[index] : nil
    case .exponential(_, _, _, let jitter, _, _):
      guard let bounds = bounds(before: index) else { return nil }
      guard jitter > 0 else { return bounds.lowerBound }
      return bounds.lowerBound + chance.duration(below: bounds.upperBound - bounds.lowerBound)
    }
  }

  /// The same, and at least as long as the server asked for.
  ///
  /// - Parameter wish: How long the server asked to be left alone, as far as it is obeyed.
  public func wait(
    before index: Int, atLeast wish: Duration?, chance: inout Chance
  ) -> Duration? {
    wait(before: index, chance: &chance).map { max($0, wish ?? .zero) }
  }

  /// The shortest wait before try `index` that is at least as long as the server asked for.
  ///
  /// Without jitter it is the only one.
  public func shortestWait(before index: Int, atLeast wish: Duration?) -> Duration? {
    bounds(before: index).map { max($0.lowerBound, wish ?? .zero) }
  }

  /// The shortest and the longest wait that chance can make before try `index`.
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

  private static func baseWait(
    before index: Int, first: Duration, factor: Int, cap: Duration
  ) -> Duration {
    // A wait that does not grow needs no steps; another one reaches its cap within 63.
    guard factor > 1, first > .zero else { return min(first, cap) }
    var (wait, steps) = (first, 0)
    while steps < index, wait < cap {
      steps += 1
      // A large factor would leave the range of a duration.
      let (grown, overflow) = wait.nanoseconds.multipliedReportingOverflow(by: Int64(factor))
      wait = overflow ? cap : .nanoseconds(grown)
    }
    return min(wait, cap)
  }
}
