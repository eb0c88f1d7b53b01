/// Names one attempt to open a link; events that carry an older one change nothing.
public struct AttemptID: NumberedID {
  /// Counts from 1 in each run.
  public var number: UInt64

  /// The name that stands for a number.
  public init(_ number: UInt64) {
    self.number = number
  }
}
