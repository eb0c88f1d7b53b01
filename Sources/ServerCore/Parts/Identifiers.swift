public import LinkCore

/// Ties an answer of the store to what was asked; counts from 1 in each run.
public struct StoreToken: NumberedID {
  /// Given by the server with the question, one more each time.
  public var number: UInt64

  /// The name that stands for a number.
  public init(_ number: UInt64) {
    self.number = number
  }
}
