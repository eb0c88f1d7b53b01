public import HoldfastCore

/// A sample of health data, in the form in which it is stored and read for answers.
public struct HealthSample: Sendable, Hashable {
  /// The type of every workout sample.
  public static let workoutType = "HKWorkoutTypeIdentifier"

  /// HealthKit's identifier, such as `HKQuantityTypeIdentifierStepCount`.
  public var type: String
  /// The measured value.
  public var value: HealthSampleValue
  /// The unit in HealthKit's spelling, such as `count/min`, or `nil` for categories and workouts.
  public var unit: String?
  /// The start of the sample.
  public var start: Timestamp
  /// The end of the sample. It is equal to `start` for a reading.
  public var end: Timestamp
  /// The name of the app or device that wrote the sample, in the form in which users see it.
  public var source: String
  /// The measuring device (name, maker, model), without any part that differs between exports.
  public var device: String?
  /// The time zone in which the sample was recorded (`HKTimeZone`), such as `America/Los_Angeles`.
  public var zone: String?

  public init(
    type: String, value: HealthSampleValue, unit: String? = nil, start: Timestamp, end: Timestamp,
    source: String, device: String? = nil, zone: String? = nil
  ) {
    self.type = type
    self.value = value
    self.unit = unit
    self.start = start
    self.end = end
    self.source = source
    self.device = device
    self.zone = zone
  }
}

/// A key derived from a sample's content: type, start, end, source, value, unit, and the creation
/// date if the export contains it.
///
/// Exports contain no identifiers, so the content identifies a sample. Two samples with the same
/// key are the same sample.
public struct HealthSampleKey: Sendable, Hashable, Comparable {
  /// The upper half of the key.
  public var high: UInt64
  /// The lower half of the key.
  public var low: UInt64

  public init(high: UInt64, low: UInt64) {
    self.high = high
    self.low = low
  }

  public static func < (left: Self, right: Self) -> Bool {
    (left.high, left.low) < (right.high, right.low)
  }
}

/// The value of a health sample.
public enum HealthSampleValue: Sendable, Hashable {
  /// A measured number, in the sample's unit.
  case quantity(Double)
  /// A category, under HealthKit's name, such as `HKCategoryValueSleepAnalysisAsleepREM`.
  case category(String)
  /// A workout and its totals.
  case workout(WorkoutValue)
}

/// The totals of a workout. Each total has the same unit for all sources.
public struct WorkoutValue: Sendable, Hashable {
  /// HealthKit's name of the activity, such as `HKWorkoutActivityTypeWalking`.
  public var activity: String
  /// The duration without pauses, if it is known.
  public var duration: Duration?
  /// The distance, in meters.
  public var distance: Double?
  /// The active energy, in kilocalories.
  public var energy: Double?
  /// The number of steps.
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
