/// A sample, or the statistic of one span, in an answer.
public struct HealthPoint: Sendable, Hashable, Codable {
  /// The type by the original app's name, such as `HEART_RATE`.
  public var type: String
  /// The measured value.
  public var value: HealthPointValue
  /// The unit, such as `count`, or `noUnit` where the value contains its own units.
  public var unit: String
  /// The start of the sample or of the span.
  public var start: HealthTime
  /// The end of the sample or of the span.
  public var end: HealthTime
  /// The source of the value: `merged` for a merged value, or `all` for a value of all sources
  /// without merging.
  public var source: String?
  /// The name of the statistic, such as `average_per_day`; `nil` for a sample.
  public var statistic: String?
  /// Whether the value is merged from all sources, counting one source at each moment.
  public var isMerged = false
  /// Whether the span is incomplete because the query or the present cuts it off.
  public var isPartial = false
  /// The parts of a time asleep.
  public var sleep: SleepTimes?
  /// The kind of workout that is counted.
  public var workoutType: String?
}

/// The parts of a time asleep, in minutes. A part is `nil` if it is unknown.
public struct SleepTimes: Sendable, Hashable, Codable {
  /// The time in bed, asleep or not.
  public var inBed: Double?
  /// The time awake between the first and the last stage.
  public var awake: Double?
  /// Light or core sleep.
  public var light: Double?
  /// Deep sleep.
  public var deep: Double?
  /// REM sleep.
  public var rem: Double?
  /// The time asleep without a named stage.
  public var unspecified: Double?
  /// The number of days in the span that have a night.
  public var nights = 0
  /// The number of naps in the span.
  public var naps = 0
  /// The time asleep in naps, which a sum includes.
  public var napMinutes: Double?
}

/// The value of a point.
public enum HealthPointValue: Sendable, Hashable, Codable {
  case number(Double)
  case workout(WorkoutTotals)
  case nutrition(NutritionTotals)
  case text(String)
}

/// The totals of a workout, or of all workouts of one kind in one span. Unrecorded values are
/// `nil`.
public struct WorkoutTotals: Sendable, Hashable, Codable {
  /// The kind of workout, such as `RUNNING`.
  public var type: String
  /// The distance, in meters.
  public var distance: Double?
  /// The energy, in kilocalories.
  public var energy: Double?
  /// The number of steps.
  public var steps: Double?
  /// The number of workouts.
  public var sessions = 0
  /// The duration in minutes, without pauses where these are known.
  public var duration: Double?
  /// The average heart rate over time during the workouts, in beats per minute.
  public var heartRate: Double?
}

/// The totals of food and drink. Unrecorded values are `nil`.
public struct NutritionTotals: Sendable, Hashable, Codable {
  /// The energy, in kilocalories.
  public var calories: Double?
  /// The protein, in grams.
  public var protein: Double?
  /// The carbohydrates, in grams.
  public var carbs: Double?
  /// The fat, in grams.
  public var fat: Double?
}
