public import LinkCore

/// What a judge found, up to a bound: the first few tell the story.
public struct Findings: Sendable, Hashable {
  /// How many are kept.
  public static let limit = 20

  /// In the order in which they were found.
  public private(set) var all: [Finding] = []

  public init() {}

  /// Keeps one more, unless there are enough.
  public mutating func add(
    _ kind: Finding.Kind, at time: Instant, _ detail: @autoclosure () -> String
  ) {
    if all.count < Self.limit { all.append(Finding(kind, at: time, detail())) }
  }
}
