/// The answer to a query for samples.
public struct HealthReply: Sendable, Hashable, Codable {
  /// The query, with the statistic that was used.
  public var query: HealthDataQuery
  /// The points by type and source, then by time.
  public var points: [HealthPoint]
  /// The time from which to continue if not all points fit; `nil` when the answer is complete.
  public var nextStart: HealthTime?
  /// The number of samples left out because their unit or value is unknown.
  public var skipped = 0
  /// Sentences for the assistant, such as the types to which the statistic does not apply.
  public var notes: [String] = []
  /// The time zone and the freshness of the answer; `nil` from a phone with the original app.
  public var freshness: HealthFreshness?
}

/// The freshness of an answer, and the time zone of its days.
public struct HealthFreshness: Sendable, Hashable, Codable {
  /// The time zone of the days, such as `Europe/Berlin`.
  public var zone: String
  /// The time by the phone's clock when it began to answer.
  public var answered: HealthTime
  /// The time of the latest import of an export, or `nil` if there was none.
  public var imported: HealthTime?
  /// The last stored sample of each type in the answer, whatever interval was requested.
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
  /// The time zone and the freshness of the answer, without types; `nil` from a phone with the
  /// original app.
  public var freshness: HealthFreshness?
}

/// The result of one metric of a summary.
public struct SummaryResult: Sendable, Hashable, Codable {
  /// The value type as requested, even if it is unknown.
  public var valueType: String
  /// The object of a `HealthReply`, or of an error.
  public var data: HealthObject
}
