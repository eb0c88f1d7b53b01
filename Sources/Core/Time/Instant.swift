/// A moment on a clock that keeps counting while the device sleeps.
///
/// The runtime reads `CLOCK_BOOTTIME` (Linux) or `mach_continuous_time` (Apple); a simulated world
/// makes its own. Only differences between two instants of one run mean anything.
public struct Instant: Sendable, Hashable, Comparable, Codable {
  /// Nanoseconds since the clock's own beginning.
  public var nanoseconds: Int64

  public init(nanoseconds: Int64) {
    self.nanoseconds = nanoseconds
  }

  /// The clock's beginning.
  public static let zero = Instant(nanoseconds: 0)

  /// The moment `seconds` after the clock's beginning; for tests and tables.
  package static func second(_ seconds: Double) -> Instant {
    Instant(nanoseconds: Int64(seconds * 1_000_000_000))
  }

  /// This moment moved by `duration`; saturates at the ends of time.
  public func advanced(by duration: Duration) -> Instant {
    let (sum, overflow) = nanoseconds.addingReportingOverflow(duration.nanoseconds)
    guard overflow else { return Instant(nanoseconds: sum) }
    return Instant(nanoseconds: duration < .zero ? .min : .max)
  }

  /// How long it is from here to `other`; negative when `other` is earlier.
  public func duration(to other: Instant) -> Duration {
    .nanoseconds(other.nanoseconds) - .nanoseconds(nanoseconds)
  }

  /// The earlier of two moments that may be absent; without an array, since drivers ask often.
  static func earlier(_ left: Instant?, _ right: Instant?) -> Instant? {
    guard let left, let right else { return left ?? right }
    return min(left, right)
  }

  public static func < (left: Instant, right: Instant) -> Bool {
    left.nanoseconds < right.nanoseconds
  }
}

extension Duration {
  /// The whole length in nanoseconds, saturated to what fits 64 bits (about 292 years).
  public var nanoseconds: Int64 { Int64(clamping: attoseconds / 1_000_000_000) }
}
