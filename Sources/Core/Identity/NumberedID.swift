/// A name that is nothing but a number; coded as the bare number, ordered by age.
public protocol NumberedID: Sendable, Hashable, Comparable, Codable {
  /// Counts up, so that a younger name is greater.
  var number: UInt64 { get }
  /// The name that stands for a number.
  init(_ number: UInt64)
}

extension NumberedID {
  /// Orders by age: an older one is less.
  public static func < (left: Self, right: Self) -> Bool {
    left.number < right.number
  }
}
