/// The answer to a query for samples.
public struct HealthReply: Sendable, Hashable, Codable {
  /// The query, with the statistic that was used.
  public var query: HealthDataQuery
  /// The points, sorted by type, source and time.
  public var points: [HealthPoint]
  /// The start of the next query if not all points fit, or `nil` if the answer is complete.
  public var nextStart: HealthTime?
  /// The number of samples that were omitted because their unit or value is unknown.
  public var skipped = 0
  /// Sentences for the assistant. For example, they list the types to which the statistic does not
  /// apply.
  public var notes: [String] = []
  /// The time zone and the freshness of the answer, or `nil` if the phone sent neither.
  public var freshness: HealthFreshness?
  /// The trends of the points, if the query asked for them. `read` does not read them.
  public var trends: [HealthTrend] = []
  /// The points as rows, if the query asked for a table.
  package var table: HealthTable?
  /// Whether the reply is a table in a summary, which has the options and the freshness.
  package var isTableOfSummary = false
}

/// The freshness of an answer, and the time zone of its days.
public struct HealthFreshness: Sendable, Hashable, Codable {
  /// The time zone of the days, such as `Europe/Berlin`.
  public var zone: String
  /// The time of the phone's clock when it began to answer.
  public var answered: HealthTime
  /// The time of the latest import of an export, or `nil` if there was none.
  public var imported: HealthTime?
  /// The last stored sample of each type in the answer, regardless of the requested interval.
  public var lastSamples: [LastSample]

  /// The last sample of one type.
  public struct LastSample: Sendable, Hashable, Codable {
    /// The type's name in points.
    public var type: String
    /// The start of the sample, or `nil` if there is none.
    public var at: HealthTime?
  }
}

/// The answer to a query for a summary.
public struct SummaryReply: Sendable, Hashable, Codable {
  /// The requested start.
  public var start: HealthTime
  /// The requested end.
  public var end: HealthTime
  /// One result for each metric, in the order of the metrics.
  public var results: [SummaryResult]
  /// The time zone and the freshness of the answer, without types, or `nil` if the phone sent
  /// neither.
  public var freshness: HealthFreshness?
  /// The options that the results use. `read` does not read them.
  public var options = HealthOptions()
}

/// The result of one metric of a summary.
public struct SummaryResult: Sendable, Hashable, Codable {
  /// The value type as it was requested, even if it is unknown.
  public var valueType: String
  /// The object of a `HealthReply` or of an error.
  public var data: HealthObject
}
