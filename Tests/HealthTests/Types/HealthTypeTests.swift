import HoldfastCore
import Testing

@testable import HoldfastHealth

/// Tests of the table of types, and of the words by which they are asked for.
@Suite struct HealthTypeTests {
  @Test func `each type has an identifier and a word of its own, and a short meaning`() {
    #expect(Set(HealthType.all.map(\.identifier)).count == HealthType.all.count)
    #expect(Set(HealthType.all.map(\.word)).count == HealthType.all.count)
    for type in HealthType.all {
      #expect(type.word.wholeMatch(of: /[A-Z][A-Z0-9]*(_[A-Z0-9]+)*/) != nil, "\(type.word)")
      #expect((3...72).contains(type.meaning.count), "\(type.word)")
      #expect(HealthType.named(type.identifier) == type)
    }
  }

  @Test func `every spelling of a type leads to its word`() {
    for type in HealthType.all {
      let name = HealthType.shortName(of: type.identifier)
      for text in [type.word, type.word.lowercased(), type.type, name, type.identifier]
        + type.otherWords
      {
        #expect(HealthValueType(rawValue: text)?.rawValue == type.word, "\(text)")
      }
    }
  }

  @Test(arguments: [
    ("heart rate variability", "HRV"), ("VO2MAX", "VO2_MAX"), ("vo2-max", "VO2_MAX"),
    ("active_energy", "CALORIES"), ("bmi", "BODY_MASS_INDEX"), ("Protein", "DIETARY_PROTEIN"),
    ("HKQUANTITYTYPEIDENTIFIERSTEPCOUNT", "STEPS"), ("nutrition", "NUTRITION"),
    ("HKQuantityTypeIdentifierNewThing2Do", "NEW_THING2_DO"), ("new-thing", "NEW_THING"),
    ("HKCategoryTypeIdentifierNew", "NEW"),
  ])
  func `words are read in the ways in which people and programs write them`(
    text: String, word: String
  ) {
    #expect(HealthValueType(rawValue: text)?.rawValue == word)
  }

  @Test func `the sixteen words of the original app have the same kinds as ever`() {
    #expect(HealthValueType.allCases.count == 16)
    let kinds = HealthValueType.allCases.map { type in
      type.kinds.map { "\($0.type) \($0.answerDimension.unit)" }.joined(separator: ", ")
    }
    #expect(
      kinds == [
        "STEPS count", "HEART_RATE beatsPerMinute, RESTING_HEART_RATE beatsPerMinute",
        "HEART_RATE_VARIABILITY_SDNN millisecond", "ACTIVE_ENERGY_BURNED kilocalorie",
        "BLOOD_OXYGEN percentage",
        "BLOOD_PRESSURE_SYSTOLIC millimeterOfMercury, BLOOD_PRESSURE_DIASTOLIC millimeterOfMercury",
        "BODY_TEMPERATURE degreeCelsius",
        "WEIGHT kilogram, HEIGHT meter, BODY_FAT_PERCENTAGE percentage, WATER liter, "
          + "NUTRITION noUnit, NUTRITION noUnit, NUTRITION noUnit, NUTRITION noUnit",
        "BLOOD_GLUCOSE milligramPerDeciliter", "EXERCISE_TIME minute",
        "RESPIRATORY_RATE respirationsPerMinute", "WALKING_SPEED meterPerSecond",
        "SLEEP_SESSION minute", "MINDFULNESS minute", "WORKOUT noUnit",
        "DISTANCE_WALKING_RUNNING meter",
      ])
    #expect(HealthValueType.heartRate.kinds.map(\.isHeld) == [true, false])
  }

  @Test func `a word has at most 128 bytes and a letter`() {
    #expect(HealthValueType(rawValue: String(repeating: "A", count: 128)) != nil)
    #expect(HealthValueType(rawValue: String(repeating: "A", count: 129)) == nil)
    for text in ["", "_", "12", "a;b", "é", "a\n", "{}"] {
      #expect(HealthValueType(rawValue: text) == nil, "\(text)")
    }
  }

  @Test func `a word that was read is read again as the same word`() {
    var generator = RandomSource(seed: 7)
    let letters =
      "ABCxyz019_- ".map(String.init) + ["HKQuantityTypeIdentifier", "Dietary", "Iron", "é"]
    for _ in 0..<2_000 {
      let text = (0..<generator.next() % 12).map { _ in letters.randomElement(using: &generator) }
        .compactMap(\.self).joined()
      guard let word = HealthValueType(rawValue: text) else { continue }
      #expect(HealthValueType(rawValue: word.rawValue) == word, "\(text)")
    }
  }

  @Test(arguments: [
    ("VO2Max", "VO2_MAX"), ("HeartRateVariabilitySDNN", "HEART_RATE_VARIABILITY_SDNN"),
    ("DietaryVitaminB12", "DIETARY_VITAMIN_B12"), ("UVExposure", "UV_EXPOSURE"),
    ("Acne", "ACNE"), ("", ""), ("alreadyLow", "ALREADY_LOW"),
  ])
  func `names are divided into words`(name: String, words: String) {
    #expect(name.capitalWords == words)
  }

  @Test func `the nearest words share parts of the word`() throws {
    func nearest(_ word: String) throws -> [String] {
      try #require(HealthValueType(rawValue: word)).nearest()
    }
    #expect(try nearest("RESTING_HEART").first == "RESTING_HEART_RATE")
    #expect(try nearest("STEPZ").first == "STEPS")
    #expect(try nearest("MENSTRUATION_FLOW").first == "MENSTRUAL_FLOW")
    #expect(try nearest("SLEEP_QUALITY").first == "SLEEP")
    #expect(try nearest("X").count == 5)
  }

  @Test(arguments: [
    ("JOGGING", "WORKOUT with workout_type RUNNING"), ("PULSE", "HEART_RATE"),
    ("BP", "BLOOD_PRESSURE"), ("CALORIES_BURNED", "CALORIES"), ("my periods", "MENSTRUAL_FLOW"),
    ("SWIMS", "WORKOUT with workout_type SWIMMING"), ("BODY_TEMP", "BODY_TEMPERATURE"),
    ("strength-training", "WORKOUT with workout_type STRENGTH_TRAINING"), ("stress", "HRV"),
    ("BIKING", "WORKOUT with workout_type BIKING"), ("exercises", "WORKOUT"),
  ])
  func `a word of people is answered with what they mean`(word: String, meant: String) throws {
    let type = try #require(HealthValueType(rawValue: word))
    #expect(!type.isKnown)
    #expect(type.nearest().first == meant)
    let reason = Shelf([]).answer(.healthData(ask(type, "2026-01-05", "2026-01-06"))).reason
    #expect(reason?.contains(" \(meant)") == true)
  }

  @Test func `words of people lead to known types, and are no types themselves`() {
    for (types, words) in CommonWords.table {
      for type in types.split(separator: " ") {
        #expect(HealthValueType(rawValue: String(type))?.rawValue == String(type), "\(type)")
        #expect(HealthValueType(rawValue: String(type))?.isKnown == true, "\(type)")
      }
      for word in words.split(separator: " ") {
        #expect(HealthValueType(rawValue: String(word))?.isKnown == false, "\(word)")
        #expect(CommonWords.meanings(of: String(word)).contains { types.hasPrefix($0) }, "\(word)")
      }
    }
  }

  @Test(arguments: [
    ("jogging", ["RUNNING"]), ("HKWorkoutActivityTypeYoga", ["YOGA"]),
    ("crosstraining", ["CROSS_TRAINING"]), ("Cycling", ["BIKING"]), ("rides", ["BIKING"]),
    ("weight lifting", ["TRADITIONAL_STRENGTH_TRAINING", "FUNCTIONAL_STRENGTH_TRAINING"]),
    ("HIIT", ["HIGH_INTENSITY_INTERVAL_TRAINING"]), ("chess boxing", ["CHESS_BOXING"]),
  ])
  func `kinds of workouts are named by the words of people`(word: String, kinds: [String]) {
    #expect(WorkoutKinds.named(word) == kinds)
  }

  @Test func `values of categories have names in every form in which they are stored`() {
    let flow = CategoryValues.bleeding
    for stored in ["HKCategoryValueMenstrualFlowHeavy", "HKCategoryValueVaginalBleedingHeavy", "4"]
    {
      #expect(flow.word(of: stored) == "HEAVY")
    }
    #expect(flow.word(of: "9") == "9")
    #expect(flow.word(of: "0") == "0")
    #expect(flow.word(of: "\(Int.min)") == "\(Int.min)")
    #expect(CategoryValues.severity.word(of: "HKCategoryValueSeverityNotPresent") == "NOT_PRESENT")
    #expect(
      HealthType.named("HKCategoryTypeIdentifierMenstrualFlow")?.valueName(2)
        == "HKCategoryValueVaginalBleedingLight")
    #expect(
      HealthType.named("HKCategoryTypeIdentifierLactation")?.valueName(0)
        == "HKCategoryValueNotApplicable")
  }
}
