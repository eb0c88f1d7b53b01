import HoldfastCore

/// The number of durations by size, and their sum.
public struct Histogram: Sendable, Hashable {
  /// The upper bounds of the buckets, in ascending order. A last bucket has no bound.
  package let bounds: [Duration]
  private(set) var buckets: [UInt64]
  private(set) var sum = Duration.zero

  /// The bounds for requests, from an answer out of memory to a client that gives up.
  public static let requests: [Duration] = [
    .milliseconds(5), .milliseconds(25), .milliseconds(100), .milliseconds(500),
    .milliseconds(2_500),
  ]
  /// The bounds for commits of a store, from one of an idle disk to one that hangs.
  public static let commits: [Duration] = [
    .milliseconds(1), .microseconds(2_500), .milliseconds(5), .milliseconds(10), .milliseconds(25),
    .milliseconds(50), .milliseconds(100), .milliseconds(250), .milliseconds(500), .seconds(1),
    .milliseconds(2_500), .seconds(5),
  ]
  /// The bounds for questions to phones. The last is the time limit of a call (contract 1.9).
  public static let questions: [Duration] = [
    .milliseconds(50), .milliseconds(250), .seconds(1), .milliseconds(2_500), .seconds(5),
    .seconds(10), .seconds(25), .seconds(45),
  ]

  /// Creates an empty histogram.
  public init(_ bounds: [Duration]) {
    self.bounds = bounds
    buckets = [UInt64](repeating: 0, count: bounds.count + 1)
  }

  /// The number of durations.
  public var count: UInt64 { buckets.reduce(0, +) }

  /// Counts a duration. A bucket includes its bound.
  public mutating func add(_ duration: Duration) {
    buckets[bounds.firstIndex { duration <= $0 } ?? bounds.count] += 1
    sum += duration
  }

  /// Adds the counts of a histogram with the same bounds.
  public mutating func add(_ other: Histogram) {
    for (bucket, value) in zip(buckets.indices, other.buckets) { buckets[bucket] += value }
    sum += other.sum
  }
}
