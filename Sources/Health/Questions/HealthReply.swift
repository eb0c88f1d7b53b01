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
  /// Sentences for the assistant, such as which types the statistic does not apply to.
  public var notes: [String] = []
  /// Of which zone and how fresh the answer is; `nil` from a phone of the original.
  public var freshness: HealthFreshness?
}

/// The freshness of an answer, and the zone of its days.
public struct HealthFreshness: Sendable, Hashable, Codable {
  /// The time zone that days were cut in, such as `Europe/Berlin`.
  public var zone: String
  /// The phone's clock when it began to answer.
  public var answered: HealthTime
  /// When an export was imported last; `nil` if none was.
  public var imported: HealthTime?
  /// For each type of the answer the start of the last sample in the store, whatever was asked.
  public var lastSamples: [LastSample]

  /// The last sample of one type.
  public struct LastSample: Sendable, Hashable, Codable {
    /// The type as points name it.
    public var type: String
    /// When it began; `nil` if there is none.
    public var at: HealthTime?
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
  /// Of which zone and how fresh the answer is, without types; `nil` from a phone of the original.
  public var freshness: HealthFreshness?
}

/// What became of one metric of a summary.
public struct SummaryResult: Sendable, Hashable, Codable {
  /// As asked, even if it is none of the words that are known.
  public var valueType: String
  /// The object of a `HealthReply`, or of an error.
  public var data: HealthObject
}
