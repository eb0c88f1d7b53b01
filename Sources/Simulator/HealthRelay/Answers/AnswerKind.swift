import LinkCore
import LinkHealth

/// A type of sample, as a table tells of it.
struct AnswerKind: Hashable {
  /// How its samples count.
  enum Form: String {
    case spread, reading, nutrient, sleep, minutes, workout
  }

  var word: HealthValueType
  var id: String
  var type: String
  var form: Form
  /// The place of its number in a meal.
  var place: Int
  var dimension: String

  /// Whether it adds up, and lies over time.
  var isSpread: Bool { form == .spread || form == .nutrient }

  /// What its samples measure.
  var measured: AnswerDimension { AnswerDimension.all[dimension] ?? AnswerDimension([]) }

  static func all(_ word: HealthValueType) -> [AnswerKind] { kinds.filter { $0.word == word } }

  private static let kinds = AnswerDimension.lines(
    """
    STEPS StepCount STEPS spread count
    HEART_RATE HeartRate HEART_RATE reading beats
    HEART_RATE RestingHeartRate RESTING_HEART_RATE reading beats
    HRV HeartRateVariabilitySDNN HEART_RATE_VARIABILITY_SDNN reading interval
    CALORIES ActiveEnergyBurned ACTIVE_ENERGY_BURNED spread energy
    BLOOD_OXYGEN OxygenSaturation BLOOD_OXYGEN reading share
    BLOOD_PRESSURE BloodPressureSystolic BLOOD_PRESSURE_SYSTOLIC reading pressure
    BLOOD_PRESSURE BloodPressureDiastolic BLOOD_PRESSURE_DIASTOLIC reading pressure
    BODY_TEMPERATURE BodyTemperature BODY_TEMPERATURE reading temperature
    BODY_METRICS BodyMass WEIGHT reading mass
    BODY_METRICS Height HEIGHT reading length
    BODY_METRICS BodyFatPercentage BODY_FAT_PERCENTAGE reading share
    BODY_METRICS DietaryWater WATER spread volume
    BODY_METRICS DietaryEnergyConsumed NUTRITION nutrient nutrient 0
    BODY_METRICS DietaryProtein NUTRITION nutrient nutrient 1
    BODY_METRICS DietaryCarbohydrates NUTRITION nutrient nutrient 2
    BODY_METRICS DietaryFatTotal NUTRITION nutrient nutrient 3
    GLUCOSE BloodGlucose BLOOD_GLUCOSE reading glucose
    EXERCISE_TIME AppleExerciseTime EXERCISE_TIME spread time
    RESPIRATORY_RATE RespiratoryRate RESPIRATORY_RATE reading breaths
    WALKING_SPEED WalkingSpeed WALKING_SPEED reading speed
    SLEEP SleepAnalysis SLEEP_SESSION sleep time
    MINDFULNESS MindfulSession MINDFULNESS minutes time
    WORKOUT HKWorkoutTypeIdentifier WORKOUT workout nutrient
    DISTANCE DistanceWalkingRunning DISTANCE_WALKING_RUNNING spread length
    """
  ).compactMap { line -> AnswerKind? in
    guard let word = HealthValueType(rawValue: line[0]), let form = Form(rawValue: line[3]) else {
      return nil
    }
    let prefix =
      switch form {
      case .spread, .reading, .nutrient: "HKQuantityTypeIdentifier"
      case .sleep, .minutes: "HKCategoryTypeIdentifier"
      case .workout: ""
      }
    return AnswerKind(
      word: word, id: prefix + line[1], type: line[2], form: form,
      place: line.count > 5 ? Int(line[5]) ?? 0 : 0, dimension: line[4])
  }
}
