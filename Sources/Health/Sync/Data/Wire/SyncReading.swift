import HoldfastCore
import HoldfastHealth
public import HoldfastJSON

/// A received batch, with the ranges of its records in the body.
public struct SyncReading: Sendable, Hashable {
  /// The values of the batch.
  public var batch: SyncBatch
  /// The body that was read.
  public var body: [UInt8]
  /// The range of each record in the body.
  public var recordRanges: [Range<Int>]
  /// The range of each workout in the body.
  public var workoutRanges: [Range<Int>]
}

extension SyncBatch {
  /// Reads the body of a request in the same way as `SyncReading.read`.
  public static func read(_ body: [UInt8]) throws(FieldFault) -> SyncBatch {
    try SyncReading.read(body).batch
  }
}

extension SyncReading {
  /// Reads the body of a request. Unknown members are ignored. If a member is repeated, the last
  /// one is used.
  ///
  /// - Throws: `.malformed` with the reason and its position, if the body is not a JSON object, if
  ///   `dataType` or a required member of a record is missing, if a member has the wrong type, if a
  ///   time has no zone, or if a UUID is invalid.
  public static func read(_ body: [UInt8]) throws(FieldFault) -> SyncReading {
    do throws(JSONError) {
      var reader = JSONReader(body)
      let reading = try read(from: &reader, body)
      try reader.finish()
      return reading
    } catch {
      throw .malformed(detail: "\(error.detail) at byte \(error.offset)")
    }
  }

  private static func read(
    from reader: inout JSONReader, _ body: [UInt8]
  ) throws(JSONError) -> SyncReading {
    var dataType: String?
    var reading = SyncReading(
      batch: SyncBatch(dataType: "", timestamp: nil), body: body, recordRanges: [],
      workoutRanges: [])
    try reader.beginObject()
    while let key = try reader.nextKey() {
      switch reader.text(of: key) {
      case "dataType": dataType = try reader.optionalText()
      case "records":
        reading.batch.records = try reader.list(&reading.recordRanges) {
          (reader) throws(JSONError) in try SyncMembers.read(from: &reader).record(at: reader)
        }
      case "workouts":
        reading.batch.workouts = try reader.list(&reading.workoutRanges) {
          (reader) throws(JSONError) in try SyncMembers.read(from: &reader).workout(at: reader)
        }
      case "deletedUUIDs":
        var ranges: [Range<Int>] = []
        reading.batch.deletedUUIDs =
          try reader.list(&ranges) { (reader) throws(JSONError) in
            guard let uuid = try reader.optionalUUID() else {
              throw JSONError("null in deletedUUIDs", at: reader.position)
            }
            return uuid
          } ?? []
      case "deviceId":
        reading.batch.deviceID = try reader.optionalText() ?? SyncBatch.unknownDevice
      case "timestamp": reading.batch.timestamp = try reader.optionalTime()
      case _: try reader.skipValue()
      }
    }
    guard let dataType, !dataType.isEmpty else {
      throw JSONError("a batch without dataType", at: reader.position)
    }
    reading.batch.dataType = dataType
    return reading
  }
}

/// The members of a record or a workout.
private struct SyncMembers {
  var type: String?
  var sourceName: String?
  var sourceBundle: String?
  var value: Double?
  var valueText = SyncText.absent
  var unit: String?
  var start: SyncTime?
  var end: SyncTime?
  var metadata: [String: String]?
  var uuid: UUID128?
  var workoutType: String?
  var duration: Double?
  var distance: Double?
  var energy: Double?
  var statistics: SyncWorkout.Statistics?

  static func read(from reader: inout JSONReader) throws(JSONError) -> SyncMembers {
    var members = SyncMembers()
    try reader.beginObject()
    while let key = try reader.nextKey() { try members.read(key, from: &reader) }
    return members
  }

  private mutating func read(
    _ key: JSONString, from reader: inout JSONReader
  ) throws(JSONError) {
    if reader.matches(key, "recordType") {
      type = try reader.optionalText()
    } else if reader.matches(key, "sourceName") {
      sourceName = try reader.optionalText()
    } else if reader.matches(key, "value") {
      value = try reader.optionalNumber()
    } else if reader.matches(key, "unit") {
      unit = try reader.optionalText()
    } else if reader.matches(key, "startTime") {
      start = try reader.optionalTime()
    } else if reader.matches(key, "endTime") {
      end = try reader.optionalTime()
    } else if reader.matches(key, "uuid") {
      uuid = try reader.optionalUUID()
    } else {
      try readMore(key, from: &reader)
    }
  }

  /// Reads the less frequent members.
  private mutating func readMore(
    _ key: JSONString, from reader: inout JSONReader
  ) throws(JSONError) {
    switch reader.text(of: key) {
    case "sourceBundle": sourceBundle = try reader.optionalText()
    case "valueText": valueText = try reader.optionalText().map { .text($0) } ?? .null
    case "metadata": metadata = try reader.optionalTexts()
    case "workoutType": workoutType = try reader.optionalText()
    case "durationSeconds": duration = try reader.optionalNumber()
    case "totalDistance": distance = try reader.optionalNumber()
    case "totalEnergyBurned": energy = try reader.optionalNumber()
    case "statistics": statistics = try reader.optionalStatistics()
    case _: try reader.skipValue()
    }
  }

  func record(at reader: JSONReader) throws(JSONError) -> SyncRecord {
    SyncRecord(
      recordType: try required(type, "recordType", reader),
      sourceName: try required(sourceName, "sourceName", reader), sourceBundle: sourceBundle,
      value: value, valueText: valueText, unit: unit,
      start: try required(start, "startTime", reader), end: try required(end, "endTime", reader),
      metadata: metadata, uuid: uuid)
  }

  func workout(at reader: JSONReader) throws(JSONError) -> SyncWorkout {
    SyncWorkout(
      workoutType: try required(workoutType, "workoutType", reader),
      sourceName: try required(sourceName, "sourceName", reader), sourceBundle: sourceBundle,
      start: try required(start, "startTime", reader), end: try required(end, "endTime", reader),
      durationSeconds: try required(duration, "durationSeconds", reader),
      totalDistance: distance, totalEnergyBurned: energy, statistics: statistics,
      metadata: metadata, uuid: uuid)
  }

  private func required<Value>(
    _ value: Value?, _ name: String, _ reader: JSONReader
  ) throws(JSONError) -> Value {
    guard let value else {
      throw JSONError("a record without \(name) ends", at: reader.position)
    }
    return value
  }
}

extension JSONReader {
  /// Reads `null`. If the next value is not `null`, returns false and reads nothing.
  private mutating func takeNull() throws(JSONError) -> Bool {
    guard try peek() == .null else { return false }
    try null()
    return true
  }

  fileprivate mutating func optionalText() throws(JSONError) -> String? {
    try takeNull() ? nil : try string()
  }

  /// Reads a number or `null`. A number that is too large for a `Double` becomes infinite.
  fileprivate mutating func optionalNumber() throws(JSONError) -> Double? {
    if try takeNull() { return nil }
    let first = position
    try skipValue()
    guard let number = Double(String(decoding: bytes[first..<position], as: UTF8.self)) else {
      throw JSONError("expected a number", at: first)
    }
    return number
  }

  fileprivate mutating func optionalTime() throws(JSONError) -> SyncTime? {
    if try takeNull() { return nil }
    let found = try scanString()
    guard case .instant(let instant, _) = HealthTime(utf8: utf8(of: found)) else {
      throw JSONError("not an ISO 8601 time with a zone in the years 1678 to 2261", at: position)
    }
    return SyncTime(text: text(of: found), instant: instant)
  }

  fileprivate mutating func optionalUUID() throws(JSONError) -> UUID128? {
    if try takeNull() { return nil }
    let found = try scanString()
    guard let uuid = UUID128(utf8: utf8(of: found)) else {
      throw JSONError("not a UUID", at: position)
    }
    return uuid
  }

  /// Reads an object or `null`. Members that are not strings are ignored.
  fileprivate mutating func optionalTexts() throws(JSONError) -> [String: String]? {
    if try takeNull() { return nil }
    var texts: [String: String] = [:]
    try beginObject()
    while let key = try nextKey() {
      let isText = try peek() == .string
      if isText { texts[text(of: key)] = try string() } else { try skipValue() }
    }
    return texts
  }

  fileprivate mutating func optionalStatistics() throws(JSONError) -> SyncWorkout.Statistics? {
    if try takeNull() { return nil }
    var statistics = SyncWorkout.Statistics()
    try beginObject()
    while let key = try nextKey() {
      switch text(of: key) {
      case "heartRateAvg": statistics.heartRateAvg = try optionalNumber()
      case "heartRateMin": statistics.heartRateMin = try optionalNumber()
      case "heartRateMax": statistics.heartRateMax = try optionalNumber()
      case _: try skipValue()
      }
    }
    return statistics
  }

  /// Reads an array and stores the ranges of its elements. Returns `nil` for `null`.
  fileprivate mutating func list<Element>(
    _ ranges: inout [Range<Int>], _ element: (inout JSONReader) throws(JSONError) -> Element
  ) throws(JSONError) -> [Element]? {
    ranges = []
    if try takeNull() { return nil }
    var found: [Element] = []
    try beginArray()
    while try nextElement() {
      _ = try peek()
      let start = position
      found.append(try element(&self))
      ranges.append(start..<position)
    }
    return found
  }
}
