import HoldfastHealthSamples

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
    /// An event with a value.
    case event(CategoryValues)
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

extension HealthKind {
  /// The name of the type for the time asleep in a night or nap.
  static let sleepType = "SLEEP_SESSION"

  /// The four numbers of meals, which share the points of one type.
  static let nutrients: [HealthKind] = [
    "DietaryEnergyConsumed", "DietaryProtein", "DietaryCarbohydrates", "DietaryFatTotal",
  ].enumerated().map { index, name in
    HealthKind(
      identifier: HealthType.quantityPrefix + name, type: "NUTRITION", measure: .nutrient(index),
      rule: .spread)
  }

  /// The way in which values of this kind are combined.
  var aggregation: Aggregation {
    switch measure {
    case .quantity: rule == .spread ? .cumulative : .discrete
    case .minutes, .nutrient, .workout: .cumulative
    case .sleep: .nightly
    case .event: .events
    }
  }

  /// Returns whether a figure has a point for all sources together that is not merged by time.
  func hasAll(_ figure: Figure) -> Bool {
    switch measure {
    case .quantity, .nutrient: !figure.isAdded
    case .event: true
    case .minutes, .workout, .sleep: false
    }
  }

  /// The dimension of the stored numbers, or `nil` if the kind has none.
  var dimension: Dimension? {
    switch measure {
    case .quantity(let dimension): dimension
    case .nutrient: .nutrient
    case .minutes, .sleep, .workout, .event: nil
    }
  }

  /// The dimension of the numbers in an answer. The numbers of meals and workouts have no common
  /// unit.
  var answerDimension: Dimension {
    switch measure {
    case .quantity(let dimension): dimension
    case .minutes, .sleep, .event: .time
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
    return name.isEmpty ? "OTHER" : name.capitalWords
  }
}
