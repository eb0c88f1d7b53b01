// A stand-in for Apple's module HealthKit that runs on Linux: the names of its types.

/// The quantity and category types of iOS 26, as madsmtm/objc2-generated lists them.
@_spi(Script) public enum KnownTypes {
  /// A unit of each quantity type.
  public static let units: [String: String] = names.reduce(into: [:]) { units, group in
    for name in split(group.names) { units["HKQuantityTypeIdentifier" + name] = group.unit }
  }

  /// The identifiers of the category types.
  public static let categories = Set(split(categoryNames).map { "HKCategoryTypeIdentifier" + $0 })

  private static func split(_ names: String) -> [String] {
    names.split { $0 == " " || $0 == "\n" }.map(String.init)
  }

  private static let names: [(unit: String, names: String)] = [
    (
      "count",
      """
      AppleSleepingBreathingDisturbances BodyMassIndex FlightsClimbed InhalerUsage NikeFuel
      NumberOfAlcoholicBeverages NumberOfTimesFallen PushCount StepCount SwimmingStrokeCount
      UVExposure
      """
    ),
    (
      "count/s",
      """
      CyclingCadence HeartRate HeartRateRecoveryOneMinute RespiratoryRate RestingHeartRate
      WalkingHeartRateAverage
      """
    ),
    (
      "s",
      """
      AppleExerciseTime AppleMoveTime AppleStandTime HeartRateVariabilitySDNN
      RunningGroundContactTime TimeInDaylight
      """
    ),
    ("J", "ActiveEnergyBurned BasalEnergyBurned DietaryEnergyConsumed"),
    (
      "%",
      """
      AppleWalkingSteadiness AtrialFibrillationBurden BloodAlcoholContent BodyFatPercentage
      OxygenSaturation PeripheralPerfusionIndex WalkingAsymmetryPercentage
      WalkingDoubleSupportPercentage
      """
    ),
    ("Pa", "BloodPressureDiastolic BloodPressureSystolic"),
    ("K", "AppleSleepingWristTemperature BasalBodyTemperature BodyTemperature WaterTemperature"),
    (
      "m",
      """
      DistanceCrossCountrySkiing DistanceCycling DistanceDownhillSnowSports DistancePaddleSports
      DistanceRowing DistanceSkatingSports DistanceSwimming DistanceWalkingRunning
      DistanceWheelchair Height RunningStrideLength RunningVerticalOscillation
      SixMinuteWalkTestDistance UnderwaterDepth WaistCircumference WalkingStepLength
      """
    ),
    (
      "m/s",
      """
      CrossCountrySkiingSpeed CyclingSpeed PaddleSportsSpeed RowingSpeed RunningSpeed
      StairAscentSpeed StairDescentSpeed WalkingSpeed
      """
    ),
    ("W", "CyclingFunctionalThresholdPower CyclingPower RunningPower"),
    ("L", "DietaryWater ForcedExpiratoryVolume1 ForcedVitalCapacity"),
    ("L/s", "PeakExpiratoryFlowRate"),
    ("g/L", "BloodGlucose"),
    ("mL/min·kg", "VO2Max"),
    ("J/s·kg", "PhysicalEffort"),
    ("appleEffortScore", "EstimatedWorkoutEffortScore WorkoutEffortScore"),
    ("S", "ElectrodermalActivity"),
    ("IU", "InsulinDelivery"),
    ("dBASPL", "EnvironmentalAudioExposure EnvironmentalSoundReduction HeadphoneAudioExposure"),
    (
      "g",
      """
      BodyMass DietaryBiotin DietaryCaffeine DietaryCalcium DietaryCarbohydrates DietaryChloride
      DietaryCholesterol DietaryChromium DietaryCopper DietaryFatMonounsaturated
      DietaryFatPolyunsaturated DietaryFatSaturated DietaryFatTotal DietaryFiber DietaryFolate
      DietaryIodine DietaryIron DietaryMagnesium DietaryManganese DietaryMolybdenum DietaryNiacin
      DietaryPantothenicAcid DietaryPhosphorus DietaryPotassium DietaryProtein DietaryRiboflavin
      DietarySelenium DietarySodium DietarySugar DietaryThiamin DietaryVitaminA DietaryVitaminB12
      DietaryVitaminB6 DietaryVitaminC DietaryVitaminD DietaryVitaminE DietaryVitaminK
      DietaryZinc LeanBodyMass
      """
    ),
  ]

  private static let categoryNames = """
    AbdominalCramps Acne AppetiteChanges AppleStandHour AppleWalkingSteadinessEvent
    AudioExposureEvent BladderIncontinence BleedingAfterPregnancy BleedingDuringPregnancy
    Bloating BreastPain CervicalMucusQuality ChestTightnessOrPain Chills Constipation
    Contraceptive Coughing Diarrhea Dizziness DrySkin EnvironmentalAudioExposureEvent Fainting
    Fatigue Fever GeneralizedBodyAche HairLoss HandwashingEvent Headache
    HeadphoneAudioExposureEvent Heartburn HighHeartRateEvent HotFlashes HypertensionEvent
    InfrequentMenstrualCycles IntermenstrualBleeding IrregularHeartRhythmEvent
    IrregularMenstrualCycles Lactation LossOfSmell LossOfTaste LowCardioFitnessEvent
    LowHeartRateEvent LowerBackPain MemoryLapse MenstrualFlow MindfulSession MoodChanges Nausea
    NightSweats OvulationTestResult PelvicPain PersistentIntermenstrualBleeding Pregnancy
    PregnancyTestResult ProgesteroneTestResult ProlongedMenstrualPeriods
    RapidPoundingOrFlutteringHeartbeat RunnyNose SexualActivity ShortnessOfBreath SinusCongestion
    SkippedHeartbeat SleepAnalysis SleepApneaEvent SleepChanges SoreThroat ToothbrushingEvent
    VaginalDryness Vomiting Wheezing
    """
}
