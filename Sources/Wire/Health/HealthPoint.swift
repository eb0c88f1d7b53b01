/// One sample, or one span's statistic, as an answer tells it.
public struct HealthPoint: Sendable, Hashable, Codable {
  /// The type as the original names it, such as `HEART_RATE`.
  public var type: String
  /// What was measured.
  public var value: HealthPointValue
  /// `COUNT` and the like for samples, `count` and the like for statistics.
  public var unit: String
  /// The beginning of the sample or of the span.
  public var start: HealthTime
  /// Its end.
  public var end: HealthTime
  /// Who measured it.
  public var source: String?

  /// A point.
  public init(
    type: String, value: HealthPointValue, unit: String, start: HealthTime, end: HealthTime,
    source: String?
  ) {
    self.type = type
    self.value = value
    self.unit = unit
    self.start = start
    self.end = end
    self.source = source
  }
}

/// What a point measured.
public enum HealthPointValue: Sendable, Hashable, Codable {
  case number(Double)
  case workout(WorkoutTotals)
  case text(String)
}

/// What one training, or all of one span, came to.
public struct WorkoutTotals: Sendable, Hashable, Codable {
  /// Such as `RUNNING`; `MIXED` for a span with several.
  public var type: String
  /// Metres.
  public var distance: Double
  /// Kilocalories.
  public var energy: Double
  /// Steps taken.
  public var steps: Double
  /// How many trainings there were.
  public var sessions: Double

  /// The totals of nothing, by default.
  public init(
    type: String, distance: Double = 0, energy: Double = 0, steps: Double = 0, sessions: Double = 0
  ) {
    self.type = type
    self.distance = distance
    self.energy = energy
    self.steps = steps
    self.sessions = sessions
  }
}

/// The answer to a question for samples.
public struct HealthReply: Sendable, Hashable, Codable {
  /// As asked.
  public var query: HealthDataQuery
  /// By type and source, then by time.
  public var points: [HealthPoint]
  /// Whether the points are statistics of spans.
  public var isAggregated: Bool
  /// Where to ask on, if not all points fit; `nil` when the answer is whole.
  public var nextStart: HealthTime?

  /// A reply; whole by default.
  public init(
    query: HealthDataQuery, points: [HealthPoint], isAggregated: Bool, nextStart: HealthTime? = nil
  ) {
    self.query = query
    self.points = points
    self.isAggregated = isAggregated
    self.nextStart = nextStart
  }
}
