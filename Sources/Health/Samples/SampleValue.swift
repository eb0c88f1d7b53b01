/// What a health sample says.
public enum HealthSampleValue: Sendable, Hashable {
  /// A measured number, in the sample's unit.
  case quantity(Double)
  /// A choice by HealthKit's name, such as `HKCategoryValueSleepAnalysisAsleepREM`.
  case category(String)
  /// A workout and its totals.
  case workout(WorkoutValue)
}

/// The totals of a workout, in one unit each wherever they came from.
public struct WorkoutValue: Sendable, Hashable {
  /// HealthKit's name of the activity, such as `HKWorkoutActivityTypeWalking`.
  public var activity: String
  /// How long it went on without its pauses, when that is known.
  public var duration: Duration?
  /// Metres.
  public var distance: Double?
  /// Active energy in kilocalories.
  public var energy: Double?
  /// Steps.
  public var steps: Double?

  public init(
    activity: String, duration: Duration? = nil, distance: Double? = nil, energy: Double? = nil,
    steps: Double? = nil
  ) {
    self.activity = activity
    self.duration = duration
    self.distance = distance
    self.energy = energy
    self.steps = steps
  }
}
