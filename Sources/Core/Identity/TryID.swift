/// Names one try to send an item, so that a late answer is told from the answer to a later try.
public struct TryID: NumberedID {
  /// Counts from 1 in each run.
  public let number: UInt64

  /// The name that stands for a number.
  public init(_ number: UInt64) { self.number = number }
}
