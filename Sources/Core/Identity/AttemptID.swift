/// Names one attempt to open a link; events that carry an older one change nothing.
public struct AttemptID: Sendable, Hashable, Comparable, Codable {
  /// Counts from 1 in each run.
  public var number: UInt64

  public init(_ number: UInt64) {
    self.number = number
  }

  public static func < (left: AttemptID, right: AttemptID) -> Bool {
    left.number < right.number
  }

  public init(from decoder: any Decoder) throws {
    number = try decoder.singleValueContainer().decode(UInt64.self)
  }

  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(number)
  }
}
