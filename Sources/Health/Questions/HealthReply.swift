/// The answer to a question for samples.
public struct HealthReply: Sendable, Hashable, Codable {
  /// As asked.
  public var query: HealthDataQuery
  /// By type and source, then by time.
  public var points: [HealthPoint]
  /// Where to ask on, if not all points fit; `nil` when the answer is whole.
  public var nextStart: HealthTime?
  /// Samples left out because nothing is known of their unit or value.
  public var skipped: Int

  /// A reply; whole by default.
  public init(
    query: HealthDataQuery, points: [HealthPoint], nextStart: HealthTime? = nil, skipped: Int = 0
  ) {
    self.query = query
    self.points = points
    self.nextStart = nextStart
    self.skipped = skipped
  }
}

/// The answer to a question for a summary.
public struct SummaryReply: Sendable, Hashable, Codable {
  /// As asked.
  public var start: HealthTime
  /// As asked.
  public var end: HealthTime
  /// One for each metric, in their order.
  public var results: [SummaryResult]

  /// A reply.
  public init(start: HealthTime, end: HealthTime, results: [SummaryResult]) {
    self.start = start
    self.end = end
    self.results = results
  }
}

/// What became of one metric of a summary.
public struct SummaryResult: Sendable, Hashable, Codable {
  /// As asked.
  public var valueType: HealthValueType
  /// The object of a `HealthReply`, or of an error.
  public var data: HealthObject

  /// A result.
  public init(valueType: HealthValueType, data: HealthObject) {
    self.valueType = valueType
    self.data = data
  }
}
