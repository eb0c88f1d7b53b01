#if canImport(HealthKit)
  /// The units in which quantities are read from HealthKit.
  ///
  /// An export of the Health app has the units of the user's settings. An app that also imports
  /// exports chooses the same units, so that an exported and a live sample have the same key.
  public struct HealthKitUnits: Sendable, Hashable {
    /// The units of each quantity type that can be read. The first one is used by default.
    ///
    /// The defaults of synced types are the units of their records. HealthKit raises an exception
    /// for a unit that it cannot parse, so only units of this table are ever used.
    public static let choices: [String: [String]] = [
      "StepCount": ["count"],
      "FlightsClimbed": ["count"],
      "HeartRate": beats,
      "RestingHeartRate": beats,
      "RespiratoryRate": beats,
      "HeartRateVariabilitySDNN": ["ms", "s"],
      "VO2Max": ["mL/min·kg"],
      "ActiveEnergyBurned": energies,
      "BasalEnergyBurned": energies,
      "OxygenSaturation": ["%"],
      "BodyFatPercentage": ["%"],
      "BloodPressureSystolic": ["mmHg", "kPa"],
      "BloodPressureDiastolic": ["mmHg", "kPa"],
      "BodyTemperature": ["degC", "degF", "K"],
      "BloodGlucose": ["mg/dL", "mmol<180.1558800000541>/L"],
      "BodyMass": ["lb", "kg", "st", "g"],
      "Height": ["cm", "m", "ft", "in"],
      "DistanceWalkingRunning": ["km", "mi", "m"],
      "WalkingSpeed": ["km/hr", "mi/hr", "m/s", "ft/s"],
      "AppleExerciseTime": ["min", "s", "hr"],
      "DietaryWater": ["mL", "L", "fl_oz_us", "fl_oz_imp"],
      "DietaryEnergyConsumed": energies,
      "DietaryProtein": ["g"],
      "DietaryCarbohydrates": ["g"],
      "DietaryFatTotal": ["g"],
    ].reduce(into: [:]) { $0[HealthKitTypes.quantityPrefix + $1.key] = $1.value }

    private static let beats = ["count/min", "count/s"]
    private static let energies = ["kcal", "Cal", "kJ"]

    private let chosen: [String: String]

    /// Creates a choice of units.
    ///
    /// - Parameter chosen: The units by HealthKit's identifiers. A unit that `choices` does not
    ///   contain for the type is ignored.
    public init(_ chosen: [String: String] = [:]) {
      self.chosen = chosen.filter { Self.choices[$0.key]?.contains($0.value) == true }
    }

    /// Returns the unit of a type, or `nil` if the type is not a quantity type of `choices`.
    public func unit(of type: String) -> String? {
      chosen[type] ?? Self.choices[type]?.first
    }
  }
#endif
