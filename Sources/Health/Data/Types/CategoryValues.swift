/// The values of a category type: an enumeration of HealthKit, whose cases have numbers.
package struct CategoryValues: Sendable, Hashable {
  /// The names of the enumeration after `HKCategoryValue`, the newest first.
  let names: [String]
  /// The number of the first value.
  let first: Int
  /// The names of the values in the order of their numbers.
  let values: [String]

  private init(_ names: [String], from first: Int, _ values: [String]) {
    (self.names, self.first, self.values) = (names, first, values)
  }

  private static let prefix = "HKCategoryValue"

  /// The words of the values in answers.
  var words: [String] { values.map(\.capitalWords) }

  /// Whether the value says more than that the event happened.
  var hasMeaning: Bool { values.count != 1 }

  /// Returns the word of a stored value. A value without a known name keeps its own.
  func word(of stored: String) -> String {
    if let number = Int(stored) { return name(number)?.capitalWords ?? stored }
    var name = stored.hasPrefix(Self.prefix) ? String(stored.dropFirst(Self.prefix.count)) : stored
    if let own = names.first(where: { name.hasPrefix($0) && name.utf8.count > $0.utf8.count }) {
      name = String(name.dropFirst(own.count))
    }
    return name.capitalWords
  }

  /// Returns HealthKit's name of a value, or `nil` if the number has no name.
  func fullName(_ number: Int) -> String? {
    name(number).map { Self.prefix + (names.first ?? "") + $0 }
  }

  private func name(_ number: Int) -> String? {
    let (index, overflow) = number.subtractingReportingOverflow(first)
    return !overflow && values.indices.contains(index) ? values[index] : nil
  }
}

extension CategoryValues {
  /// The only value of an event that has no further value (`HKCategoryValue`).
  static let none = CategoryValues([], from: 0, ["NotApplicable"])
  /// The values of a type that this version does not know.
  static let unknown = CategoryValues([], from: 0, [])
  static let sleep = CategoryValues(
    ["SleepAnalysis"], from: 0,
    ["InBed", "AsleepUnspecified", "Awake", "AsleepCore", "AsleepDeep", "AsleepREM"])
  static let standHour = CategoryValues(["AppleStandHour"], from: 0, ["Stood", "Idle"])
  static let severity = CategoryValues(
    ["Severity"], from: 0, ["Unspecified", "NotPresent", "Mild", "Moderate", "Severe"])
  static let presence = CategoryValues(["Presence"], from: 0, ["Present", "NotPresent"])
  static let appetite = CategoryValues(
    ["AppetiteChanges"], from: 0, ["Unspecified", "NoChange", "Decreased", "Increased"])
  /// The amount of bleeding. Before iOS 18 the enumeration had another name.
  static let bleeding = CategoryValues(
    ["VaginalBleeding", "MenstrualFlow"], from: 1,
    ["Unspecified", "Light", "Medium", "Heavy", "None"])
  static let mucus = CategoryValues(
    ["CervicalMucusQuality"], from: 1, ["Dry", "Sticky", "Creamy", "Watery", "EggWhite"])
  static let contraceptive = CategoryValues(
    ["Contraceptive"], from: 1,
    [
      "Unspecified", "Implant", "Injection", "IntrauterineDevice", "IntravaginalRing", "Oral",
      "Patch",
    ])
  static let ovulation = CategoryValues(
    ["OvulationTestResult"], from: 1,
    ["Negative", "LuteinizingHormoneSurge", "Indeterminate", "EstrogenSurge"])
  static let pregnancyTest = CategoryValues(
    ["PregnancyTestResult"], from: 1, ["Negative", "Positive", "Indeterminate"])
  static let progesteroneTest = CategoryValues(
    ["ProgesteroneTestResult"], from: 1, ["Negative", "Positive", "Indeterminate"])
  static let loudSurroundings = CategoryValues(
    ["EnvironmentalAudioExposureEvent", "AudioExposureEvent"], from: 1, ["MomentaryLimit"])
  static let loudHeadphones = CategoryValues(
    ["HeadphoneAudioExposureEvent"], from: 1, ["SevenDayLimit"])
  static let lowFitness = CategoryValues(["LowCardioFitnessEvent"], from: 1, ["LowFitness"])
  static let steadiness = CategoryValues(
    ["AppleWalkingSteadinessEvent"], from: 1,
    ["InitialLow", "InitialVeryLow", "RepeatLow", "RepeatVeryLow"])
}
