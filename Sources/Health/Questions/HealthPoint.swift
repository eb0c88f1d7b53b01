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
  /// The source that measured it; `merged` for a merged value.
  public var source: String?
  /// What a statistic is, such as `average_per_day`; `nil` for a sample.
  public var statistic: String?
  /// Whether it is made of all sources, of which each moment counts one.
  public var isMerged = false
  /// Whether the span is not whole: the question, or the present, cuts it.
  public var isPartial = false
  /// The parts of a time asleep.
  public var sleep: SleepTimes?
}

/// The parts of a time asleep, in minutes; `nil` where nothing is known.
public struct SleepTimes: Sendable, Hashable, Codable {
  /// Time in bed, asleep or not.
  public var inBed: Double?
  /// Awake between the first and the last stage.
  public var awake: Double?
  /// Light or core sleep.
  public var light: Double?
  /// Deep sleep.
  public var deep: Double?
  /// REM sleep.
  public var rem: Double?
  /// Asleep without a named stage.
  public var unspecified: Double?
  /// How many days of the span have a night.
  public var nights = 0
  /// How many naps the span has.
  public var naps = 0
  /// Time asleep in naps, which a sum includes.
  public var napMinutes: Double?
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
