/// A moment on the wall clock, as servers stamp it and people read it.
///
/// Never used to decide when to act: clocks jump. Deadlines are `Instant`s.
public struct Timestamp: Sendable, Hashable, Comparable, Codable {
  /// Nanoseconds since 1970-01-01T00:00:00Z; spans the years 1677 to 2262.
  public var nanoseconds: Int64

  public init(nanoseconds: Int64) {
    self.nanoseconds = nanoseconds
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
