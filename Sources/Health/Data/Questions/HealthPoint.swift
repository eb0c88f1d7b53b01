/// A point of an answer: a sample or the statistic of one span.
public struct HealthPoint: Sendable, Hashable, Codable {
  /// The type, under its name in the protocol, such as `HEART_RATE`.
  public var type: String
  /// The measured value.
  public var value: HealthPointValue
  /// The unit, such as `count`. It is `noUnit` if the value consists of numbers with different
  /// units.
  public var unit: String
  /// The start of the sample or of the span.
  public var start: HealthTime
  /// The end of the sample or of the span.
  public var end: HealthTime
  /// The source of the value. It is `merged` for a merged value, and `all` for a value of all
  /// sources that is not merged.
  public var source: String?
  /// The name of the statistic, such as `average_per_day`, or `nil` for a sample.
  public var statistic: String?
  /// Whether the value is merged from all sources, with one source counting at each instant.
  public var isMerged = false
  /// Whether the span is incomplete because part of it is outside the query or in the future.
  public var isPartial = false
  /// The parts of the time asleep.
  public var sleep: SleepTimes?
  /// The kind of workout that the statistic covers.
  public var workoutType: String?
  /// The part of all days that the statistic covers: `MONDAY` to `SUNDAY`, `WEEKDAYS`, `WEEKEND`,
  /// or the hour of the day, `00` to `23`.
  public var part: String?
  /// The comparison with another span, if the query asked for one.
  ///
  /// `HealthReply.read` does not read it.
  public var comparison: HealthComparison?
}

/// The parts of the time asleep, in minutes. A part is `nil` if it is unknown.
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
  /// The time asleep whose stage is not specified.
  public var unspecified: Double?
  /// The number of days in the span that include a night.
  public var nights = 0
  /// The number of naps in the span.
  public var naps = 0
  /// The time asleep in naps. A sum includes it.
  public var napMinutes: Double?

  /// Returns the times with each number of minutes changed by `change`.
  func map(_ change: (Double) -> Double) -> SleepTimes {
    var times = self
    for part in [
      \SleepTimes.inBed, \.awake, \.light, \.deep, \.rem, \.unspecified, \.napMinutes,
    ] {
      times[keyPath: part] = times[keyPath: part].map(change)
    }
    return times
  }
}

/// The value of a point.
public enum HealthPointValue: Sendable, Hashable, Codable {
  case number(Double)
  case workout(WorkoutTotals)
  case nutrition(NutritionTotals)
  case text(String)
}

/// The totals of a workout, or of all workouts of one kind in one span. Values that were not
/// recorded are `nil`.
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
  /// The duration in minutes. Pauses are excluded if they are known.
  public var duration: Double?
  /// The average heart rate over time during the workouts, in beats per minute.
  public var heartRate: Double?
}

/// The totals of food and drink. Values that were not recorded are `nil`.
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
