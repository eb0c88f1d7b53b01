/// A word by which an assistant asks for health data. It stands for one or more types of sample.
///
/// The sixteen words of the original app are constants. Every other type of HealthKit has a word of
/// its own, such as `RESTING_HEART_RATE`. A type that this version does not know has a word that is
/// made from its identifier: `HKQuantityTypeIdentifierNewThing` becomes `NEW_THING`.
public struct HealthValueType: RawRepresentable, Sendable, Hashable, Codable, CaseIterable {
  /// The word, in capitals.
  public let rawValue: String

  private init(known word: String) { rawValue = word }

  /// Creates a value type from its word in any letter case, from another name of the type, or from
  /// HealthKit's identifier.
  ///
  /// Returns `nil` if the text cannot be a word. Whether an unknown word stands for a type is known
  /// only to the store with the samples.
  public init?(rawValue text: String) {
    guard (1...Self.maxBytes).contains(text.utf8.count), text.utf8.allSatisfy(Self.isAllowed) else {
      return nil
    }
    let letters = Self.letters(of: text)
    guard letters.utf8.contains(where: { $0 >= UInt8(ascii: "A") }) else { return nil }
    rawValue = Self.words[letters] ?? Self.unknown(text)
  }

  /// The maximum length of a word, in bytes. The limit is Holdfast's own. The longest identifier has
  /// 63 bytes.
  private static let maxBytes = 128

  private static func isAllowed(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "-"),
      UInt8(ascii: " "):
      true
    case _: false
    }
  }

  /// Returns the letters and digits of a text in capitals. Models write words in several ways.
  static func letters(of text: String) -> String {
    String(text.uppercased().filter { $0.isLetter || $0.isNumber })
  }

  /// Returns the word of a text that stands for no known type.
  private static func unknown(_ text: String) -> String {
    let name = HealthType.shortName(of: text)
    let isIdentifier = name != text && name.contains(where: \.isLetter)
    let word = isIdentifier ? name.capitalWords : text.uppercased()
    return String(word.map { $0 == "-" || $0 == " " ? "_" : $0 })
  }

  /// The known words, by the letters of all their spellings.
  private static let words: [String: String] = {
    var words: [String: String] = [:]
    for word in groups.keys { words[letters(of: word)] = word }
    for type in HealthType.all {
      let name = HealthType.shortName(of: type.identifier)
      for other in [type.word, type.type, name, type.identifier] + type.otherWords {
        let letters = letters(of: other)
        words[letters] = words[letters] ?? type.word
      }
    }
    return words
  }()
}

extension HealthValueType {
  /// The number of steps.
  public static let steps = HealthValueType(known: "STEPS")
  /// Heart rates, and resting heart rates beside them.
  public static let heartRate = HealthValueType(known: "HEART_RATE")
  /// The variability of the heart rate (SDNN).
  public static let heartRateVariability = HealthValueType(known: "HRV")
  /// The active energy.
  public static let calories = HealthValueType(known: "CALORIES")
  /// The oxygen saturation of the blood.
  public static let bloodOxygen = HealthValueType(known: "BLOOD_OXYGEN")
  /// The systolic and the diastolic blood pressure.
  public static let bloodPressure = HealthValueType(known: "BLOOD_PRESSURE")
  /// The temperature of the body.
  public static let bodyTemperature = HealthValueType(known: "BODY_TEMPERATURE")
  /// Weight, height, body fat, water and nutrition.
  public static let bodyMetrics = HealthValueType(known: "BODY_METRICS")
  /// The glucose in the blood.
  public static let glucose = HealthValueType(known: "GLUCOSE")
  /// The minutes of exercise.
  public static let exerciseTime = HealthValueType(known: "EXERCISE_TIME")
  /// Breaths a minute.
  public static let respiratoryRate = HealthValueType(known: "RESPIRATORY_RATE")
  /// The speed of walking.
  public static let walkingSpeed = HealthValueType(known: "WALKING_SPEED")
  /// Nights and naps, with their stages.
  public static let sleep = HealthValueType(known: "SLEEP")
  /// Mindful minutes.
  public static let mindfulness = HealthValueType(known: "MINDFULNESS")
  /// Workouts of every kind.
  public static let workout = HealthValueType(known: "WORKOUT")
  /// The distance walked and run.
  public static let distance = HealthValueType(known: "DISTANCE")

  /// The sixteen words of the original app.
  public static let allCases: [HealthValueType] = [
    steps, heartRate, heartRateVariability, calories, bloodOxygen, bloodPressure, bodyTemperature,
    bodyMetrics, glucose, exerciseTime, respiratoryRate, walkingSpeed, sleep, mindfulness, workout,
    distance,
  ]

  /// All words that this version knows, in alphabetical order.
  package static let known: [HealthValueType] =
    Set(HealthType.all.map(\.word)).union(groups.keys).sorted().map { HealthValueType(known: $0) }

  /// The words that most questions use. Descriptions of tools explain them.
  package static let usual: [HealthValueType] = [
    "STEPS", "DISTANCE", "CALORIES", "BASAL_ENERGY", "EXERCISE_TIME", "STAND_HOURS",
    "FLIGHTS_CLIMBED", "DISTANCE_CYCLING", "WORKOUT", "SLEEP", "MINDFULNESS", "HEART_RATE",
    "RESTING_HEART_RATE", "WALKING_HEART_RATE", "HRV", "VO2_MAX", "BLOOD_PRESSURE", "BLOOD_OXYGEN",
    "RESPIRATORY_RATE", "BODY_TEMPERATURE", "WRIST_TEMPERATURE", "GLUCOSE", "WALKING_SPEED",
    "WEIGHT", "HEIGHT", "BODY_FAT_PERCENTAGE", "WATER", "DIETARY_ENERGY", "NUTRITION",
    "BODY_METRICS", "MENSTRUAL_FLOW",
  ].map { HealthValueType(known: $0) }

  /// A few words that say what a known word holds, with its unit.
  package var summary: String {
    if let meaning = Self.groupMeanings[rawValue] { return meaning }
    guard let type = HealthType.all.first(where: { $0.word == rawValue }) else { return "" }
    // A count says nothing about what is counted.
    guard let unit = type.unit, unit != Dimension.count.unit, unit != Dimension.number.unit else {
      return type.meaning
    }
    return "\(type.meaning), \(unit)"
  }

  private static let groupMeanings = [
    "HEART_RATE": "at all times, with the resting one, beatsPerMinute",
    "BLOOD_PRESSURE": "upper and lower, millimeterOfMercury",
    "BODY_METRICS": "WEIGHT, HEIGHT, BODY_FAT_PERCENTAGE, WATER and NUTRITION at once",
    "NUTRITION": "energy, protein, carbs and fat eaten, in one point",
  ]

  /// Whether this version knows the word.
  package var isKnown: Bool { !kinds.isEmpty }

  /// The words that stand for several types.
  private static let groups: [String: [HealthKind]] = [
    "HEART_RATE": kinds(of: ["HeartRate", "RestingHeartRate"]),
    "BLOOD_PRESSURE": kinds(of: ["BloodPressureSystolic", "BloodPressureDiastolic"]),
    "BODY_METRICS": kinds(of: ["BodyMass", "Height", "BodyFatPercentage", "DietaryWater"])
      + HealthKind.nutrients,
    "NUTRITION": HealthKind.nutrients,
  ]

  private static func kinds(of names: [String]) -> [HealthKind] {
    names.compactMap { HealthType.named(HealthType.quantityPrefix + $0)?.kind }
  }

  private static let ownKinds = Dictionary(
    HealthType.all.map { ($0.word, $0.kind) }, uniquingKeysWith: { first, _ in first })

  /// The kinds in the answer for this value type, in the order in which they are listed. An unknown
  /// word has none.
  var kinds: [HealthKind] {
    Self.groups[rawValue] ?? Self.ownKinds[rawValue].map { [$0] } ?? []
  }

  /// Returns the kinds in the answer from a store. An unknown word stands for a type of the store
  /// whose identifier has the same letters.
  func kinds(in stored: StoredHealth) -> [HealthKind] {
    let kinds = kinds
    guard kinds.isEmpty else { return kinds }
    let letters = Self.letters(of: rawValue)
    return stored.lastSamples.keys.sorted().filter { identifier in
      HealthType.named(identifier) == nil
        && [HealthType.shortName(of: identifier), identifier]
          .contains { Self.letters(of: $0) == letters }
    }.map { HealthType.unknownKind($0) }
  }

  /// Returns what to ask for instead of this word: what people mean by it or by a part of it, then
  /// the known words that are most similar to it.
  ///
  /// - Parameter others: Further words, which are those of unknown types in the store.
  func nearest(among others: [String] = [], atMost count: Int = 5) -> [String] {
    let parts = rawValue.split(separator: "_").map(String.init)
    let whole = CommonWords.meanings(of: rawValue)
    let meant = whole.isEmpty ? parts.flatMap { CommonWords.meanings(of: $0) } : whole
    let own = Set(parts)
    let ranked = (Self.known.map(\.rawValue) + others).compactMap { word -> SimilarWord? in
      let theirs = Set(word.split(separator: "_").map(String.init))
      let shared = own.intersection(theirs).count
      guard shared > 0 || meant.isEmpty else { return nil }
      let distance = Self.distance(Array(rawValue.utf8), Array(word.utf8))
      // A word that is a part of this one is likely to be meant.
      let cost = distance - 4 * shared - (theirs.isSubset(of: own) ? 6 : 0)
      return SimilarWord(word: word, cost: cost, isClose: whole.isEmpty && shared > 1)
    }
    let similar = ranked.sorted { ($0.cost, $0.word) < ($1.cost, $1.word) }
    let close = similar.filter(\.isClose).map(\.word)
    var found: [String] = []
    for word in close + meant + similar.map(\.word) where !found.contains(word) {
      found.append(word)
      if found.count == count { break }
    }
    return found
  }

  /// A known word that resembles an unknown one.
  private struct SimilarWord {
    var word: String
    /// The lower, the more similar.
    var cost: Int
    /// Whether the two share more than one part.
    var isClose: Bool
  }

  /// Returns the number of letters to insert, remove or replace to get from one word to the other.
  private static func distance(_ one: [UInt8], _ other: [UInt8]) -> Int {
    var row = Array(0...other.count)
    for (line, letter) in one.enumerated() {
      var diagonal = row[0]
      row[0] = line + 1
      for (column, opposite) in other.enumerated() {
        let replaced = diagonal + (letter == opposite ? 0 : 1)
        diagonal = row[column + 1]
        row[column + 1] = min(replaced, diagonal + 1, row[column] + 1)
      }
    }
    return row[other.count]
  }
}
