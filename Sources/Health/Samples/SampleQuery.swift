public import LinkCore

/// A query for a page of samples.
public struct HealthSampleQuery: Sendable, Hashable {
  /// HealthKit's identifiers. The samples are in this order, and a repeated type counts once. An
  /// unknown type has no samples.
  public var types: [String]
  /// The start of the span. Samples that ended before it are left out, and so are samples with a
  /// duration that end at it.
  public var from: Timestamp
  /// The end of the span. Samples that start at it or later are left out. A span that does not end
  /// after its start contains nothing.
  public var to: Timestamp
  /// The position after which to continue, which is the `next` of the previous page.
  public var after: HealthSamplePosition?
  /// The maximum number of samples on a page. Values below 1 count as 1.
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

  /// The types that are not completed at `after`, each once.
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

/// The position of a sample in the order of a query: by type as listed, by start, by key.
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
  /// The samples in the order of the query's types, then by start.
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
  /// The number of samples.
  public var count: Int
  /// The start of the earliest sample.
  public var first: Timestamp
  /// The start of the latest sample.
  public var last: Timestamp

  public init(type: String, count: Int, first: Timestamp, last: Timestamp) {
    self.type = type
    self.count = count
    self.first = first
    self.last = last
  }
}
