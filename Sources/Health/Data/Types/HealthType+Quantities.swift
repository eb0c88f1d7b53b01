// The quantity types of HealthKit, with the units and aggregation styles of Apple's headers.

extension HealthType {
  static let activity: [HealthType] = [
    .amount("StepCount", "STEPS", .count, "steps of walking and running"),
    .amount(
      "DistanceWalkingRunning", "DISTANCE", .length, "distance on foot",
      type: "DISTANCE_WALKING_RUNNING", "DISTANCE_WALKING", "DISTANCE_RUNNING"),
    .amount("DistanceCycling", "DISTANCE_CYCLING", .length, "distance by bicycle"),
    .amount("DistanceSwimming", "DISTANCE_SWIMMING", .length, "distance swum"),
    .amount("DistanceWheelchair", "DISTANCE_WHEELCHAIR", .length, "distance in a wheelchair"),
    .amount(
      "DistanceDownhillSnowSports", "DISTANCE_DOWNHILL_SNOW_SPORTS", .length,
      "distance of downhill skiing and snowboarding"),
    .amount(
      "DistanceCrossCountrySkiing", "DISTANCE_CROSS_COUNTRY_SKIING", .length,
      "distance of cross-country skiing"),
    .amount(
      "DistancePaddleSports", "DISTANCE_PADDLE_SPORTS", .length, "distance paddled"),
    .amount("DistanceRowing", "DISTANCE_ROWING", .length, "distance rowed"),
    .amount("DistanceSkatingSports", "DISTANCE_SKATING_SPORTS", .length, "distance skated"),
    .amount(
      "ActiveEnergyBurned", "CALORIES", .energy, "energy burned by activity, without rest",
      type: "ACTIVE_ENERGY_BURNED", "ACTIVE_ENERGY", "ACTIVE_CALORIES"),
    .amount(
      "BasalEnergyBurned", "BASAL_ENERGY", .energy, "energy burned at rest", "RESTING_ENERGY"),
    .amount("FlightsClimbed", "FLIGHTS_CLIMBED", .count, "floors climbed", "FLOORS_CLIMBED"),
    .amount("AppleExerciseTime", "EXERCISE_TIME", .time, "minutes of exercise (green ring)"),
    .amount("AppleMoveTime", "MOVE_TIME", .time, "minutes of movement"),
    .amount("AppleStandTime", "STAND_TIME", .time, "minutes standing and moving"),
    .amount("PushCount", "WHEELCHAIR_PUSHES", .count, "pushes of a wheelchair"),
    .amount("SwimmingStrokeCount", "SWIMMING_STROKES", .count, "strokes of swimming"),
    .amount("NikeFuel", "NIKE_FUEL", .count, "NikeFuel points"),
    .reading(
      "VO2Max", "VO2_MAX", .oxygenUptake, "cardio fitness: maximal oxygen uptake",
      "CARDIO_FITNESS"),
    .reading(
      "PhysicalEffort", "PHYSICAL_EFFORT", .effort, "intensity of movement in METs", "MET"),
    .reading("WorkoutEffortScore", "WORKOUT_EFFORT", .score, "effort of a workout, 1 to 10, rated"),
    .reading(
      "EstimatedWorkoutEffortScore", "ESTIMATED_WORKOUT_EFFORT", .score,
      "effort of a workout, 1 to 10, estimated"),
    .reading("RunningSpeed", "RUNNING_SPEED", .speed, "speed of running"),
    .reading("RunningPower", "RUNNING_POWER", .power, "power of running"),
    .reading("RunningStrideLength", "RUNNING_STRIDE_LENGTH", .length, "length of a running stride"),
    .reading(
      "RunningVerticalOscillation", "RUNNING_VERTICAL_OSCILLATION", .length,
      "bounce of the body when running"),
    .reading(
      "RunningGroundContactTime", "RUNNING_GROUND_CONTACT_TIME", .interval,
      "time that a foot touches the ground when running"),
    .reading("CyclingSpeed", "CYCLING_SPEED", .speed, "speed of cycling"),
    .reading("CyclingPower", "CYCLING_POWER", .power, "power of cycling"),
    .reading("CyclingCadence", "CYCLING_CADENCE", .cadence, "turns of the pedals"),
    .reading(
      "CyclingFunctionalThresholdPower", "CYCLING_THRESHOLD_POWER", .power,
      "highest power that can be held for an hour of cycling", "FTP"),
    .reading(
      "CrossCountrySkiingSpeed", "CROSS_COUNTRY_SKIING_SPEED", .speed,
      "speed of cross-country skiing"),
    .reading("PaddleSportsSpeed", "PADDLE_SPORTS_SPEED", .speed, "speed of paddling"),
    .reading("RowingSpeed", "ROWING_SPEED", .speed, "speed of rowing"),
    .reading("UnderwaterDepth", "UNDERWATER_DEPTH", .length, "depth under water"),
  ]

  static let body: [HealthType] = [
    .reading("BodyMass", "WEIGHT", .mass, "body weight"),
    .reading("BodyMassIndex", "BODY_MASS_INDEX", .number, "body mass index in kg/m²", "BMI"),
    .reading("BodyFatPercentage", "BODY_FAT_PERCENTAGE", .share, "body fat", "BODY_FAT"),
    .reading("LeanBodyMass", "LEAN_BODY_MASS", .mass, "weight without fat"),
    .reading("Height", "HEIGHT", .length, "body height"),
    .reading("WaistCircumference", "WAIST_CIRCUMFERENCE", .length, "girth of the waist"),
    .reading("BodyTemperature", "BODY_TEMPERATURE", .temperature, "body temperature"),
    .reading(
      "BasalBodyTemperature", "BASAL_BODY_TEMPERATURE", .temperature,
      "temperature at waking, for the cycle"),
    .reading(
      "AppleSleepingWristTemperature", "WRIST_TEMPERATURE", .temperature,
      "temperature of the wrist during sleep", "SLEEPING_WRIST_TEMPERATURE"),
    .reading(
      "ElectrodermalActivity", "ELECTRODERMAL_ACTIVITY", .conductance, "conductance of the skin"),
  ]

  static let heart: [HealthType] = [
    .reading("HeartRate", "HEART_RATE", .beats, "heart rate at all times", isHeld: true),
    .reading("RestingHeartRate", "RESTING_HEART_RATE", .beats, "heart rate at rest, once a day"),
    .reading(
      "WalkingHeartRateAverage", "WALKING_HEART_RATE", .beats,
      "heart rate when walking, once a day",
      isHeld: true),
    .reading(
      "HeartRateRecoveryOneMinute", "HEART_RATE_RECOVERY", .beats,
      "fall of the heart rate in the minute after exercise"),
    .reading(
      "HeartRateVariabilitySDNN", "HRV", .interval, "heart rate variability (SDNN)",
      type: "HEART_RATE_VARIABILITY_SDNN", "HEART_RATE_VARIABILITY"),
    .reading(
      "AtrialFibrillationBurden", "ATRIAL_FIBRILLATION_BURDEN", .share,
      "share of time in atrial fibrillation, once a week", isHeld: true, "AFIB_BURDEN"),
    .reading(
      "BloodPressureSystolic", "BLOOD_PRESSURE_SYSTOLIC", .pressure, "upper blood pressure"),
    .reading(
      "BloodPressureDiastolic", "BLOOD_PRESSURE_DIASTOLIC", .pressure, "lower blood pressure"),
    .reading(
      "PeripheralPerfusionIndex", "PERIPHERAL_PERFUSION_INDEX", .share,
      "strength of the pulse at the sensor"),
    .reading(
      "BloodGlucose", "GLUCOSE", .glucose, "blood glucose", type: "BLOOD_GLUCOSE", "BLOOD_SUGAR"),
    .amount("InsulinDelivery", "INSULIN", .insulin, "insulin delivered"),
    .reading("BloodAlcoholContent", "BLOOD_ALCOHOL", .share, "alcohol in the blood"),
  ]

  static let breathing: [HealthType] = [
    .reading("OxygenSaturation", "BLOOD_OXYGEN", .share, "oxygen saturation of the blood", "SPO2"),
    .reading("RespiratoryRate", "RESPIRATORY_RATE", .breaths, "breaths a minute, mostly asleep"),
    .reading(
      "AppleSleepingBreathingDisturbances", "BREATHING_DISTURBANCES", .number,
      "disturbed breaths of a night"),
    .reading("ForcedVitalCapacity", "FORCED_VITAL_CAPACITY", .volume, "air of a full breath out"),
    .reading(
      "ForcedExpiratoryVolume1", "FORCED_EXPIRATORY_VOLUME", .volume,
      "air of the first second of a full breath out", "FEV1"),
    .reading(
      "PeakExpiratoryFlowRate", "PEAK_EXPIRATORY_FLOW", .flow, "fastest flow of a breath out"),
    .amount("InhalerUsage", "INHALER_USAGE", .number, "puffs of an inhaler"),
  ]

  static let mobility: [HealthType] = [
    .reading("WalkingSpeed", "WALKING_SPEED", .speed, "speed of walking on level ground"),
    .reading("WalkingStepLength", "WALKING_STEP_LENGTH", .length, "length of a step"),
    .reading(
      "WalkingAsymmetryPercentage", "WALKING_ASYMMETRY", .share, "share of steps that are uneven"),
    .reading(
      "WalkingDoubleSupportPercentage", "WALKING_DOUBLE_SUPPORT", .share,
      "share of walking with both feet on the ground"),
    .reading(
      "AppleWalkingSteadiness", "WALKING_STEADINESS", .share, "steadiness; low means a risk to fall"
    ),
    .reading(
      "SixMinuteWalkTestDistance", "SIX_MINUTE_WALK", .length, "distance walked in six minutes"),
    .reading("StairAscentSpeed", "STAIR_ASCENT_SPEED", .speed, "speed of going upstairs"),
    .reading("StairDescentSpeed", "STAIR_DESCENT_SPEED", .speed, "speed of going downstairs"),
    .amount("NumberOfTimesFallen", "FALLS", .count, "falls"),
  ]

  static let hearing: [HealthType] = [
    .reading(
      "EnvironmentalAudioExposure", "ENVIRONMENTAL_SOUND", .sound,
      "loudness around; AVERAGE is of the readings"),
    .reading(
      "HeadphoneAudioExposure", "HEADPHONE_SOUND", .sound,
      "loudness of headphones; AVERAGE is of the readings"),
    .reading(
      "EnvironmentalSoundReduction", "SOUND_REDUCTION", .sound,
      "how much quieter headphones make it; AVERAGE is of the readings"),
  ]

  static let other: [HealthType] = [
    .amount("TimeInDaylight", "TIME_IN_DAYLIGHT", .time, "minutes in daylight"),
    .amount(
      "NumberOfAlcoholicBeverages", "ALCOHOLIC_DRINKS", .number, "alcoholic drinks", "ALCOHOL"),
    .reading("UVExposure", "UV_EXPOSURE", .number, "UV index"),
    .reading("WaterTemperature", "WATER_TEMPERATURE", .temperature, "temperature of water"),
    HealthType(
      identifier: "HKDataTypeSleepDurationGoal", word: "SLEEP_DURATION_GOAL",
      type: "SLEEP_DURATION_GOAL", otherWords: [], form: .reading(.time),
      meaning: "goal for time asleep a night"),
  ]

  static let food: [HealthType] =
    [
      .amount("DietaryWater", "WATER", .volume, "water drunk"),
      .amount(
        "DietaryEnergyConsumed", "DIETARY_ENERGY", .energy, "energy eaten", "DIETARY_CALORIES"),
      .amount("DietaryCaffeine", "DIETARY_CAFFEINE", .milligram, "caffeine", "CAFFEINE"),
    ]
    + food(
      .gram,
      [
        ("Protein", "protein"), ("Carbohydrates", "carbohydrates"), ("FatTotal", "fat"),
        ("FatSaturated", "saturated fat"), ("FatMonounsaturated", "monounsaturated fat"),
        ("FatPolyunsaturated", "polyunsaturated fat"), ("Fiber", "fibre"), ("Sugar", "sugar"),
      ])
    + food(
      .milligram,
      [
        ("Cholesterol", "cholesterol"), ("Sodium", "sodium"), ("Potassium", "potassium"),
        ("Calcium", "calcium"), ("Iron", "iron"), ("Magnesium", "magnesium"),
        ("Phosphorus", "phosphorus"), ("Zinc", "zinc"), ("Copper", "copper"),
        ("Manganese", "manganese"), ("Chloride", "chloride"), ("VitaminB6", "vitamin B6"),
        ("VitaminC", "vitamin C"), ("VitaminE", "vitamin E"), ("Thiamin", "thiamin (B1)"),
        ("Riboflavin", "riboflavin (B2)"), ("Niacin", "niacin (B3)"),
        ("PantothenicAcid", "pantothenic acid (B5)"),
      ])
    + food(
      .microgram,
      [
        ("VitaminA", "vitamin A"), ("VitaminB12", "vitamin B12"), ("VitaminD", "vitamin D"),
        ("VitaminK", "vitamin K"), ("Folate", "folate"), ("Biotin", "biotin"),
        ("Iodine", "iodine"), ("Selenium", "selenium"), ("Chromium", "chromium"),
        ("Molybdenum", "molybdenum"),
      ])

  /// Returns the types of nutrients with a common unit.
  private static func food(
    _ dimension: Dimension, _ names: [(name: String, meaning: String)]
  ) -> [HealthType] {
    names.map { name, meaning in
      HealthType(
        identifier: quantityPrefix + "Dietary" + name, word: "DIETARY_" + name.capitalWords,
        type: "DIETARY_" + name.capitalWords, otherWords: [name], form: .amount(dimension),
        meaning: meaning + " eaten")
    }
  }
}
