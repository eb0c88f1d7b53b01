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
