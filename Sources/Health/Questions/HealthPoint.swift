/// One sample, or one span's statistic, as an answer tells it.
public struct HealthPoint: Sendable, Hashable, Codable {
  /// The type as the original names it, such as `HEART_RATE`.
  public var type: String
  /// What was measured.
  public var value: HealthPointValue
  /// Such as `count`; `noUnit` where the value says its units itself.
  public var unit: String
  /// The beginning of the sample or of the span.
  public var start: HealthTime
  /// Its end.
  public var end: HealthTime
  /// The source that measured it; `merged` for a merged value, `all` for one of all sources that
  /// merges nothing.
  public var source: String?
  /// What a statistic is, such as `average_per_day`; `nil` for a sample.
  public var statistic: String?
  /// Whether it is made of all sources, of which each moment counts one.
  public var isMerged = false
  /// Whether the span is not whole: the question, or the present, cuts it.
  public var isPartial = false
  /// The parts of a time asleep.
  public var sleep: SleepTimes?
  /// The kind of the workouts that are counted.
  public var workoutType: String?
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

/// What one training, or all of one kind in one span, came to; `nil` for what nobody recorded.
public struct WorkoutTotals: Sendable, Hashable, Codable {
  /// Such as `RUNNING`.
  public var type: String
  /// Metres.
  public var distance: Double?
  /// Kilocalories.
  public var energy: Double?
  /// Steps taken.
  public var steps: Double?
  /// How many trainings there were.
  public var sessions = 0
  /// Minutes, without pauses where those are known.
  public var duration: Double?
  /// Beats a minute during them, over time.
  public var heartRate: Double?
}

/// What somebody ate and drank; `nil` for what nobody recorded.
public struct NutritionTotals: Sendable, Hashable, Codable {
  /// Kilocalories.
  public var calories: Double?
  /// Grams.
  public var protein: Double?
  /// Grams.
  public var carbs: Double?
  /// Grams.
  public var fat: Double?
}
