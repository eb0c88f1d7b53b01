#if canImport(HealthKit)
  import HealthKit
  import HoldfastHealth

  /// The types that the adapters read from HealthKit.
  public enum HealthKitTypes {
    /// The identifiers of all types that can be read, in order: the quantities of `HealthKitUnits`,
    /// sleep, mindful sessions and workouts.
    public static let all: [String] =
      (HealthKitUnits.choices.keys
      + [HealthKitNames.sleep, HealthKitNames.mindfulness, HealthSample.workoutType]).sorted()

    static let quantityPrefix = "HKQuantityTypeIdentifier"
    static let categoryPrefix = "HKCategoryTypeIdentifier"

    /// Returns HealthKit's object for an identifier, or `nil` if it is not the identifier of a type
    /// that can be read.
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
