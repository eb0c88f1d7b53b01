/// Tells samples apart by what they say: type, start, end, source, value, unit, and when they were
/// created, where an export says that.
///
/// Exports carry no identifiers, so the content is one. Two samples of one key are the same sample.
public struct HealthSampleKey: Sendable, Hashable, Comparable {
  /// The upper half.
  public var high: UInt64
  /// The lower half.
  public var low: UInt64

  public init(high: UInt64, low: UInt64) {
    self.high = high
    self.low = low
  }

  public static func < (left: Self, right: Self) -> Bool {
    (left.high, left.low) < (right.high, right.low)
  }
}
