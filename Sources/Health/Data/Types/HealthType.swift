import HoldfastHealthSamples

/// A type of sample that HealthKit has: its words, the unit of its values, and the way in which they
/// combine.
package struct HealthType: Sendable, Hashable {
  /// The meaning of the values, and the way in which they combine (`HKQuantityAggregationStyle`).
  enum Form: Sendable, Hashable {
    /// Amounts that add up (`cumulative`).
    case amount(Dimension)
    /// Readings that do not add up (`discreteArithmetic`, `discreteEquivalentContinuousLevel`).
    case reading(Dimension)
    /// Readings that are weighted by time (`discreteTemporallyWeighted`).
    case heldReading(Dimension)
    /// Events, each with one of the values.
    case event(CategoryValues)
    /// Sessions whose length counts.
    case minutes
    case sleep
    case workout
  }

  /// HealthKit's identifier, such as `HKQuantityTypeIdentifierBodyMass`.
  package let identifier: String
  /// The word by which an assistant asks for the type, such as `WEIGHT`.
  package let word: String
  /// The name of the type in points.
  let type: String
  /// The other words by which an assistant may ask for the type.
  let otherWords: [String]
  let form: Form
  /// A line that says what the type holds.
  package let meaning: String

  /// The kind of the type's samples when they are asked for by the type's own word.
  var kind: HealthKind {
    var kind = HealthKind(identifier: identifier, type: type, measure: .minutes, rule: .atStart)
    switch form {
    case .amount(let dimension): (kind.measure, kind.rule) = (.quantity(dimension), .spread)
    case .reading(let dimension): kind.measure = .quantity(dimension)
    case .heldReading(let dimension): (kind.measure, kind.isHeld) = (.quantity(dimension), true)
    case .event(let values): kind.measure = .event(values)
    case .minutes: kind.rule = .atMiddle
    case .sleep: (kind.measure, kind.rule) = (.sleep, .atEnd)
    case .workout: (kind.measure, kind.rule) = (.workout, .atMiddle)
    }
    return kind
  }

  /// The unit of the values in answers, or `nil` if they have no common unit.
  package var unit: String? {
    switch form {
    case .amount(let dimension), .reading(let dimension), .heldReading(let dimension):
      dimension.unit
    case .minutes, .sleep: Dimension.time.unit
    case .event, .workout: nil
    }
  }

  /// The units of the quantities in HealthKit's spelling, the unit of answers first. There are none
  /// for categories and workouts.
  package var healthKitUnits: [String] {
    switch form {
    case .amount(let dimension), .reading(let dimension), .heldReading(let dimension):
      dimension.healthKitUnits
    case .event, .minutes, .sleep, .workout: []
    }
  }

  /// Returns HealthKit's name of a category's value, or `nil` if the number has no name.
  package func valueName(_ number: Int) -> String? {
    switch form {
    case .event(let values): values.fullName(number)
    case .sleep: CategoryValues.sleep.fullName(number)
    case .minutes: CategoryValues.none.fullName(number)
    case .amount, .reading, .heldReading, .workout: nil
    }
  }
}

extension HealthType {
  /// All types that this version knows, by topic.
  package static let all: [HealthType] =
    activity + body + heart + breathing + mobility + hearing + food + other + sessions + cycle
    + symptoms + events

  /// Returns the type with an identifier of HealthKit, or `nil` if it is unknown.
  package static func named(_ identifier: String) -> HealthType? { byIdentifier[identifier] }

  private static let byIdentifier = Dictionary(
    all.map { ($0.identifier, $0) }, uniquingKeysWith: { first, _ in first })

  static let quantityPrefix = "HKQuantityTypeIdentifier"
  static let categoryPrefix = "HKCategoryTypeIdentifier"
  private static let prefixes = [
    quantityPrefix, categoryPrefix, "HKDataTypeIdentifier", "HKDataType",
    "HKScoredAssessmentTypeIdentifier", "HKCorrelationTypeIdentifier", "HKWorkoutTypeIdentifier",
  ]

  /// Returns an identifier without HealthKit's prefix.
  package static func shortName(of identifier: String) -> String {
    for prefix in prefixes
    where identifier.hasPrefix(prefix) && identifier.utf8.count > prefix.utf8.count {
      return String(identifier.dropFirst(prefix.count))
    }
    return identifier == HealthSample.workoutType ? "Workout" : identifier
  }

  /// Returns the word of a type, also of one that this version does not know.
  package static func word(of identifier: String) -> String {
    named(identifier)?.word ?? shortName(of: identifier).capitalWords
  }

  /// Returns a sentence part that says what a type holds.
  package static func meaning(of identifier: String) -> String {
    named(identifier)?.meaning ?? "a type that this version does not know: \(identifier)"
  }

  /// Returns the kind of a type that this version does not know.
  static func unknownKind(_ identifier: String) -> HealthKind {
    let isQuantity = identifier.hasPrefix(quantityPrefix)
    // Everything that was eaten adds up.
    let isFood = identifier.hasPrefix(quantityPrefix + "Dietary")
    return HealthKind(
      identifier: identifier, type: word(of: identifier),
      measure: isQuantity ? .quantity(.own) : .event(.unknown), rule: isFood ? .spread : .atStart)
  }

  // MARK: Rows of the tables

  /// Creates an amount. `name` is HealthKit's identifier without its prefix.
  static func amount(
    _ name: String, _ word: String, _ dimension: Dimension, _ meaning: String,
    type: String? = nil, _ otherWords: String...
  ) -> HealthType {
    HealthType(
      identifier: quantityPrefix + name, word: word, type: type ?? word, otherWords: otherWords,
      form: .amount(dimension), meaning: meaning)
  }

  /// Creates a reading.
  static func reading(
    _ name: String, _ word: String, _ dimension: Dimension, _ meaning: String,
    type: String? = nil, isHeld: Bool = false, _ otherWords: String...
  ) -> HealthType {
    HealthType(
      identifier: quantityPrefix + name, word: word, type: type ?? word, otherWords: otherWords,
      form: isHeld ? .heldReading(dimension) : .reading(dimension), meaning: meaning)
  }

  /// Creates a type of event.
  static func event(
    _ name: String, _ word: String, _ values: CategoryValues, _ meaning: String,
    _ otherWords: String...
  ) -> HealthType {
    HealthType(
      identifier: categoryPrefix + name, word: word, type: word, otherWords: otherWords,
      form: .event(values), meaning: meaning)
  }

  /// Creates a symptom, whose word is its name.
  static func symptom(
    _ name: String, _ meaning: String, _ values: CategoryValues = .severity
  ) -> HealthType {
    event(name, name.capitalWords, values, "symptom: " + meaning)
  }
}

extension String {
  /// The words of a name that HealthKit writes together, in capitals: `VO2Max` becomes `VO2_MAX`.
  var capitalWords: String {
    let letters = Array(unicodeScalars)
    var word = ""
    for (index, letter) in letters.enumerated() {
      let isCapital = ("A"..."Z").contains(letter)
      if isCapital, index > 0 {
        let before = letters[index - 1]
        let isNext = index + 1 < letters.count && ("a"..."z").contains(letters[index + 1])
        let endsWord = ("a"..."z").contains(before) || ("0"..."9").contains(before)
        if endsWord || (("A"..."Z").contains(before) && isNext) { word += "_" }
      }
      word.unicodeScalars.append(letter)
    }
    return word.uppercased()
  }
}
