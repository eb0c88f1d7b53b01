import HoldfastCore
import HoldfastHealth

/// A type of sample, and how it is aggregated.
struct ReferenceType: Hashable {
  /// The way in which samples are aggregated.
  enum Form: String {
    case spread, reading, nutrient, sleep, minutes, workout
  }

  var valueType: HealthValueType
  var id: String
  var type: String
  var form: Form
  /// The index of the type's number in a meal.
  var index: Int
  var dimension: String

  /// Whether the average is weighted by time.
  var isHeld: Bool { type == "HEART_RATE" }

  /// Whether samples are summed and spread over their duration.
  var isSpread: Bool { form == .spread || form == .nutrient }

  /// Whether the samples are sessions. One that several sources report counts once.
  var isSession: Bool { form == .minutes || form == .workout }

  /// The dimension of the type's quantities.
  var measure: ReferenceDimension { ReferenceDimension.all[dimension] ?? ReferenceDimension([]) }

  static func all(_ valueType: HealthValueType) -> [ReferenceType] {
    kinds.filter { $0.valueType == valueType }
  }

  private static let kinds = ReferenceDimension.lines(
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
  ).compactMap { line -> ReferenceType? in
    guard let valueType = HealthValueType(rawValue: line[0]), let form = Form(rawValue: line[3])
    else {
      return nil
    }
    let prefix =
      switch form {
      case .spread, .reading, .nutrient: "HKQuantityTypeIdentifier"
      case .sleep, .minutes: "HKCategoryTypeIdentifier"
      case .workout: ""
      }
    return ReferenceType(
      valueType: valueType, id: prefix + line[1], type: line[2], form: form,
      index: line.count > 5 ? Int(line[5]) ?? 0 : 0, dimension: line[4])
  }
}
