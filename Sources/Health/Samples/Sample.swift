public import LinkCore

/// One sample of health data, as a store keeps it and an answer reads it.
public struct HealthSample: Sendable, Hashable {
  /// The type of every workout sample.
  public static let workoutType = "HKWorkoutTypeIdentifier"

  /// HealthKit's identifier, such as `HKQuantityTypeIdentifierStepCount`.
  public var type: String
  /// What was measured.
  public var value: HealthSampleValue
  /// The unit as HealthKit spells it (`count/min`); `nil` for categories and workouts.
  public var unit: String?
  /// When it began.
  public var start: Timestamp
  /// When it ended; the same moment as `start` for a reading.
  public var end: Timestamp
  /// The name of the app or device that wrote it, as the person sees it.
  public var source: String
  /// What measured it (name, maker, model), without anything that changes between exports.
  public var device: String?
  /// The time zone in which it was made (`HKTimeZone`), such as `America/Los_Angeles`.
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

/// Tells samples apart by what they say: type, start, end, source, value, unit, and when they were
/// created, where an export says that.
///
/// Exports carry no identifiers, so the content is one. Two samples of one key are the same sample.
public struct HealthSampleKey: Sendable, Hashable, Comparable {
  /// The upper half.
  public var high: UInt64
  /// The lower half.
  public var low: UInt64

  public init(high: UInt64, low: UInt64) {
    self.high = high
    self.low = low
  }

  public static func < (left: Self, right: Self) -> Bool {
    (left.high, left.low) < (right.high, right.low)
  }
}

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
