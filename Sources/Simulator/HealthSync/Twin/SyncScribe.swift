import HealthSync
import LinkCore
import LinkHealth
import LinkWire

/// What a phone must write of its samples, put together from text (contract 5.2 and 5.3).
///
/// It shares nothing with what it judges but the units of health data.
enum SyncScribe {
  /// A batch: its samples as they are written, and what is deleted.
  struct Sheet: Sendable, Hashable {
    var type: String
    var device: String
    /// Seconds since 1970.
    var made: Int64
    var deletions: [UUID128]
    var items: [Item]

    var bytes: [UInt8] {
      var members = [SyncScribe.member("dataType", type)]
      for (name, isWorkout) in [("records", false), ("workouts", true)] {
        let own = items.filter { $0.isWorkout == isWorkout }
        guard !own.isEmpty else { continue }
        members.append("\"\(name)\":[\(own.map(\.text).joined(separator: ","))]")
      }
      let gone = deletions.map { SyncScribe.quoted(SyncScribe.upper($0)) }
      members.append("\"deletedUUIDs\":[\(gone.joined(separator: ","))]")
      members.append(SyncScribe.member("deviceId", device))
      members.append(SyncScribe.member("timestamp", SyncScribe.time(made)))
      return Array(SyncScribe.object(members).utf8)
    }

    /// Two sheets that do the same one after the other; `nil` if it holds one thing.
    var parts: [Sheet]? {
      var (one, two) = (self, self)
      if items.isEmpty {
        guard deletions.count > 1 else { return nil }
        one.deletions = Array(deletions[..<(deletions.count / 2)])
        two.deletions = Array(deletions[(deletions.count / 2)...])
      } else {
        guard items.count + (deletions.isEmpty ? 0 : 1) > 1 else { return nil }
        one.items = Array(items[..<(items.count / 2)])
        two.items = Array(items[(items.count / 2)...])
        two.deletions = []
      }
      return [one, two]
    }
  }

  struct Item: Sendable, Hashable {
    var isWorkout: Bool
    var text: String
  }

  /// The sheets of a page: at most 1,000 deletions and 1,000 samples each, deletions first, and at
  /// most 1 MiB unless it holds one thing.
  static func sheets(
    _ type: String, _ page: SourcePage, made: Timestamp, device: String
  ) -> [Sheet] {
    let items = page.added.map { item($0) }
    let name = type == HealthSample.workoutType ? "HKWorkoutType" : type
    let blank = Sheet(
      type: name, device: device, made: second(made), deletions: [], items: [])
    var sheets: [Sheet] = []
    for start in stride(from: 0, to: page.deleted.count, by: 1_000) {
      var sheet = blank
      sheet.deletions = Array(page.deleted[start..<min(start + 1_000, page.deleted.count)])
      sheets.append(sheet)
    }
    for start in stride(from: 0, to: items.count, by: 1_000) {
      let some = Array(items[start..<min(start + 1_000, items.count)])
      // The first samples go with the last deletions.
      if start > 0 || sheets.isEmpty { sheets.append(blank) }
      // What is no workout goes first in each batch.
      sheets[sheets.count - 1].items = some.filter { !$0.isWorkout } + some.filter(\.isWorkout)
    }
    return sheets.flatMap { bounded($0) }
  }

  /// What batches have otherwise than they must; `nil` if nothing.
  static func difference(_ packed: [SyncPacking.Packed], _ sheets: [Sheet]) -> String? {
    if packed.count != sheets.count { return "\(packed.count) batches, not \(sheets.count)" }
    for (packed, sheet) in zip(packed, sheets) {
      if packed.records != sheet.items.count || packed.deletions != sheet.deletions.count {
        return "a batch is counted as \(packed.records) and \(packed.deletions)"
      }
      if packed.bytes != sheet.bytes {
        return "a batch is \(String(decoding: packed.bytes.prefix(900), as: UTF8.self)), not "
          + String(decoding: sheet.bytes.prefix(900), as: UTF8.self)
      }
    }
    return nil
  }

  private static func bounded(_ sheet: Sheet) -> [Sheet] {
    guard sheet.bytes.count > 1_048_576, let parts = sheet.parts else { return [sheet] }
    return parts.flatMap { bounded($0) }
  }

  // Samples.

  private static let units = [
    "HKQuantityTypeIdentifierStepCount": "count", "HKQuantityTypeIdentifierHeartRate": "count/min",
    "HKQuantityTypeIdentifierActiveEnergyBurned": "kcal",
    "HKQuantityTypeIdentifierBodyMass": "lb", "HKQuantityTypeIdentifierVO2Max": "mL/min·kg",
  ]

  /// The number and the unit in which a quantity is sent.
  static func figure(_ quantity: Double, _ sample: HealthSample) -> (Double, String?) {
    guard let wanted = units[sample.type] else { return (quantity, sample.unit) }
    guard let unit = sample.unit else { return (quantity, wanted) }
    guard let found = HealthUnits.convert(quantity, from: unit, to: wanted) else {
      return (quantity, unit)
    }
    return (found, wanted)
  }

  /// The text and the number of a stage of sleep.
  static func stage(_ name: String) -> (String, Double?) {
    let prefix = "HKCategoryValueSleepAnalysis"
    let word = name.hasPrefix(prefix) ? String(name.dropFirst(prefix.count)) : name
    switch word {
    case "InBed": return (word, 0)
    case "Asleep", "AsleepUnspecified": return ("AsleepUnspecified", 1)
    case "Awake": return (word, 2)
    case "AsleepCore": return (word, 3)
    case "AsleepDeep": return (word, 4)
    case "AsleepREM": return (word, 5)
    case _: return ("Unknown", nil)
    }
  }

  static func item(_ source: SourceSample) -> Item {
    let sample = source.sample
    let (start, end) = (time(second(sample.start)), time(second(sample.end)))
    var head = [member("recordType", sample.type), member("sourceName", sample.source)]
    var tail = [member("startTime", start), member("endTime", end)]
    if let zone = sample.zone {
      tail.append("\"metadata\":" + object([member("HKTimeZone", zone)]))
    }
    tail.append(member("uuid", upper(source.uuid)))
    switch sample.value {
    case .quantity(let quantity):
      let (value, unit) = figure(quantity, sample)
      head += number("value", value)
      if let unit { head.append(member("unit", unit)) }
    case .category(let name):
      let isSleep = sample.type == "HKCategoryTypeIdentifierSleepAnalysis"
      let (text, value) = isSleep ? stage(name) : (name, nil)
      head += number("value", value)
      head.append(member("valueText", text))
      if let unit = sample.unit { head.append(member("unit", unit)) }
    case .workout(let workout):
      head = [member("workoutType", workout.activity), member("sourceName", sample.source)]
      let seconds = workout.duration.map { $0 / .seconds(1) }
      let figures =
        number("durationSeconds", seconds ?? sample.start.duration(to: sample.end) / .seconds(1))
        + number("totalDistance", workout.distance.map { $0 / 1_609.344 })
        + number("totalEnergyBurned", workout.energy)
      tail.insert(contentsOf: figures, at: 2)
      return Item(isWorkout: true, text: object(head + tail))
    }
    return Item(isWorkout: false, text: object(head + tail))
  }

  /// Where a backend keeps a sample.
  static func place(_ sample: HealthSample) -> HealthSamplePlace {
    var (kind, last) = (sample.type, "undefined")
    switch sample.value {
    case .quantity(let quantity):
      let value = figure(quantity, sample).0
      if !value.isNaN { last = digits(value) }
    case .category(let name):
      let isSleep = sample.type == "HKCategoryTypeIdentifierSleepAnalysis"
      let (text, value) = isSleep ? stage(name) : (name, nil)
      last = value.map { digits($0) } ?? text
    case .workout(let workout):
      kind = workout.activity
      let length = workout.duration ?? sample.start.duration(to: sample.end)
      last = digits(length / .seconds(1))
    }
    let start = second(sample.start)
    let text = [kind, sample.source, time(start), time(second(sample.end)), last]
      .joined(separator: "|")
    let words = SyncHash.folded(Array(text.utf8)).words
    return HealthSamplePlace(
      type: sample.type, start: Timestamp(nanoseconds: start * 1_000_000_000),
      key: HealthSampleKey(high: words[0], low: words[1]))
  }

  // Text.

  static func second(_ time: Timestamp) -> Int64 {
    SyncSamples.floorDivide(time.nanoseconds, 1_000_000_000)
  }

  /// A moment such as `2026-01-31T08:30:00Z`.
  static func time(_ second: Int64) -> String {
    let day = SyncSamples.floorDivide(second, 86_400)
    func two(_ number: Int64) -> String { number < 10 ? "0\(number)" : "\(number)" }
    let rest = second - day * 86_400
    return SyncZone.date(day)
      + "T\(two(rest / 3_600)):\(two(rest / 60 % 60)):\(two(rest % 60))Z"
  }

  static func upper(_ uuid: UUID128) -> String {
    func hex(_ number: UInt64) -> String {
      let digits = String(number, radix: 16, uppercase: true)
      return String(repeating: "0", count: 16 - digits.count) + digits
    }
    let (high, low) = (hex(uuid.high), hex(uuid.low))
    return [high.prefix(8), high.dropFirst(8).prefix(4), high.suffix(4), low.prefix(4)]
      .joined(separator: "-") + "-" + low.suffix(12)
  }

  static func object(_ members: [String]) -> String { "{\(members.joined(separator: ","))}" }

  static func member(_ name: String, _ text: String) -> String {
    "\(quoted(name)):\(quoted(text))"
  }

  /// A member with a number; none for one that is no number.
  static func number(_ name: String, _ value: Double?) -> [String] {
    guard let value, !value.isNaN else { return [] }
    if value.isInfinite { return ["\"\(name)\":\(value > 0 ? "1e999" : "-1e999")"] }
    return ["\"\(name)\":\(digits(value))"]
  }

  static func quoted(_ text: String) -> String {
    // An array is looked through faster than a view.
    let isPlain = Array(text.utf8).allSatisfy { $0 >= 32 && $0 != 34 && $0 != 92 }
    if isPlain { return "\"" + text + "\"" }
    var quoted = "\""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\"", "\\": quoted += "\\\(scalar)"
      case "\n": quoted += "\\n"
      case "\r": quoted += "\\r"
      case "\t": quoted += "\\t"
      case "\u{8}": quoted += "\\b"
      case "\u{C}": quoted += "\\f"
      case _ where scalar.value < 32:
        quoted += "\\u00" + (scalar.value < 16 ? "0" : "") + String(scalar.value, radix: 16)
      case _: quoted.unicodeScalars.append(scalar)
      }
    }
    return quoted + "\""
  }

  /// A number as ECMA-262 writes it (`Number::toString`).
  static func digits(_ number: Double) -> String {
    if number.isNaN { return "NaN" }
    if number == 0 { return "0" }
    let sign = number < 0 ? "-" : ""
    guard number.isFinite else { return sign + "Infinity" }
    let parts = abs(number).description.split(separator: "e")
    let halves = parts[0].split(separator: ".")
    var all = halves.joined()
    // The number is 0.all times ten to the power of place.
    var place = halves[0].count + (parts.count > 1 ? Int(parts[1]) ?? 0 : 0)
    while all.first == "0" {
      all.removeFirst()
      place -= 1
    }
    while all.last == "0" { all.removeLast() }
    return sign + written(all, place)
  }

  /// The number 0.digits times ten to the power of a place.
  static func written(_ digits: String, _ place: Int) -> String {
    func zeros(_ count: Int) -> String { String(repeating: "0", count: count) }
    if digits.count <= place, place <= 21 { return digits + zeros(place - digits.count) }
    if 0 < place, place <= 21 { return digits.prefix(place) + "." + digits.dropFirst(place) }
    if -6 < place, place <= 0 { return "0." + zeros(-place) + digits }
    let power = "e\(place > 0 ? "+" : "-")\(abs(place - 1))"
    if digits.count == 1 { return digits + power }
    return digits.prefix(1) + "." + digits.dropFirst() + power
  }
}
