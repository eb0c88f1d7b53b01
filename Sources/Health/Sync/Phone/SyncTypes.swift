import HoldfastCore
import HoldfastHealth
import HoldfastHealthSamples
import HoldfastSyncData

/// The types that a sync sends by default, and the encoding of samples as records.
public enum SyncTypes {
  /// The types that are synced by default. Workouts have the identifier that the stores use.
  public static let usual =
    units.map(\.type) + [sleep, HealthSample.workoutType]

  /// The quantity types, each with the unit of its records.
  private static let units: [(type: String, unit: String)] = [
    ("HKQuantityTypeIdentifierStepCount", "count"),
    ("HKQuantityTypeIdentifierHeartRate", "count/min"),
    ("HKQuantityTypeIdentifierActiveEnergyBurned", "kcal"),
    ("HKQuantityTypeIdentifierBodyMass", "lb"),
    ("HKQuantityTypeIdentifierVO2Max", "mL/min·kg"),
  ]

  private static let sleep = "HKCategoryTypeIdentifierSleepAnalysis"

  /// Returns the name that batches use for a type.
  public static func dataType(of type: String) -> String {
    type == HealthSample.workoutType ? "HKWorkoutType" : type
  }

  /// The names of HealthKit's raw values for sleep analysis, indexed from 0.
  private static let stages = [
    "InBed", "AsleepUnspecified", "Awake", "AsleepCore", "AsleepDeep", "AsleepREM",
  ]
  private static let stagePrefix = "HKCategoryValueSleepAnalysis"

  /// The length of a mile in meters (NIST Special Publication 811, appendix B).
  private static let metersPerMile = 1_609.344

  /// Returns the record of a quantity or category sample; `nil` for a workout.
  static func record(_ source: SourceSample) -> SyncRecord? {
    let sample = source.sample
    var record = SyncRecord(
      recordType: sample.type, sourceName: sample.source, unit: sample.unit,
      start: SyncTime(sample.start), end: SyncTime(sample.end),
      metadata: sample.zone.map { ["HKTimeZone": $0] }, uuid: source.uuid)
    switch sample.value {
    case .quantity(let quantity):
      record.value = quantity
      if let unit = units.first(where: { $0.type == sample.type })?.unit,
        let value = HealthUnits.convert(quantity, from: sample.unit ?? unit, to: unit)
      {
        (record.value, record.unit) = (value, unit)
      }
    case .category(let name) where sample.type == sleep: stage(name, &record)
    case .category(let name): record.valueText = .text(name)
    case .workout: return nil
    }
    return record
  }

  private static func stage(_ name: String, _ record: inout SyncRecord) {
    var stage = name
    if name.hasPrefix(stagePrefix) { stage.removeFirst(stagePrefix.count) }
    // Before iOS 16, HealthKit had only one kind of sleep.
    if stage == "Asleep" { stage = "AsleepUnspecified" }
    guard let index = stages.firstIndex(of: stage) else {
      record.valueText = .text("Unknown")
      return
    }
    record.value = Double(index)
    record.valueText = .text(stage)
  }

  /// Returns the workout of a sample; `nil` for other samples.
  static func workout(_ source: SourceSample) -> SyncWorkout? {
    let sample = source.sample
    guard case .workout(let value) = sample.value else { return nil }
    let duration = value.duration ?? sample.start.duration(to: sample.end)
    return SyncWorkout(
      workoutType: value.activity, sourceName: sample.source, start: SyncTime(sample.start),
      end: SyncTime(sample.end), durationSeconds: duration / .seconds(1),
      totalDistance: value.distance.map { $0 / metersPerMile }, totalEnergyBurned: value.energy,
      metadata: sample.zone.map { ["HKTimeZone": $0] }, uuid: source.uuid)
  }
}
