/// A query for the samples of one value type. It is the payload of `health_data_request`.
public struct HealthDataQuery: Sendable, Hashable, Codable {
  /// The requested value type.
  public var valueType: HealthValueType
  /// The start, inclusive.
  public var start: HealthTime
  /// The end, exclusive.
  public var end: HealthTime
  /// The calendar span of each point. `nil` requests the samples themselves.
  public var groupBy: HealthGrouping?
  /// The statistic of each span. `nil` selects the default of the type.
  public var statistic: HealthStatistic?
  /// The maximum size of the answer, in bytes. `nil` selects `AnswerLimits.usualBytes`.
  public var maxBytes: Int?
  /// The optional parts of the question.
  public var options: HealthOptions

  /// The range of maximum sizes that can be requested, in bytes.
  public static let byteBounds = 2_000...HealthObject.maxBytes

  /// Creates a query. The phone checks whether it is valid.
  public init(
    valueType: HealthValueType, start: HealthTime, end: HealthTime,
    groupBy: HealthGrouping? = nil, statistic: HealthStatistic? = nil, maxBytes: Int? = nil,
    options: HealthOptions = HealthOptions()
  ) {
    self.maxBytes = maxBytes
    self.options = options
    self.valueType = valueType
    self.start = start
    self.end = end
    self.groupBy = groupBy
    self.statistic = statistic
  }
}

/// A metric of a summary. The phone chooses the values that are `nil`.
public struct SummaryMetric: Sendable, Hashable, Codable {
  /// The requested value type.
  public var valueType: HealthValueType
  /// The calendar span of each point. `nil` selects the default for the length of the summary.
  public var groupBy: HealthGrouping?
  /// The statistic of each span. `nil` selects the default of the type.
  public var statistic: HealthStatistic?

  /// Creates a metric.
  public init(
    valueType: HealthValueType, groupBy: HealthGrouping? = nil, statistic: HealthStatistic? = nil
  ) {
    self.valueType = valueType
    self.groupBy = groupBy
    self.statistic = statistic
  }
}

/// A query for several value types. It is the payload of `summary_request`.
public struct SummaryQuery: Sendable, Hashable, Codable {
  /// The start, inclusive.
  public var start: HealthTime
  /// The end, exclusive.
  public var end: HealthTime
  /// The metrics. If the list is empty and no metrics were rejected, the phone chooses the metrics.
  public var metrics: [SummaryMetric]
  /// The invalid metrics. Each of them fails separately.
  public var rejected: [RejectedMetric]
  /// The maximum size of the answer, in bytes. `nil` selects the phone's default.
  public var maxBytes: Int?
  /// The optional parts of each metric's question. `nearest` and `workoutType` do not apply to a
  /// summary.
  public var options: HealthOptions

  /// Creates a query. The phone checks whether it is valid.
  public init(
    start: HealthTime, end: HealthTime, metrics: [SummaryMetric] = [],
    rejected: [RejectedMetric] = [], maxBytes: Int? = nil,
    options: HealthOptions = HealthOptions()
  ) {
    self.options = options
    self.start = start
    self.end = end
    self.metrics = metrics
    self.rejected = rejected
    self.maxBytes = maxBytes
  }
}

/// A metric of a summary that cannot be requested.
public struct RejectedMetric: Sendable, Hashable, Codable {
  /// The index among all metrics, from 0.
  public var index: Int
  /// The requested value type, as it was received.
  public var valueType: String
  /// A human-readable reason for the rejection.
  public var reason: String

  /// Creates a rejected metric.
  public init(index: Int, valueType: String, reason: String) {
    self.index = index
    self.valueType = valueType
    self.reason = reason
  }
}
