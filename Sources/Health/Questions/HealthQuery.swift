/// A question for the samples of one kind; the payload of `health_data_request`.
public struct HealthDataQuery: Sendable, Hashable, Codable {
  /// What is asked for.
  public var valueType: HealthValueType
  /// From here on, this moment included.
  public var start: HealthTime
  /// Up to here, this moment excluded.
  public var end: HealthTime
  /// One point for each span of the calendar; `nil` asks for the samples themselves.
  public var groupBy: HealthGrouping?
  /// How each span becomes a number; `nil` is chosen by the type.
  public var statistic: HealthStatistic?
  /// The longest answer in bytes; `nil` is chosen by what is asked for.
  public var maxBytes: Int?

  /// The lengths of an answer that can be asked for.
  public static let byteBounds = 2_000...HealthObject.maxBytes

  /// A question; whether it makes sense is for the phone to say.
  public init(
    valueType: HealthValueType, start: HealthTime, end: HealthTime,
    groupBy: HealthGrouping? = nil, statistic: HealthStatistic? = nil, maxBytes: Int? = nil
  ) {
    self.maxBytes = maxBytes
    self.valueType = valueType
    self.start = start
    self.end = end
    self.groupBy = groupBy
    self.statistic = statistic
  }
}

/// One line of a summary; what is left out, the phone chooses.
public struct SummaryMetric: Sendable, Hashable, Codable {
  /// What is asked for.
  public var valueType: HealthValueType
  /// The span of a point; `nil` is chosen by the length of the whole.
  public var groupBy: HealthGrouping?
  /// `nil` is chosen by what is asked for.
  public var statistic: HealthStatistic?

  /// A line of a summary.
  public init(
    valueType: HealthValueType, groupBy: HealthGrouping? = nil, statistic: HealthStatistic? = nil
  ) {
    self.valueType = valueType
    self.groupBy = groupBy
    self.statistic = statistic
  }
}

/// A question for several kinds at once; the payload of `summary_request`.
public struct SummaryQuery: Sendable, Hashable, Codable {
  /// From here on, this moment included.
  public var start: HealthTime
  /// Up to here, this moment excluded.
  public var end: HealthTime
  /// Empty asks for the phone's own choice, unless some were rejected.
  public var metrics: [SummaryMetric]
  /// The metrics that make no sense: each fails by itself.
  public var rejected: [RejectedMetric]
  /// The longest answer in bytes; `nil` leaves it to the phone.
  public var maxBytes: Int?

  /// A question; whether it makes sense is for the phone to say.
  public init(
    start: HealthTime, end: HealthTime, metrics: [SummaryMetric] = [],
    rejected: [RejectedMetric] = [], maxBytes: Int? = nil
  ) {
    self.start = start
    self.end = end
    self.metrics = metrics
    self.rejected = rejected
    self.maxBytes = maxBytes
  }
}

/// A line of a summary that cannot be asked.
public struct RejectedMetric: Sendable, Hashable, Codable {
  /// Its place among all lines, from 0.
  public var place: Int
  /// What it asks for, as it was given.
  public var valueType: String
  /// Why not, for people.
  public var reason: String

  /// A line from its parts.
  public init(place: Int, valueType: String, reason: String) {
    self.place = place
    self.valueType = valueType
    self.reason = reason
  }
}
