import HoldfastHealthSamples

#if canImport(HealthKit)
  import HealthKit
  import HoldfastHealth

  /// The types that the adapters read from HealthKit.
  public enum HealthKitTypes {
    /// The identifiers of all types that can be read, in order: all quantities and categories that
    /// this version knows, and workouts.
    ///
    /// A system that is older than a type has no samples of it.
    public static let all: [String] = HealthType.all.map(\.identifier).filter { type in
      type == HealthSample.workoutType || type.hasPrefix(quantityPrefix)
        || type.hasPrefix(categoryPrefix)
    }.sorted()

    /// The identifiers of the types about which assistants usually ask, in order. They are the types
    /// to ask the user about, unless the app wants `all`, which also has symptoms and the cycle.
    public static let usual: [String] =
      ([
        "ActiveEnergyBurned", "AppleExerciseTime", "BasalEnergyBurned", "BloodGlucose",
        "BloodPressureDiastolic", "BloodPressureSystolic", "BodyFatPercentage", "BodyMass",
        "BodyTemperature", "DietaryCarbohydrates", "DietaryEnergyConsumed", "DietaryFatTotal",
        "DietaryProtein", "DietaryWater", "DistanceCycling", "DistanceSwimming",
        "DistanceWalkingRunning", "FlightsClimbed", "HeartRate", "HeartRateVariabilitySDNN",
        "Height", "OxygenSaturation", "RespiratoryRate", "RestingHeartRate", "StepCount", "VO2Max",
        "WalkingHeartRateAverage", "WalkingSpeed",
      ].map { quantityPrefix + $0 }
      + ["AppleStandHour", "MindfulSession", "SleepAnalysis"].map { categoryPrefix + $0 }
      + [HealthSample.workoutType]).sorted()

    /// Whether this version can read the type from a system that has it.
    static func isKnown(_ identifier: String) -> Bool { known.contains(identifier) }

    private static let known = Set(all)

    static let quantityPrefix = "HKQuantityTypeIdentifier"
    static let categoryPrefix = "HKCategoryTypeIdentifier"

    /// Returns HealthKit's object for an identifier, or `nil` if it is not the identifier of a type
    /// that can be read, or this system is older than the type.
    ///
    /// Every category can be read. A quantity can be read only if its unit is known.
    static func type(_ identifier: String) -> HKSampleType? {
      if identifier == HealthSample.workoutType { return HKObjectType.workoutType() }
      if HealthKitUnits.choices[identifier] != nil {
        return HKObjectType.quantityType(
          forIdentifier: HKQuantityTypeIdentifier(rawValue: identifier))
      }
      guard identifier.hasPrefix(categoryPrefix) else { return nil }
      return HKObjectType.categoryType(
        forIdentifier: HKCategoryTypeIdentifier(rawValue: identifier))
    }
  }

  /// The names that an export has for HealthKit's numbers.
  enum HealthKitNames {
    static let sleep = HealthKitTypes.categoryPrefix + "SleepAnalysis"
    static let mindfulness = HealthKitTypes.categoryPrefix + "MindfulSession"

    /// Returns the name of a category's value.
    ///
    /// A value without a known name keeps its number. It may come from a newer system.
    static func category(_ value: Int, of type: String) -> String {
      HealthType.named(type)?.valueName(value) ?? "\(value)"
    }

    /// Returns the name of a workout's activity.
    static func activity(_ number: UInt) -> String {
      // Apple's list has no activity 0.
      let name = number > 0 && number <= activities.count ? activities[Int(number) - 1] : ""
      return "HKWorkoutActivityType" + (name.isEmpty ? "Other" : name)
    }

    /// The activities from 1 on. An empty name stands for a number that Apple does not use.
    private static let activities = [
      "AmericanFootball", "Archery", "AustralianFootball", "Badminton", "Baseball", "Basketball",
      "Bowling", "Boxing", "Climbing", "Cricket", "CrossTraining", "Curling", "Cycling", "Dance",
      "DanceInspiredTraining", "Elliptical", "EquestrianSports", "Fencing", "Fishing",
      "FunctionalStrengthTraining", "Golf", "Gymnastics", "Handball", "Hiking", "Hockey", "Hunting",
      "Lacrosse", "MartialArts", "MindAndBody", "MixedMetabolicCardioTraining", "PaddleSports",
      "Play", "PreparationAndRecovery", "Racquetball", "Rowing", "Rugby", "Running", "Sailing",
      "SkatingSports", "SnowSports", "Soccer", "Softball", "Squash", "StairClimbing",
      "SurfingSports", "Swimming", "TableTennis", "Tennis", "TrackAndField",
      "TraditionalStrengthTraining", "Volleyball", "Walking", "WaterFitness", "WaterPolo",
      "WaterSports", "Wrestling", "Yoga", "Barre", "CoreTraining", "CrossCountrySkiing",
      "DownhillSkiing", "Flexibility", "HighIntensityIntervalTraining", "JumpRope", "Kickboxing",
      "Pilates", "Snowboarding", "Stairs", "StepTraining", "WheelchairWalkPace",
      "WheelchairRunPace", "TaiChi", "MixedCardio", "HandCycling", "DiscSports", "FitnessGaming",
      "CardioDance", "SocialDance", "Pickleball", "Cooldown", "", "SwimBikeRun", "Transition",
      "UnderwaterDiving",
    ]
  }
#endif
