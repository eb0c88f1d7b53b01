// Random elements of an export.
extension RandomExport {
  typealias Attribute = (name: String, value: WrittenValue)

  private static let types = [
    "HKQuantityTypeIdentifierStepCount", "HKQuantityTypeIdentifierHeartRate", "t", "HKDataTypeX",
    "HKCategoryTypeIdentifierSleepAnalysis", "HKCategoryTypeIdentifierMindfulSession",
    "HKCategoryType", "HKCategoryTyp", "HKCategoryTypX", "XKCategoryType",
  ]
  static let elements = [
    "Me", "ActivitySummary", "ClinicalRecord", "Audiogram", "SensitivityPoint", "Attachment",
    "VisionPrescription", "RightEye", "LeftEye", "WorkoutEvent", "WorkoutRoute", "FileReference",
    "Location", "HeartRateVariabilityMetadataList", "InstantaneousBeatsPerMinute", "Thing", "_",
    "WorkoutEvenX", "XctivitySummary", "Workou", "Workouts", "workout", "Recor", "RecordX", "M",
    "WorkoutStatisticX", "ActivitySummarX", "é", "Z", "a:b", "zero", "Ex", "MetadataEntrY", "x-y",
    "Correlatio", "LeftEyes", "LocationX", "RightEy", "A",
  ]

  /// Draws a complete export.
  mutating func drawExport() {
    drawProlog()
    drawRoot()
    for _ in 0..<number(0...9) { drawElement() }
    if !happens(8) { end("HealthData") }
    if happens(4) { drawZone() }
    if happens(4) { addSkipped() }
  }

  /// Draws the parts that may come before the root.
  mutating func drawProlog() {
    if happens(3) { draft.add(.skipped(shown: 2), "<?xml version=\"1.0\"?>\n") }
    if happens(8) { draft.add(.skipped(shown: 0), "\u{FEFF} BZh PK") }
    if happens(4) { addSkipped() }
    if happens(12) { addBroken() }
    if happens(2) { addDefinition(canBreakOff: true) }
  }

  mutating func drawRoot() {
    var root = WrittenTag(name: "HealthData")
    if happens(2) { root.attributes = [("locale", written(one(["en_US", "ja", "de_CH"])))] }
    if happens(8) { root.attributes.append(("locale", text())) }
    add(root)
  }

  private mutating func drawElement() {
    switch number(0...19) {
    case 0...7: drawRecord()
    case 8...12: drawWorkout()
    case 13:
      add(WrittenTag(name: "Correlation", isEmpty: happens(4)))
      if happens(2) { drawRecord() }
      drawZone()
      end("Correlation")
    case 14: drawZone()
    case 15: element(one(Self.elements))
    case 16: end(one(["Record", "Workout", "WorkoutActivity", "Correlation", "Me", "X", ""]))
    case 17: addSkipped()
    case 18: happens(2) ? addBroken() : drawStatistics()
    case _:
      if happens(3) { return addDefinition(canBreakOff: false) }
      let date = date(seconds(), flawed: 6)
      add(WrittenTag(name: "ExportDate", attributes: happens(9) ? [] : [("value", date)]))
    }
  }

  /// Draws the attributes that records and workouts have in common.
  private mutating func common() -> [Attribute] {
    let from = seconds()
    let to = from + (happens(12) ? -1 : one([0, 0, 1, 60, 599, 86_400]))
    var attributes: [Attribute] = [("startDate", date(from)), ("endDate", date(to))]
    attributes.append(("sourceName", source()))
    if happens(3) { attributes.append(("device", device())) }
    if happens(2) { attributes.append(("creationDate", date(to, flawed: 20))) }
    return attributes
  }

  private mutating func source() -> WrittenValue {
    switch number(0...3) {
    case 0: text()
    case 1: written(one(["Anna’s Watch", "Phone", "a&b", "<<HKDevice: 0x28>, name:a>"]))
    case _: name()
    }
  }

  /// Removes or repeats an attribute with a probability of one in `once`.
  private mutating func flawed(_ attributes: [Attribute], once: UInt64) -> [Attribute] {
    guard happens(once) else { return attributes }
    var attributes = attributes
    let index = number(0...attributes.count - 1)
    if happens(2) {
      attributes.remove(at: index)
    } else {
      attributes.insert((attributes[index].name, text()), at: number(0...attributes.count))
    }
    return attributes
  }

  mutating func drawRecord() {
    let type = one(Self.types)
    var attributes = common()
    attributes.append(("type", happens(8) ? text() : WrittenValue(type)))
    attributes.append(("value", type.hasPrefix("HKCategoryType") ? category() : figure()))
    if happens(2) {
      attributes.append(("unit", happens(3) ? text() : written(one(["count", "count/min", "°C"]))))
    }
    let isEmpty = happens(2)
    let record = flawed(attributes, once: 10)
    add(WrittenTag(name: "Record", attributes: record, isEmpty: isEmpty))
    guard !isEmpty else { return }
    for _ in 0..<number(0...3) {
      switch number(0...5) {
      case 0...1: drawZone()
      case 2: element(one(["InstantaneousBeatsPerMinute", "HeartRateVariabilityMetadataList"]))
      case 3: element(one(Self.elements))
      case _: addSkipped()
      }
    }
    if !happens(6) { end("Record") }
  }

  private mutating func category() -> WrittenValue {
    happens(4)
      ? text() : written(one(["HKCategoryValueSleepAnalysisAsleepREM", "HKCategoryValueX", ""]))
  }

  mutating func drawZone() {
    let key = one([
      "HKTimeZone", "HKTimeZone", "HKTimeZone", "HKTimeZonE", "HKTimeZones", "HKTimeZ",
    ])
    var attributes: [Attribute] = [("key", WrittenValue(key))]
    if !happens(8) {
      attributes.append(
        ("value", happens(3) ? text() : written(one(["Europe/Zurich", "UTC", ""]))))
    }
    let isEmpty = !happens(4)
    add(WrittenTag(name: "MetadataEntry", attributes: attributes, isEmpty: isEmpty))
    if !isEmpty { end("MetadataEntry") }
  }

  private static let amounts = [
    "0", "1", "2", "3", "3.1", "29.5", "1000", "-1", "999999999", "1000000000", "999999999.5",
    "16666666", "16666667", "277777", "277778", "1e300", "one", "",
  ]

  private mutating func drawWorkout() {
    var attributes = common()
    let name = one(["Walking", "Walking", "Cycling", "SwimBikeRun", "Yoga"])
    let activity = happens(6) ? text() : written("HKWorkoutActivityType\(name)", once: 30)
    attributes.append(("workoutActivityType", activity))
    if happens(2) {
      attributes.append(("duration", WrittenValue(one(Self.amounts))))
      attributes.append(("durationUnit", written(one(["s", "sec", "min", "hr", "h", "d", "m"]))))
    }
    if happens(2) {
      attributes.append(("totalDistance", amount()))
      attributes.append(("totalDistanceUnit", written(metres())))
    }
    if happens(2) {
      attributes.append(("totalEnergyBurned", amount()))
      attributes.append(("totalEnergyBurnedUnit", written(kilocalories())))
    }
    let isEmpty = happens(3)
    let workout = flawed(attributes, once: 10)
    add(WrittenTag(name: "Workout", attributes: workout, isEmpty: isEmpty))
    guard !isEmpty || happens(4) else { return }
    for _ in 0..<number(0...6) { drawPart() }
    if !happens(6) { end("Workout") }
  }

  private mutating func amount() -> WrittenValue {
    happens(3) ? figure() : WrittenValue(one(Self.amounts))
  }

  private mutating func metres() -> String { one(["m", "km", "cm", "mi", "ft", "yd", "au", ""]) }

  private mutating func kilocalories() -> String {
    one(["kcal", "Cal", "cal", "kJ", "J", "eV", ""])
  }

  private mutating func drawPart() {
    switch number(0...11) {
    case 0...4: drawStatistics()
    case 5: drawZone()
    case 6: add(WrittenTag(name: "WorkoutActivity", isEmpty: happens(3)))
    case 7: end("WorkoutActivity")
    case 8: element(one(["WorkoutEvent", "WorkoutRoute", "FileReference", "Location"]))
    case 9: element(one(Self.elements))
    case _: addSkipped()
    }
  }

  /// Draws the statistics of a workout or of a part of it.
  private mutating func drawStatistics() {
    let type = one([
      "HKQuantityTypeIdentifierActiveEnergyBurned", "HKQuantityTypeIdentifierStepCount",
      "HKQuantityTypeIdentifierDistanceWalkingRunning", "HKQuantityTypeIdentifierDistance",
      "HKQuantityTypeIdentifierDistanceCycling",
      "HKQuantityTypeIdentifierDistanc", "HKQuantityTypeIdentifierStepCounts",
      "HKQuantityTypeIdentifierActiveEnergyBurneX", "",
    ])
    let unit = type.contains("Dist") ? metres() : kilocalories()
    var attributes: [Attribute] = [("type", written(type, once: 40)), ("sum", amount())]
    attributes.append(("unit", written(unit)))
    let isEmpty = !happens(4)
    add(
      WrittenTag(
        name: "WorkoutStatistics", attributes: flawed(attributes, once: 10), isEmpty: isEmpty))
    if !isEmpty { end("WorkoutStatistics") }
  }
}
