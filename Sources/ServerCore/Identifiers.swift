public import LinkCore

/// Names one network connection of the process; opaque to the rules.
public struct ConnectionID: NumberedID {
  /// Given by whoever carries the effects out; counts from 1 unless it is a socket's.
  public var number: UInt64

  /// The name that stands for a number.
  public init(_ number: UInt64) {
    self.number = number
  }
}

/// Names one REST request from its arrival to its answer; never used twice in one run.
public struct RequestID: NumberedID {
  /// Given by whoever hands the request in; counts from 1 in each run.
  public var number: UInt64

  /// The name that stands for a number.
  public init(_ number: UInt64) {
    self.number = number
  }
}

/// Ties an answer of the store to what was asked; counts from 1 in each run.
public struct StoreToken: NumberedID {
  /// Given by the server with the question, one more each time.
  public var number: UInt64

  /// The name that stands for a number.
  public init(_ number: UInt64) {
    self.number = number
  }
}
