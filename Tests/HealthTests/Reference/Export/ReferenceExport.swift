import HoldfastCore
import HoldfastHealthSamples

/// A reference implementation of the export reader that reads parts instead of bytes.
struct ReferenceExport {
  /// The reasons for skipping elements, in the order of the counts.
  private static let reasons = [
    "noType", "noDate", "noValue", "endsEarly", "malformed", "tooLong", "cutOff", "correlation",
    "metadata", "heartbeat", "workoutDetail", "route", "activitySummary", "clinicalRecord",
    "audiogram", "prescription", "unknown",
  ]
  private static let skippedElements = [
    "Correlation": "correlation", "InstantaneousBeatsPerMinute": "heartbeat",
    "WorkoutActivity": "workoutDetail", "WorkoutEvent": "workoutDetail", "WorkoutRoute": "route",
    "FileReference": "route", "Location": "route", "ActivitySummary": "activitySummary",
    "ClinicalRecord": "clinicalRecord", "Audiogram": "audiogram",
    "VisionPrescription": "prescription",
  ]
  private static let ignoredElements = [
    "HealthData", "ExportDate", "Me", "HeartRateVariabilityMetadataList", "WorkoutStatistics",
    "SensitivityPoint", "RightEye", "LeftEye", "Attachment",
  ]

  /// A sample and its creation time.
  private struct Identity: Hashable {
    var sample: HealthSample
    var created: Timestamp?
  }

  private let draft: ExportDraft
  private var parts: [WrittenPart] { draft.parts }
  private var counts: [String: Int] = [:]
  private var repaired: Set<[UInt8]> = []
  private var identities: [Identity] = []
  private(set) var outcome = ExportOutcome()

  init(_ draft: ExportDraft) {
    self.draft = draft
    outcome.error = .empty
    var count = 0
    for index in draft.parts.indices {
      if case .foreign? = outcome.error { break }
      read(index)
      count += 1
    }
    outcome.errorAgain = outcome.error
    outcome.bytes = draft.length(of: count)
    outcome.skipped = Self.reasons.compactMap { key in counts[key].map { "\(key) \($0)" } }
    outcome.samplesOfType = Dictionary(grouping: outcome.samples, by: \.type).mapValues(\.count)
    outcome.repaired = repaired.count
    var keys: [Identity: HealthSampleKey] = [:]
    for one in Set(identities) { keys[one] = MurmurHash3.key(one.sample, created: one.created) }
    outcome.keys = identities.compactMap { keys[$0] }
    outcome.batches = Self.batches(outcome.keys)
  }

  private mutating func read(_ index: Int) {
    switch parts[index] {
    case .start(let start):
      if outcome.error != nil {
        guard start.name == "HealthData" else {
          outcome.error = .foreign(element: String(start.name.prefix(63)))
          return
        }
        outcome.error = nil
      }
      read(start, at: index)
    case .end(let name): if name == "HealthData" { outcome.isWhole = true }
    case .skipped: break
    case .definition(let version): outcome.version = outcome.version ?? version
    case .broken(let reason): count(reason)
    }
  }

  private mutating func read(_ start: WrittenTag, at index: Int) {
    switch start.name {
    case "HealthData": outcome.locale = start["locale"]?.text
    case "ExportDate": outcome.exported = start["value"]?.moment
    case "Record", "Workout":
      guard let sample = sample(start, at: index) else { return }
      outcome.samples.append(sample)
      identities.append(Identity(sample: sample, created: start["creationDate"]?.moment))
    case "MetadataEntry":
      if let zone = Self.zone(start) { note(zone) } else { count("metadata") }
    case _:
      if let reason = Self.skippedElements[start.name] {
        count(reason)
      } else if !Self.ignoredElements.contains(start.name) {
        count("unknown")
      }
    }
  }

  private mutating func count(_ reason: String) { counts[reason, default: 0] += 1 }

  /// Counts a repaired text once as a text and once as a device.
  private mutating func note(_ value: WrittenValue?, isDevice: Bool = false) {
    guard let value, value.isRepaired else { return }
    repaired.insert([isDevice ? 1 : 0] + value.raw)
  }

  private static func zone(_ start: WrittenTag) -> WrittenValue? {
    start["key"].flatMap { $0.text == "HKTimeZone" ? start["value"] : nil }
  }

  /// Splits keys into spans, and the spans into batches.
  ///
  /// A span ends with a key whose lowest ten bits are 0, with its 8,192nd sample, or with the last
  /// key. A batch ends with the first span that brings it to 8,192 samples or more.
  private static func batches(_ keys: [HealthSampleKey]) -> [[ExportOutcome.Span]] {
    var batches: [[ExportOutcome.Span]] = []
    var (spans, open, size): ([ExportOutcome.Span], [HealthSampleKey], Int) = ([], [], 0)
    for (index, key) in keys.enumerated() {
      open.append(key)
      size += 1
      let isEnd = index + 1 == keys.count
      guard key.low % 1_024 == 0 || open.count == 8_192 || isEnd else { continue }
      let digest = MurmurHash3.hash(open.flatMap(MurmurHash3.block))
      spans.append(ExportOutcome.Span(count: open.count, digest: digest))
      open = []
      guard size >= 8_192 || isEnd else { continue }
      batches.append(spans)
      (spans, size) = ([], 0)
    }
    return batches
  }
}

// Samples.
extension ReferenceExport {
  private mutating func sample(_ start: WrittenTag, at index: Int) -> HealthSample? {
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
    let length = Int128(to.nanoseconds) - Int128(from.nanoseconds)
    guard 0...Int128(Int64.max) ~= length else { return skip("endsEarly", type) }
    if let created = start["creationDate"], created.moment == nil { return skip("noDate", type) }
    note(source)
    note(start["device"], isDevice: true)
    let body = start.isEmpty ? [] : self.body(of: index)
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
      guard let number = Self.number(start["value"]) else { return skip("noValue", type) }
      sample.value = .quantity(number)
      sample.unit = start["unit"].flatMap { $0.raw.isEmpty ? nil : $0.text }
      note(start["unit"])
    }
    return sample
  }

  private mutating func skip(_ reason: String, _ type: String) -> HealthSample? {
    count(reason)
    outcome.skippedOfType[type, default: 0] += 1
    return nil
  }

  /// Returns the start tags within a sample, except the statistics of a workout's parts.
  private func body(of index: Int) -> [WrittenTag] {
    var body: [WrittenTag] = []
    var depth = 0
    for part in parts[(index + 1)...] {
      switch part {
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

  private static func workout(_ start: WrittenTag, _ body: [WrittenTag]) -> WorkoutValue {
    var value = WorkoutValue(activity: start["workoutActivityType"]?.text ?? "")
    let duration = amount(start["duration"], start["durationUnit"], seconds)
    if let duration, duration >= 0, duration < 1_000_000_000 { value.duration = .seconds(duration) }
    var distances: [String: Double] = [:]
    var energies = [(start["totalEnergyBurned"], start["totalEnergyBurnedUnit"])]
    var steps: [WrittenValue?] = []
    for part in body where part.name == "WorkoutStatistics" {
      let type = part["type"]?.text ?? ""
      if type == "HKQuantityTypeIdentifierStepCount" { steps.append(part["sum"]) }
      if type == "HKQuantityTypeIdentifierActiveEnergyBurned" {
        energies.append((part["sum"], part["unit"]))
      }
      if type.hasPrefix("HKQuantityTypeIdentifierDistance") {
        distances[type] = amount(part["sum"], part["unit"], metres) ?? distances[type]
      }
    }
    let whole = amount(start["totalDistance"], start["totalDistanceUnit"], metres)
    value.distance = distance(of: value.activity, distances) ?? whole
    value.energy = energies.compactMap { amount($0.0, $0.1, kilocalories) }.last
    value.steps = steps.compactMap(number).last
    return value
  }

  /// Returns the distance of an activity: the named distance for walking and cycling, the sum for a
  /// triathlon, and the longest distance for other activities.
  private static func distance(of activity: String, _ distances: [String: Double]) -> Double? {
    func named(_ name: String) -> Double? { distances["HKQuantityTypeIdentifierDistance\(name)"] }
    switch activity {
    case "HKWorkoutActivityTypeWalking": return named("WalkingRunning")
    case "HKWorkoutActivityTypeCycling": return named("Cycling")
    case "HKWorkoutActivityTypeSwimBikeRun" where !distances.isEmpty:
      return distances.keys.sorted().reduce(0) { $0 + (distances[$1] ?? 0) }
    case _: return distances.values.max()
    }
  }

  // Numbers with units.

  private static let seconds: [String: Double] = [
    "s": 1, "sec": 1, "min": 60, "hr": 3_600, "h": 3_600,
  ]
  private static let metres: [String: Double] = [
    "mi": 1_609.344, "yd": 0.914_4, "ft": 0.304_8, "km": 1_000, "m": 1, "cm": 0.01,
  ]
  /// A thermochemical calorie is 4.184 J.
  private static let kilocalories: [String: Double] = [
    "J": 1 / 4_184.0, "kJ": 1 / 4.184, "cal": 0.001, "Cal": 1, "kcal": 1,
  ]

  /// Returns the nearest double to a decimal text, or `nil` if the text has more than 400
  /// characters or the double is not finite.
  private static func number(_ value: WrittenValue?) -> Double? {
    guard let raw = value?.raw, raw.count <= 400 else { return nil }
    let letters = Array("0123456789+-.eE".utf8)
    guard raw.allSatisfy({ letters.contains($0) }) else { return nil }
    return Double(String(decoding: raw, as: UTF8.self)).flatMap { $0.isFinite ? $0 : nil }
  }

  private static func amount(
    _ value: WrittenValue?, _ unit: WrittenValue?, _ factors: [String: Double]
  ) -> Double? {
    guard let number = number(value), let factor = factors[unit?.text ?? ""] else { return nil }
    return (number * factor).isFinite ? number * factor : nil
  }
}
