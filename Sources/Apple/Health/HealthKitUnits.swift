#if canImport(HealthKit)
  import HoldfastHealth

  /// The units in which quantities are read from HealthKit.
  ///
  /// An export of the Health app has the units of the user's settings. An app that also imports
  /// exports chooses the same units, so that an exported and a live sample have the same key.
  public struct HealthKitUnits: Sendable, Hashable {
    /// The units of each quantity type that can be read. The first one is used by default.
    ///
    /// The defaults of synced types are the units of their records. HealthKit raises an exception
    /// for a unit that it cannot parse, so only units of this table are ever used.
    public static let choices: [String: [String]] = HealthType.all.reduce(into: [:]) { all, type in
      guard type.identifier.hasPrefix(HealthKitTypes.quantityPrefix) else { return }
      // Apple does not say whether a frequency fits a count per time.
      let units = type.healthKitUnits.filter { $0 != "Hz" }
      let usual = usual[HealthType.shortName(of: type.identifier)]
      all[type.identifier] = (usual.map { [$0] } ?? []) + units.filter { $0 != usual }
    }

    /// The defaults that are not the unit of answers.
    private static let usual = [
      "BodyMass": "lb", "Height": "cm", "DistanceWalkingRunning": "km", "WalkingSpeed": "km/hr",
      "DietaryWater": "mL",
    ]

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
