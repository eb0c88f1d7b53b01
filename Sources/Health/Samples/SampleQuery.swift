public import LinkCore

/// Which samples a reader wants, and how many at once.
public struct HealthSampleQuery: Sendable, Hashable {
  /// HealthKit's identifiers; the answer comes in this order, each once. Unknown ones hold nothing.
  public var types: [String]
  /// Where the span begins: samples that ended before, or at it when they lasted, are left out.
  public var from: Timestamp
  /// Where the span ends: samples that start at it or later are left out. Nothing lies in a span
  /// that ends where it begins, or before.
  public var to: Timestamp
  /// The place after which to go on: the `next` of the page before.
  public var after: HealthSamplePlace?
  /// How many samples a page holds at most; less than 1 counts as 1.
  public var limit: Int

  public init(
    types: [String], from: Timestamp, to: Timestamp, after: HealthSamplePlace? = nil,
    limit: Int = 10_000
  ) {
    self.types = types
    self.from = from
    self.to = to
    self.after = after
    self.limit = limit
  }

  /// The types that are not done at `after`, each once.
  public var typesLeft: [String] {
    var seen: Set<String> = []
    let types = types.filter { seen.insert($0).inserted }
    guard let after else { return types }
    return Array(types.drop { $0 != after.type })
  }

  /// Whether a sample's time lies in the span, at least in part.
  public func covers(start: Timestamp, end: Timestamp) -> Bool {
    from < to && start < to && (start >= from || end > from)
  }
}

/// The place of a sample in the order of a query: by type as listed, by start, by key.
public struct HealthSamplePlace: Sendable, Hashable {
  /// HealthKit's identifier.
  public var type: String
  /// When the sample began.
  public var start: Timestamp
  /// What it is known by.
  public var key: HealthSampleKey

  public init(type: String, start: Timestamp, key: HealthSampleKey) {
    self.type = type
    self.start = start
    self.key = key
  }
}

/// One page of samples.
public struct HealthSamplePage: Sendable, Hashable {
  /// In the order of the query's types, then by start.
  public var samples: [HealthSample]
  /// Where the next page begins; `nil` on the last one.
  public var next: HealthSamplePlace?

  public init(samples: [HealthSample], next: HealthSamplePlace? = nil) {
    self.samples = samples
    self.next = next
  }
}

/// What a store holds of one type.
public struct HealthTypeSummary: Sendable, Hashable {
  /// HealthKit's identifier.
  public var type: String
  /// How many samples.
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
