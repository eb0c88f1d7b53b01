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
  /// The source that measured it.
  public var source: String?
}

/// What a point measured.
public enum HealthPointValue: Sendable, Hashable, Codable {
  case number(Double)
  case workout(WorkoutTotals)
  case nutrition(NutritionTotals)
  case text(String)
}

/// What one training, or all of one span, came to.
public struct WorkoutTotals: Sendable, Hashable, Codable {
  /// Such as `RUNNING`; a span with several has their names in order, between commas.
  public var type: String
  /// Metres.
  public var distance = 0.0
  /// Kilocalories.
  public var energy = 0.0
  /// Steps taken.
  public var steps = 0.0
  /// How many trainings there were.
  public var sessions = 0
}

/// What somebody ate and drank.
public struct NutritionTotals: Sendable, Hashable, Codable {
  /// Kilocalories.
  public var calories = 0.0
  /// Grams.
  public var protein = 0.0
  /// Grams.
  public var carbs = 0.0
  /// Grams.
  public var fat = 0.0
}
