/// A moment on the wall clock, as servers stamp it and people read it.
///
/// Never used to decide when to act: clocks jump. Deadlines are `Instant`s.
public struct Timestamp: Sendable, Hashable, Comparable, Codable {
  /// Nanoseconds since 1970-01-01T00:00:00Z; spans the years 1677 to 2262.
  public var nanoseconds: Int64

  public init(nanoseconds: Int64) {
    self.nanoseconds = nanoseconds
  }

  /// The moment that a system tells in seconds and nanoseconds since 1970, or the nearest one of the
  /// years 1678 to 2261.
  ///
  /// A clock that was set wrongly and the date of a file can show any year. Texts of other years
  /// are not read, and from these some months more or less stay in range.
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

  /// This moment moved by `duration`; saturates at the ends of the range.
  public func advanced(by duration: Duration) -> Timestamp {
    Timestamp(
      nanoseconds: Instant(nanoseconds: nanoseconds).advanced(by: duration).nanoseconds)
  }

  /// How long it is from here to `other`; negative when `other` is earlier.
  public func duration(to other: Timestamp) -> Duration {
    .nanoseconds(other.nanoseconds) - .nanoseconds(nanoseconds)
  }

  public static func < (left: Timestamp, right: Timestamp) -> Bool {
    left.nanoseconds < right.nanoseconds
  }
}
