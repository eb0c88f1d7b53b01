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
  case nutrition(NutritionTotals)
  case text(String)
}

/// What one training, or all of one span, came to.
public struct WorkoutTotals: Sendable, Hashable, Codable {
  /// Such as `RUNNING`; a span with several has their names in order, between commas.
  public var type: String
  /// Metres.
  public var distance: Double
  /// Kilocalories.
  public var energy: Double
  /// Steps taken.
  public var steps: Double
  /// How many trainings there were.
  public var sessions: Int

  /// The totals of nothing, by default.
  public init(
    type: String, distance: Double = 0, energy: Double = 0, steps: Double = 0, sessions: Int = 0
  ) {
    self.type = type
    self.distance = distance
    self.energy = energy
    self.steps = steps
    self.sessions = sessions
  }
}

/// What somebody ate and drank.
public struct NutritionTotals: Sendable, Hashable, Codable {
  /// Kilocalories.
  public var calories: Double
  /// Grams.
  public var protein: Double
  /// Grams.
  public var carbs: Double
  /// Grams.
  public var fat: Double

  /// The totals of nothing, by default.
  public init(calories: Double = 0, protein: Double = 0, carbs: Double = 0, fat: Double = 0) {
    self.calories = calories
    self.protein = protein
    self.carbs = carbs
    self.fat = fat
  }
}
