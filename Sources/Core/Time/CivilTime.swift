/// A date and time without a time zone.
public struct CivilTime: Sendable, Hashable, Comparable, Codable {
  /// Nanoseconds since 1970-01-01T00:00:00 of the same wall.
  public var nanoseconds: Int64

  /// A reading; nothing is checked.
  public init(nanoseconds: Int64) {
    self.nanoseconds = nanoseconds
  }

  /// By what the wall shows.
  public static func < (left: CivilTime, right: CivilTime) -> Bool {
    left.nanoseconds < right.nanoseconds
  }
}
