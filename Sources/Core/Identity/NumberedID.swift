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

/// Names one attempt to open a link; events that carry an older one change nothing.
public struct AttemptID: NumberedID {
  /// Counts from 1 in each run.
  public var number: UInt64

  /// The name that stands for a number.
  public init(_ number: UInt64) {
    self.number = number
  }
}

/// The name of one network connection of a server; never used again within one run.
public struct ConnectionID: NumberedID {
  /// Given by the server that accepted the connection; a younger connection has a greater number.
  public var number: UInt64

  /// The name that stands for a number.
  public init(_ number: UInt64) {
    self.number = number
  }
}

/// The name of one HTTP request from its arrival to its answer; never used again within one run.
public struct RequestID: NumberedID {
  /// Given by the server that read the request; a younger request has a greater number.
  public var number: UInt64

  /// The name that stands for a number.
  public init(_ number: UInt64) {
    self.number = number
  }
}

/// Names one try to send an item, so that a late answer is told from the answer to a later try.
public struct TryID: NumberedID {
  /// Counts from 1 in each run.
  public let number: UInt64

  /// The name that stands for a number.
  public init(_ number: UInt64) { self.number = number }
}
