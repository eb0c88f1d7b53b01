import LinkCore
import LinkHealth
import LinkJSON
import LinkWire

/// A body as a server must read it: as a tree first, and by the kinds of its members then.
public struct SyncParcel: Sendable {
  /// A sample as it must be stored.
  struct Sample: Sendable, Hashable {
    var hash: SyncHash
    var uuid: UUID128?
    var type: String
    var start: Timestamp
    var end: Timestamp
    var source: String
    var unit: String?
    var value: HealthSampleValue?
    var raw: [UInt8]

    var place: HealthSamplePlace {
      HealthSamplePlace(
        type: type, start: start, key: HealthSampleKey(high: hash.words[0], low: hash.words[1]))
    }
  }

  var made: Timestamp?
  var deleted: [UUID128] = []
  var samples: [Sample] = []
  /// All that it says, as a phone would have written it; `nil` if that is not looked at.
  var text: String?

  /// Reads a body; `nil` if it is no batch.
  ///
  /// - Parameter isShort: Whether only what is stored counts.
  init?(_ body: [UInt8], isShort: Bool = false) {
    guard case .object(let members)? = SyncTree(body)?.root, Self.fits(members) else { return nil }
    let said = SyncMembers(members)
    guard let type = said.text("dataType"), !type.isEmpty else { return nil }
    var lists: [String: [Sample]] = [:]
    var texts = [SyncScribe.member("dataType", type)]
    for name in ["records", "workouts"] {
      guard case .list(let all)? = said[name] else { continue }
      var written: [String] = []
      for (node, range) in all {
        guard case .object(let members) = node, let item = SyncItem(members, name == "workouts")
        else { return nil }
        lists[name, default: []].append(item.sample(Array(body[range])))
        if !isShort { written.append(item.text) }
      }
      texts.append("\"\(name)\":[\(written.joined(separator: ","))]")
    }
    samples = (lists["records"] ?? []) + (lists["workouts"] ?? [])
    if case .list(let all)? = said["deletedUUIDs"] {
      for case (.text(let text), _) in all { if let uuid = UUID128(text) { deleted.append(uuid) } }
    }
    let gone = deleted.map { SyncScribe.quoted(SyncScribe.upper($0)) }
    texts.append("\"deletedUUIDs\":[\(gone.joined(separator: ","))]")
    texts.append(SyncScribe.member("deviceId", said.text("deviceId") ?? "unknown"))
    if let time = said.text("timestamp") {
      made = SyncMembers.time(time)
      texts.append(SyncScribe.member("timestamp", time))
    }
    if !isShort { text = SyncScribe.object(texts) }
  }

  /// Whether each known member is of its kind; of repeated ones each counts.
  private static func fits(_ members: [(String, SyncTree.Node)]) -> Bool {
    members.allSatisfy { name, node in
      if node.isNull { return true }
      switch name {
      case "dataType", "deviceId": return node.isText
      case "timestamp": return node.isTime
      case "records", "workouts":
        guard case .list(let all) = node else { return false }
        return all.allSatisfy { node, _ in
          guard case .object(let members) = node else { return false }
          return SyncItem(members, name == "workouts") != nil
        }
      case "deletedUUIDs":
        guard case .list(let all) = node else { return false }
        return all.allSatisfy { $0.0.isUUID }
      case _: return true
      }
    }
  }

  /// What a reading says otherwise; `nil` if it says the same.
  static func difference(
    _ parcel: SyncParcel?, _ reading: SyncReading?, _ delivery: SyncDelivery?
  ) -> String? {
    guard let parcel else { return reading == nil ? nil : "a body is read that is no batch" }
    guard let reading, let delivery else { return "a batch is not read" }
    if let text = parcel.text {
      let written = reading.batch.bytes
      if written != Array(text.utf8) {
        return "\(text) is read as \(String(decoding: written, as: UTF8.self))"
      }
    }
    if delivery.made != parcel.made || delivery.deleted != parcel.deleted {
      return "a batch has another time or other deletions"
    }
    let samples = delivery.samples.map {
      Sample(
        hash: $0.hash, uuid: $0.uuid, type: $0.type, start: $0.start, end: $0.end,
        source: $0.source, unit: $0.unit, value: $0.value, raw: Array($0.raw))
    }
    guard samples != parcel.samples else { return nil }
    let first = zip(samples, parcel.samples).first { $0 != $1 }
    return "\(samples.count) samples of \(parcel.samples.count):"
      + " \(first.map { "\($0.0), not \($0.1)" } ?? "")"
  }
}

/// A record or a workout of a body.
private struct SyncItem {
  let said: SyncMembers
  let isWorkout: Bool

  init?(_ members: [(String, SyncTree.Node)], _ isWorkout: Bool) {
    let required =
      isWorkout
      ? ["workoutType", "sourceName", "startTime", "endTime", "durationSeconds"]
      : ["recordType", "sourceName", "startTime", "endTime"]
    let said = SyncMembers(members)
    guard members.allSatisfy({ Self.fits($0, $1) }),
      required.allSatisfy({ said[$0].map { !$0.isNull } ?? false })
    else { return nil }
    (self.said, self.isWorkout) = (said, isWorkout)
  }

  private static func fits(_ name: String, _ node: SyncTree.Node) -> Bool {
    if node.isNull { return true }
    switch name {
    case "recordType", "workoutType", "sourceName", "sourceBundle", "unit", "valueText":
      return node.isText
    case "value", "durationSeconds", "totalDistance", "totalEnergyBurned": return node.isNumber
    case "startTime", "endTime": return node.isTime
    case "uuid": return node.isUUID
    case "metadata": if case .object = node { return true } else { return false }
    case "statistics":
      guard case .object(let members) = node else { return false }
      return members.allSatisfy { name, node in
        !name.hasPrefix("heartRate") || node.isNull || node.isNumber
      }
    case _: return true
    }
  }

  /// It as a phone would have written it.
  var text: String {
    func texts(_ names: String...) -> [String] {
      names.compactMap { name in said.text(name).map { SyncScribe.member(name, $0) } }
    }
    func number(_ name: String) -> [String] { SyncScribe.number(name, said.number(name)) }
    var all: [String]
    if isWorkout {
      all = texts("workoutType", "sourceName", "sourceBundle", "startTime", "endTime")
      all += number("durationSeconds") + number("totalDistance") + number("totalEnergyBurned")
      if case .object(let members)? = said["statistics"] {
        let rates = SyncMembers(members)
        let names = ["heartRateAvg", "heartRateMin", "heartRateMax"]
        let figures = names.flatMap { SyncScribe.number($0, rates.number($0)) }
        all.append("\"statistics\":" + SyncScribe.object(figures))
      }
    } else {
      all = texts("recordType", "sourceName", "sourceBundle") + number("value")
      if let node = said["valueText"] {
        all.append(node.isNull ? "\"valueText\":null" : texts("valueText")[0])
      }
      all += texts("unit", "startTime", "endTime")
    }
    if case .object(let members)? = said["metadata"] {
      let more = SyncMembers(members)
      let names = Set(members.filter { $0.1.isText }.map(\.0)).sorted()
      all.append(
        "\"metadata\":"
          + SyncScribe.object(names.map { SyncScribe.member($0, more.lastText($0) ?? "") }))
    }
    if let uuid = said.text("uuid").flatMap({ UUID128($0) }) {
      all.append(SyncScribe.member("uuid", SyncScribe.upper(uuid)))
    }
    return SyncScribe.object(all)
  }

  func sample(_ raw: [UInt8]) -> SyncParcel.Sample {
    let kind = said.text(isWorkout ? "workoutType" : "recordType") ?? ""
    let times = ["startTime", "endTime"].map { said.text($0) ?? "" }
    let moments = times.map { SyncMembers.time($0) ?? Timestamp(nanoseconds: 0) }
    let words = [kind, said.text("sourceName") ?? ""] + times
    let hash = SyncHash.folded(Array((words + [last]).joined(separator: "|").utf8))
    return SyncParcel.Sample(
      hash: hash, uuid: said.text("uuid").flatMap { UUID128($0) },
      type: isWorkout ? "HKWorkoutTypeIdentifier" : kind, start: moments[0],
      end: max(moments[0], moments[1]), source: words[1],
      unit: isWorkout ? nil : said.text("unit"), value: value, raw: raw)
  }

  /// What comes last in the text of the hash: the value as JavaScript has it.
  private var last: String {
    if isWorkout { return SyncScribe.digits(said.number("durationSeconds") ?? 0) }
    if let number = said.number("value") { return SyncScribe.digits(number) }
    guard let node = said["valueText"] else { return "undefined" }
    return node.isNull ? "null" : said.text("valueText") ?? ""
  }

  private var value: HealthSampleValue? {
    func finite(_ name: String, times factor: Double = 1) -> Double? {
      said.number(name).map { $0 * factor }.flatMap { $0.isFinite ? $0 : nil }
    }
    if isWorkout {
      let seconds = finite("durationSeconds").flatMap { -9e9 < $0 && $0 < 9e9 ? $0 : nil }
      return .workout(
        WorkoutValue(
          activity: said.text("workoutType") ?? "",
          duration: seconds.map { .nanoseconds(Int64($0 * 1e9)) },
          distance: finite("totalDistance", times: 1_609.344),
          energy: finite("totalEnergyBurned")))
    }
    let kind = said.text("recordType") ?? ""
    guard kind.hasPrefix("HKCategoryTypeIdentifier") else {
      return finite("value").map { .quantity($0) }
    }
    if let text = said.text("valueText") { return .category(text) }
    guard let number = finite("value"), number == number.rounded(), abs(number) < 9e18 else {
      return nil
    }
    guard kind == "HKCategoryTypeIdentifierSleepAnalysis" else {
      return .category("\(Int(number))")
    }
    let names = ["InBed", "AsleepUnspecified", "Awake", "AsleepCore", "AsleepDeep", "AsleepREM"]
    return 0...5 ~= number ? .category(names[Int(number)]) : nil
  }
}

/// The members of an object; of repeated ones the last counts.
struct SyncMembers {
  private var all: [String: SyncTree.Node] = [:]
  private var texts: [String: String] = [:]

  init(_ members: [(String, SyncTree.Node)]) {
    for (name, node) in members {
      all[name] = node
      if case .text(let text) = node { texts[name] = text }
    }
  }

  subscript(_ name: String) -> SyncTree.Node? { all[name] }

  func text(_ name: String) -> String? {
    if case .text(let text)? = all[name] { text } else { nil }
  }

  /// The last one that is a text.
  func lastText(_ name: String) -> String? { texts[name] }

  func number(_ name: String) -> Double? {
    if case .number(let number)? = all[name] { number } else { nil }
  }

  static func time(_ text: String) -> Timestamp? {
    if case .instant(let instant, _)? = HealthTime(text) { instant } else { nil }
  }
}

/// A JSON text as a tree.
struct SyncTree {
  indirect enum Node {
    case object([(String, Node)])
    case list([(Node, Range<Int>)])
    case text(String)
    case number(Double)
    case null, flag

    var isNull: Bool { if case .null = self { true } else { false } }
    var isText: Bool { if case .text = self { true } else { false } }
    var isNumber: Bool { if case .number = self { true } else { false } }
    var isTime: Bool { text.flatMap { SyncMembers.time($0) } != nil }
    var isUUID: Bool { text.flatMap { UUID128($0) } != nil }
    private var text: String? { if case .text(let text) = self { text } else { nil } }
  }

  let root: Node

  init?(_ bytes: [UInt8]) {
    var reader = JSONReader(bytes)
    do throws(JSONError) {
      root = try Self.read(&reader, bytes)
      try reader.finish()
    } catch {
      return nil
    }
  }

  private static func read(_ reader: inout JSONReader, _ bytes: [UInt8]) throws(JSONError) -> Node {
    switch try reader.peek() {
    case .object:
      var members: [(String, Node)] = []
      try reader.beginObject()
      while let key = try reader.nextKey() {
        members.append((reader.text(of: key), try read(&reader, bytes)))
      }
      return .object(members)
    case .array:
      var all: [(Node, Range<Int>)] = []
      try reader.beginArray()
      while try reader.nextElement() {
        _ = try reader.peek()
        let start = reader.position
        let node = try read(&reader, bytes)
        all.append((node, start..<reader.position))
      }
      return .list(all)
    case .string: return .text(try reader.string())
    case .number:
      let start = reader.position
      try reader.skipValue()
      let text = String(decoding: bytes[start..<reader.position], as: UTF8.self)
      return .number(Double(text) ?? .nan)
    case .bool:
      _ = try reader.bool()
      return .flag
    case .null:
      try reader.null()
      return .null
    }
  }
}
