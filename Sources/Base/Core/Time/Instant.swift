/// A point in time on a clock that keeps counting while the device sleeps.
///
/// The runtime reads `CLOCK_BOOTTIME` (Linux) or `mach_continuous_time` (Apple). A simulated world
/// has its own clock. Only differences between two instants of one run are meaningful.
public struct Instant: Sendable, Hashable, Comparable, Codable {
  /// The nanoseconds since the clock's origin.
  public var nanoseconds: Int64

  public init(nanoseconds: Int64) {
    self.nanoseconds = nanoseconds
  }

  /// The clock's origin.
  public static let zero = Instant(nanoseconds: 0)

  /// Returns the instant `seconds` after the clock's origin, for tests and tables.
  package static func second(_ seconds: Double) -> Instant {
    Instant(nanoseconds: Int64(seconds * 1_000_000_000))
  }

  /// Returns the instant that is `duration` later, saturated to the range of the clock.
  public func advanced(by duration: Duration) -> Instant {
    let (sum, overflow) = nanoseconds.addingReportingOverflow(duration.nanoseconds)
    guard overflow else { return Instant(nanoseconds: sum) }
    return Instant(nanoseconds: duration < .zero ? .min : .max)
  }

  /// Returns the time from this instant to `other`, which is negative if `other` is earlier.
  public func duration(to other: Instant) -> Duration {
    .nanoseconds(other.nanoseconds) - .nanoseconds(nanoseconds)
  }

  /// Returns the instant that is `duration` later, saturated to the range of the clock.
  public static func + (instant: Instant, duration: Duration) -> Instant {
    instant.advanced(by: duration)
  }

  /// Returns the instant that is `duration` earlier, saturated to the range of the clock.
  public static func - (instant: Instant, duration: Duration) -> Instant {
    let (rest, overflow) = instant.nanoseconds.subtractingReportingOverflow(duration.nanoseconds)
    guard overflow else { return Instant(nanoseconds: rest) }
    return Instant(nanoseconds: duration < .zero ? .max : .min)
  }

  /// Returns the time from the second instant to the first.
  public static func - (instant: Instant, earlier: Instant) -> Duration {
    earlier.duration(to: instant)
  }

  /// Returns the earlier of two optional instants. The function creates no array, since drivers
  /// call it often.
  @inlinable
  package static func earlier(_ left: Instant?, _ right: Instant?) -> Instant? {
    guard let left, let right else { return left ?? right }
    return min(left, right)
  }

  public static func < (left: Instant, right: Instant) -> Bool {
    left.nanoseconds < right.nanoseconds
  }
}

extension Duration {
  /// The length in nanoseconds, saturated to 64 bits (about 292 years).
  public var nanoseconds: Int64 { Int64(clamping: attoseconds / 1_000_000_000) }
}
