/// An identifier that is a number. It is encoded as this number and ordered by age.
public protocol NumberedID: Sendable, Hashable, Comparable, Codable {
  /// The number, which counts up, so that a newer identifier is greater.
  var number: UInt64 { get }
  /// Creates an identifier from its number.
  init(_ number: UInt64)
}

extension NumberedID {
  /// Orders by age: an older identifier is less.
  public static func < (left: Self, right: Self) -> Bool {
    left.number < right.number
  }
}

/// The identifier of one attempt to open a link. Events of older attempts are ignored.
public struct AttemptID: NumberedID {
  /// The number, which counts from 1 in each run.
  public var number: UInt64

  /// Creates an identifier from its number.
  public init(_ number: UInt64) {
    self.number = number
  }
}

/// The identifier of one network connection of a server, never reused within one run.
public struct ConnectionID: NumberedID {
  /// The number that the accepting server assigned. A newer connection has a greater number.
  public var number: UInt64

  /// Creates an identifier from its number.
  public init(_ number: UInt64) {
    self.number = number
  }
}

/// The identifier of one HTTP request from arrival to response, never reused within one run.
public struct RequestID: NumberedID {
  /// The number that the reading server assigned. A newer request has a greater number.
  public var number: UInt64

  /// Creates an identifier from its number.
  public init(_ number: UInt64) {
    self.number = number
  }
}

/// The identifier of one attempt to send an item, so that late results of earlier attempts are
/// detected.
public struct TryID: NumberedID {
  /// The number, which counts from 1 in each run.
  public let number: UInt64

  /// Creates an identifier from its number.
  public init(_ number: UInt64) { self.number = number }
}
