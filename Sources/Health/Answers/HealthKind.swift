/// A type of stored sample, with its unit in answers and the way in which its values are combined.
///
/// The way in which samples are combined depends on their own type, not on the type of the first
/// sample.
struct HealthKind: Sendable, Hashable {
  /// The name of the type in the store.
  var identifier: String
  /// The name of the type in an answer.
  var type: String
  var measure: Measure
  var rule: Rule
  /// Whether the average is weighted by time
  /// (`HKQuantityAggregationStyle.discreteTemporallyWeighted`), because the type is measured more
  /// often when its values are high.
  var isHeld = false

  /// The meaning of a sample's value.
  enum Measure: Sendable, Hashable {
    case quantity(Dimension)
    /// The length of the sample, in minutes.
    case minutes
    /// One of the four numbers of a meal.
    case nutrient(Int)
    case sleep
    case workout
  }

  /// The rule that determines to which span of the calendar a sample belongs.
  enum Rule: Sendable, Hashable {
    /// The value is divided in proportion among all spans that the sample overlaps.
    case spread
    /// The sample belongs to the span in which it begins.
    case atStart
    /// The sample belongs to the span in which it ends.
    case atEnd
    /// The sample belongs to the span that contains its middle. No other span contains more than
    /// half of the sample.
    case atMiddle
  }
}

extension HealthValueType {
  /// The kinds in the answer for this value type, in the order in which they are listed.
  var kinds: [HealthKind] {
    switch self {
    case .steps: [.spread("StepCount", "STEPS", .count)]
    case .heartRate:
      [
        .heartRate,
        .reading("RestingHeartRate", "RESTING_HEART_RATE", .beats),
      ]
    case .heartRateVariability:
      [.reading("HeartRateVariabilitySDNN", "HEART_RATE_VARIABILITY_SDNN", .interval)]
    case .calories: [.spread("ActiveEnergyBurned", "ACTIVE_ENERGY_BURNED", .energy)]
    case .bloodOxygen: [.reading("OxygenSaturation", "BLOOD_OXYGEN", .share)]
    case .bloodPressure:
      [
        .reading("BloodPressureSystolic", "BLOOD_PRESSURE_SYSTOLIC", .pressure),
        .reading("BloodPressureDiastolic", "BLOOD_PRESSURE_DIASTOLIC", .pressure),
      ]
    case .bodyTemperature: [.reading("BodyTemperature", "BODY_TEMPERATURE", .temperature)]
    case .bodyMetrics: HealthKind.body
    case .glucose: [.reading("BloodGlucose", "BLOOD_GLUCOSE", .glucose)]
    case .exerciseTime: [.spread("AppleExerciseTime", "EXERCISE_TIME", .time)]
    case .respiratoryRate: [.reading("RespiratoryRate", "RESPIRATORY_RATE", .breaths)]
    case .walkingSpeed: [.reading("WalkingSpeed", "WALKING_SPEED", .speed)]
    case .distance:
      [.spread("DistanceWalkingRunning", "DISTANCE_WALKING_RUNNING", .length)]
    case .sleep:
      [
        HealthKind(
          identifier: "HKCategoryTypeIdentifierSleepAnalysis", type: HealthKind.sleepType,
          measure: .sleep, rule: .atEnd)
      ]
    case .mindfulness:
      [
        HealthKind(
          identifier: "HKCategoryTypeIdentifierMindfulSession", type: "MINDFULNESS",
          measure: .minutes, rule: .atMiddle)
      ]
    case .workout:
      [
        HealthKind(
          identifier: HealthSample.workoutType, type: "WORKOUT", measure: .workout, rule: .atMiddle)
      ]
    }
  }
}

extension HealthKind {
  /// The name of the type for the time asleep in a night or nap.
  static let sleepType = "SLEEP_SESSION"

  /// The heart rate. Watches measure it far more often during a workout.
  static let heartRate: HealthKind = {
    var kind = reading("HeartRate", "HEART_RATE", .beats)
    kind.isHeld = true
    return kind
  }()

  fileprivate static let body: [HealthKind] = [
    .reading("BodyMass", "WEIGHT", .mass),
    .reading("Height", "HEIGHT", .length),
    .reading("BodyFatPercentage", "BODY_FAT_PERCENTAGE", .share),
    .spread("DietaryWater", "WATER", .volume),
    .nutrient("DietaryEnergyConsumed", 0),
    .nutrient("DietaryProtein", 1),
    .nutrient("DietaryCarbohydrates", 2),
    .nutrient("DietaryFatTotal", 3),
  ]

  /// Returns a cumulative quantity. Its values accumulate over time, and overlapping sources are
  /// merged.
  fileprivate static func spread(
    _ name: String, _ type: String, _ dimension: Dimension
  ) -> HealthKind {
    HealthKind(
      identifier: "HKQuantityTypeIdentifier" + name, type: type, measure: .quantity(dimension),
      rule: .spread)
  }

  /// Returns a discrete quantity, whose samples are readings at one instant.
  fileprivate static func reading(
    _ name: String, _ type: String, _ dimension: Dimension
  ) -> HealthKind {
    HealthKind(
      identifier: "HKQuantityTypeIdentifier" + name, type: type, measure: .quantity(dimension),
      rule: .atStart)
  }

  fileprivate static func nutrient(_ name: String, _ index: Int) -> HealthKind {
    HealthKind(
      identifier: "HKQuantityTypeIdentifier" + name, type: "NUTRITION", measure: .nutrient(index),
      rule: .spread)
  }

  /// The way in which values of this kind are combined.
  var aggregation: Aggregation {
    switch measure {
    case .quantity: rule == .spread ? .cumulative : .discrete
    case .minutes, .nutrient, .workout: .cumulative
    case .sleep: .nightly
    }
  }

  /// Returns whether a figure has a point for all sources together that is not merged by time.
  func hasAll(_ figure: Figure) -> Bool {
    switch measure {
    case .quantity, .nutrient: !figure.isAdded
    case .minutes, .workout, .sleep: false
    }
  }

  /// The dimension of the stored numbers, or `nil` if the kind has none.
  var dimension: Dimension? {
    switch measure {
    case .quantity(let dimension): dimension
    case .nutrient: .nutrient
    case .minutes, .sleep, .workout: nil
    }
  }

  /// The dimension of the numbers in an answer. The numbers of meals and workouts have no common
  /// unit.
  var answerDimension: Dimension {
    switch measure {
    case .quantity(let dimension): dimension
    case .minutes, .sleep: .time
    case .nutrient, .workout: .nutrient
    }
  }
}

/// A stage of sleep, or time in bed.
enum SleepStage: String, Sendable, Hashable, CaseIterable {
  case inBed = "InBed"
  /// Sleep recorded before iOS 16.
  case asleep = "Asleep"
  case unspecified = "AsleepUnspecified"
  case core = "AsleepCore"
  case deep = "AsleepDeep"
  case rem = "AsleepREM"
  case awake = "Awake"

  /// Creates a stage from HealthKit's name, with or without its long prefix.
  init?(name: String) {
    let prefix = "HKCategoryValueSleepAnalysis"
    self.init(rawValue: name.hasPrefix(prefix) ? String(name.dropFirst(prefix.count)) : name)
  }

  /// The name of the type in an answer.
  var type: String {
    switch self {
    case .inBed: "SLEEP_IN_BED"
    case .asleep, .unspecified: "SLEEP_ASLEEP"
    case .core: "SLEEP_LIGHT"
    case .deep: "SLEEP_DEEP"
    case .rem: "SLEEP_REM"
    case .awake: "SLEEP_AWAKE"
    }
  }

  /// The name of the type for stages that are unknown to this version.
  static let unknownType = "SLEEP_UNKNOWN"
}

extension WorkoutValue {
  /// The distance, energy and steps, or `nil` if one of them is not finite.
  var numbers: [Double?]? {
    let numbers = [distance, energy, steps]
    return numbers.allSatisfy { $0?.isFinite ?? true } ? numbers : nil
  }

  /// The activity's name in answers: `HKWorkoutActivityTypeCrossTraining` becomes `CROSS_TRAINING`.
  var answerType: String {
    let prefix = "HKWorkoutActivityType"
    let name = activity.hasPrefix(prefix) ? String(activity.dropFirst(prefix.count)) : activity
    if name == "Cycling" { return "BIKING" }
    var label = ""
    for letter in name.unicodeScalars {
      if ("A"..."Z").contains(letter), !label.isEmpty { label += "_" }
      label.unicodeScalars.append(letter)
    }
    return label.isEmpty ? "OTHER" : label.uppercased()
  }
}
