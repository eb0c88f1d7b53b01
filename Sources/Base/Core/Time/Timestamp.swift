/// A point in time on the wall clock, for display and for server timestamps.
///
/// It never decides when to act, since wall clocks can jump. Deadlines are `Instant`s.
public struct Timestamp: Sendable, Hashable, Comparable, Codable {
  /// The nanoseconds since 1970-01-01T00:00:00Z. The range covers the years 1677 to 2262.
  public var nanoseconds: Int64

  public init(nanoseconds: Int64) {
    self.nanoseconds = nanoseconds
  }

  /// Creates a timestamp from a system's seconds and nanoseconds since 1970, limited to the years
  /// 1678 to 2261.
  ///
  /// A wrong clock or the date of a file can have any year. The limits leave room to add or
  /// subtract some months.
  package init(seconds: Int64, nanoseconds: Int64) {
    let (first, last): (Int64, Int64) = (-9_214_560_000, 9_214_646_399)
    let part = max(0, min(nanoseconds, 999_999_999))
    if seconds < first {
      self.init(nanoseconds: first * 1_000_000_000)
    } else if seconds > last {
      self.init(nanoseconds: last * 1_000_000_000 + 999_999_999)
    } else {
      self.init(nanoseconds: seconds * 1_000_000_000 + part)
    }
  }

  /// Returns the time that is `duration` later, saturated to the range.
  public func advanced(by duration: Duration) -> Timestamp {
    Timestamp(
      nanoseconds: Instant(nanoseconds: nanoseconds).advanced(by: duration).nanoseconds)
  }

  /// Returns the duration from this time to `other`, which is negative if `other` is earlier.
  public func duration(to other: Timestamp) -> Duration {
    .nanoseconds(other.nanoseconds) - .nanoseconds(nanoseconds)
  }

  public static func < (left: Timestamp, right: Timestamp) -> Bool {
    left.nanoseconds < right.nanoseconds
  }
}
