/// The optional parts of a question. By default, none is used.
///
/// An app that is older than an option ignores it. Therefore an answer lists the options that it
/// used, and the backend refuses an answer that lacks one (`HealthOptions.neededNames`).
public struct HealthOptions: Sendable, Hashable, Codable {
  /// Whether the answer also has a point for each source, where there is a point for all of them.
  public var bySource = false
  /// The form of the points.
  public var format: HealthFormat?
  /// The span with which each point is compared.
  public var compareWith: QuerySpan?
  /// Whether the answer includes the trend of the points.
  public var trend = false
  /// Whether the answer is the last value before the end, even if it is older than the start.
  public var nearest = false
  /// The only kind of workout that counts, such as `RUNNING`.
  public var workoutType: String?

  /// Creates options. By default, none is used.
  public init(
    bySource: Bool = false, format: HealthFormat? = nil, compareWith: QuerySpan? = nil,
    trend: Bool = false, nearest: Bool = false, workoutType: String? = nil
  ) {
    self.bySource = bySource
    self.format = format
    self.compareWith = compareWith
    self.trend = trend
    self.nearest = nearest
    self.workoutType = workoutType
  }
}

/// The form of the points of an answer.
public enum HealthFormat: String, Sendable, Hashable, Codable, CaseIterable {
  /// An object for each point.
  case points = "POINTS"
  /// The names of columns, and a list of values for each point.
  case table = "TABLE"
}

/// A span of time in a question.
public struct QuerySpan: Sendable, Hashable, Codable {
  /// The start, inclusive.
  public var start: HealthTime
  /// The end, exclusive.
  public var end: HealthTime

  /// Creates a span. The phone checks whether it is valid.
  public init(start: HealthTime, end: HealthTime) {
    self.start = start
    self.end = end
  }
}
