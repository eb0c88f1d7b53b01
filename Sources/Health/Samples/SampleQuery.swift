public import HoldfastCore

/// A query for a page of samples.
public struct HealthSampleQuery: Sendable, Hashable {
  /// HealthKit's identifiers of the requested types. Samples are returned in this order. Repeated
  /// types count once, and unknown types have no samples.
  public var types: [String]
  /// The start of the span. Samples that end before it are excluded, and so are samples with a
  /// duration that end exactly at it.
  public var from: Timestamp
  /// The end of the span. Samples that start at the end or later are excluded. If the end is not
  /// after the start, the span contains no samples.
  public var to: Timestamp
  /// The position after which to continue: the `next` of the previous page.
  public var after: HealthSamplePosition?
  /// The maximum number of samples on a page. Values below 1 are treated as 1.
  public var limit: Int

  public init(
    types: [String], from: Timestamp, to: Timestamp, after: HealthSamplePosition? = nil,
    limit: Int = 10_000
  ) {
    self.types = types
    self.from = from
    self.to = to
    self.after = after
    self.limit = limit
  }

  /// The types that are not complete at the position `after`, without repetitions.
  public var typesLeft: [String] {
    var seen: Set<String> = []
    let types = types.filter { seen.insert($0).inserted }
    guard let after else { return types }
    return Array(types.drop { $0 != after.type })
  }

  /// Returns whether a sample's time overlaps the span.
  public func covers(start: Timestamp, end: Timestamp) -> Bool {
    from < to && start < to && (start >= from || end > from)
  }
}

/// The position of a sample in the order of a query: by type as listed, then by start, then by key.
public struct HealthSamplePosition: Sendable, Hashable {
  /// HealthKit's identifier.
  public var type: String
  /// The start of the sample.
  public var start: Timestamp
  /// The key of the sample.
  public var key: HealthSampleKey

  public init(type: String, start: Timestamp, key: HealthSampleKey) {
    self.type = type
    self.start = start
    self.key = key
  }
}

/// A page of samples.
public struct HealthSamplePage: Sendable, Hashable {
  /// The samples, in the order of the query's types and then by start.
  public var samples: [HealthSample]
  /// The position after which the next page begins, or `nil` on the last page.
  public var next: HealthSamplePosition?

  public init(samples: [HealthSample], next: HealthSamplePosition? = nil) {
    self.samples = samples
    self.next = next
  }
}

/// A summary of the stored samples of one type.
public struct HealthTypeSummary: Sendable, Hashable {
  /// HealthKit's identifier.
  public var type: String
  /// The number of samples; `nil` if the source can tell it only by reading all of them.
  ///
  /// Stores always have a number. HealthKit has one for at most 1,000 samples.
  public var count: Int?
  /// The start of the earliest sample.
  public var first: Timestamp
  /// The start of the latest sample.
  public var last: Timestamp
  /// The names of the apps and devices that wrote samples, in alphabetical order; `nil` if the
  /// source can determine them only by reading all samples.
  public var sources: [String]?

  public init(
    type: String, count: Int?, first: Timestamp, last: Timestamp, sources: [String]? = nil
  ) {
    self.sources = sources
    self.type = type
    self.count = count
    self.first = first
    self.last = last
  }
}
