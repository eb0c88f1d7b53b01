/// The answer to a question for samples.
public struct HealthReply: Sendable, Hashable, Codable {
  /// As asked.
  public var query: HealthDataQuery
  /// By type and source, then by time.
  public var points: [HealthPoint]
  /// Where to ask on, if not all points fit; `nil` when the answer is whole.
  public var nextStart: HealthTime?
  /// Samples left out because nothing is known of their unit or value.
  public var skipped = 0
}

/// The answer to a question for a summary.
public struct SummaryReply: Sendable, Hashable, Codable {
  /// As asked.
  public var start: HealthTime
  /// As asked.
  public var end: HealthTime
  /// One for each metric, in their order.
  public var results: [SummaryResult]
}

/// What became of one metric of a summary.
public struct SummaryResult: Sendable, Hashable, Codable {
  /// As asked.
  public var valueType: HealthValueType
  /// The object of a `HealthReply`, or of an error.
  public var data: HealthObject
}
