/// Names one network connection of the process; opaque to the rules.
public struct ConnectionID: Sendable, Hashable, Comparable, Codable {
  /// Given by whoever carries the effects out; counts from 1 unless it is a socket's.
  public var number: UInt64

  /// The name that stands for a number.
  public init(_ number: UInt64) {
    self.number = number
  }

  /// Orders by age: an older one is less.
  public static func < (left: ConnectionID, right: ConnectionID) -> Bool {
    left.number < right.number
  }

  /// Reads the bare number.
  public init(from decoder: any Decoder) throws {
    number = try decoder.singleValueContainer().decode(UInt64.self)
  }

  /// Writes the bare number.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(number)
  }
}

/// Names one REST request from its arrival to its answer; never used twice in one run.
public struct RequestID: Sendable, Hashable, Comparable, Codable {
  /// Given by whoever carries the effects out; counts from 1 unless it is a socket's.
  public var number: UInt64

  /// The name that stands for a number.
  public init(_ number: UInt64) {
    self.number = number
  }

  /// Orders by age: an older one is less.
  public static func < (left: RequestID, right: RequestID) -> Bool {
    left.number < right.number
  }

  /// Reads the bare number.
  public init(from decoder: any Decoder) throws {
    number = try decoder.singleValueContainer().decode(UInt64.self)
  }

  /// Writes the bare number.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(number)
  }
}

/// Ties an answer of the store to what was asked; counts from 1 in each run.
public struct StoreToken: Sendable, Hashable, Comparable, Codable {
  /// Given by whoever carries the effects out; counts from 1 unless it is a socket's.
  public var number: UInt64

  /// The name that stands for a number.
  public init(_ number: UInt64) {
    self.number = number
  }

  /// Orders by age: an older one is less.
  public static func < (left: StoreToken, right: StoreToken) -> Bool {
    left.number < right.number
  }

  /// Reads the bare number.
  public init(from decoder: any Decoder) throws {
    number = try decoder.singleValueContainer().decode(UInt64.self)
  }

  /// Writes the bare number.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(number)
  }
}
