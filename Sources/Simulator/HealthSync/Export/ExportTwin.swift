import LinkCore
import LinkHealth

/// What must be read of the parts of an export, told from the parts and not from their bytes.
struct ExportTwin {
  /// The reasons in the order in which they are told.
  static let reasons = [
    "noType", "noDate", "noValue", "endsEarly", "malformed", "tooLong", "cutOff", "correlation",
    "metadata", "heartbeat", "workoutDetail", "route", "activitySummary", "clinicalRecord",
    "audiogram", "prescription", "unknown",
  ]
  private static let counted = [
    "Correlation": "correlation", "InstantaneousBeatsPerMinute": "heartbeat",
    "WorkoutActivity": "workoutDetail", "WorkoutEvent": "workoutDetail", "WorkoutRoute": "route",
    "FileReference": "route", "Location": "route", "ActivitySummary": "activitySummary",
    "ClinicalRecord": "clinicalRecord", "Audiogram": "audiogram",
    "VisionPrescription": "prescription",
  ]
  private static let uncounted = [
    "HealthData", "ExportDate", "Me", "HeartRateVariabilityMetadataList", "WorkoutStatistics",
    "SensitivityPoint", "RightEye", "LeftEye", "Attachment",
  ]

  private let things: [ExportThing]
  private(set) var samples: [HealthSample] = []
  private(set) var counts: [String: Int] = [:]
  private(set) var skippedOfType: [String: Int] = [:]
  private(set) var version: Int?
  private(set) var locale: String?
  private(set) var exported: Timestamp?
  private(set) var isWhole = false
  /// How many parts are read.
  private(set) var read = 0
  private(set) var error: HealthExportError? = .empty
  private var repaired: Set<[UInt8]> = []

  init(_ things: [ExportThing]) {
    self.things = things
    for place in things.indices {
      if case .foreign? = error { break }
      tell(place)
      read += 1
    }
  }

  /// Returns the reasons with their counts, in order.
  var skipped: [String] { Self.reasons.compactMap { key in counts[key].map { "\(key) \($0)" } } }

  /// Returns how many samples there are of each type.
  var samplesOfType: [String: Int] {
    Dictionary(grouping: samples, by: \.type).mapValues { $0.count }
  }

  var repairedCount: Int { repaired.count }

  private mutating func tell(_ place: Int) {
    switch things[place] {
    case .start(let start):
      if error != nil {
        guard start.name == "HealthData" else {
          error = .foreign(element: String(start.name.prefix(63)))
          return
        }
        error = nil
      }
      tell(start, at: place)
    case .end(let name): if name == "HealthData" { isWhole = true }
    case .skipped: break
    case .definition(let version): self.version = self.version ?? version
    case .broken(let reason): count(reason)
    }
  }

  private mutating func tell(_ start: ExportStart, at place: Int) {
    switch start.name {
    case "HealthData": locale = start["locale"]?.text
    case "ExportDate": exported = start["value"]?.moment
    case "Record", "Workout":
      if let sample = sample(start, at: place) { samples.append(sample) }
    case "MetadataEntry":
      if let zone = Self.zone(start) { note(zone) } else { count("metadata") }
    case _:
      if let reason = Self.counted[start.name] {
        count(reason)
      } else if !Self.uncounted.contains(start.name) {
        count("unknown")
      }
    }
  }

  private mutating func count(_ reason: String) { counts[reason, default: 0] += 1 }

  /// Notes a text that is looked at; each counts once, and as a device once more.
  private mutating func note(_ value: ExportWritten?, isDevice: Bool = false) {
    guard let value, value.isRepaired else { return }
    repaired.insert([isDevice ? 1 : 0] + value.raw)
  }

  static func zone(_ start: ExportStart) -> ExportWritten? {
    start["key"].flatMap { $0.text == "HKTimeZone" ? start["value"] : nil }
  }
}

// Samples.
extension ExportTwin {
  private mutating func sample(_ start: ExportStart, at place: Int) -> HealthSample? {
    let isWorkout = start.name == "Workout"
    let name = isWorkout ? start["workoutActivityType"] : start["type"]
    guard let name, !name.raw.isEmpty, let source = start["sourceName"] else {
      count("noType")
      return nil
    }
    let type = isWorkout ? "HKWorkoutTypeIdentifier" : name.text
    if !isWorkout { note(name) }
    guard let from = start["startDate"]?.moment, let to = start["endDate"]?.moment else {
      return skip("noDate", type)
    }
    guard to.nanoseconds >= from.nanoseconds else { return skip("endsEarly", type) }
    note(source)
    note(start["device"], isDevice: true)
    let body = start.isEmpty ? [] : self.body(of: place)
    var sample = HealthSample(
      type: type, value: .category(start["value"]?.text ?? ""), start: from, end: to,
      source: source.text)
    sample.device = start["device"].flatMap { $0.raw.isEmpty ? nil : $0.device ?? $0.text }
    let zone = body.compactMap(Self.zone).last
    sample.zone = zone.flatMap { $0.raw.isEmpty ? nil : $0.text }
    if isWorkout {
      sample.value = .workout(Self.workout(start, body))
    } else if type.hasPrefix("HKCategoryType") {
      note(start["value"])
    } else {
      guard let number = ExportFigures.number(start["value"]) else { return skip("noValue", type) }
      sample.value = .quantity(number)
      sample.unit = start["unit"].flatMap { $0.raw.isEmpty ? nil : $0.text }
      note(start["unit"])
    }
    return sample
  }

  private mutating func skip(_ reason: String, _ type: String) -> HealthSample? {
    count(reason)
    skippedOfType[type, default: 0] += 1
    return nil
  }

  /// Returns the start tags within a sample, without the figures of parts of a workout.
  private func body(of place: Int) -> [ExportStart] {
    var body: [ExportStart] = []
    var depth = 0
    for thing in things[(place + 1)...] {
      switch thing {
      case .start(let start):
        if ["Record", "Workout", "Correlation"].contains(start.name) { return body }
        if start.name == "WorkoutActivity", !start.isEmpty { depth += 1 }
        if start.name != "WorkoutStatistics" || depth == 0 { body.append(start) }
      case .end(let name):
        if ["Record", "Workout", "HealthData"].contains(name) { return body }
        if name == "WorkoutActivity", depth > 0 { depth -= 1 }
      case .skipped, .definition, .broken: break
      }
    }
    return body
  }

  private static func workout(_ start: ExportStart, _ body: [ExportStart]) -> WorkoutValue {
    var value = WorkoutValue(activity: start["workoutActivityType"]?.text ?? "")
    let seconds = ExportFigures.amount(
      start["duration"], start["durationUnit"], ExportFigures.seconds)
    if let seconds, seconds >= 0, seconds < 1_000_000_000 { value.duration = .seconds(seconds) }
    var distances = [(start["totalDistance"], start["totalDistanceUnit"])]
    var energies = [(start["totalEnergyBurned"], start["totalEnergyBurnedUnit"])]
    var steps: [ExportWritten?] = []
    for part in body where part.name == "WorkoutStatistics" {
      let type = part["type"]?.text ?? ""
      if type == "HKQuantityTypeIdentifierStepCount" { steps.append(part["sum"]) }
      if type == "HKQuantityTypeIdentifierActiveEnergyBurned" {
        energies.append((part["sum"], part["unit"]))
      }
      if type.hasPrefix("HKQuantityTypeIdentifierDistance") {
        distances.append((part["sum"], part["unit"]))
      }
    }
    value.distance =
      distances.compactMap { ExportFigures.amount($0.0, $0.1, ExportFigures.metres) }.last
    value.energy =
      energies.compactMap { ExportFigures.amount($0.0, $0.1, ExportFigures.kilocalories) }.last
    value.steps = steps.compactMap(ExportFigures.number).last
    return value
  }
}
