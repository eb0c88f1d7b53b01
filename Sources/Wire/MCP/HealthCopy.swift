import LinkCore
import LinkHealth
import LinkJSON

/// A health object, member by member, as assistants get it.
struct HealthCopy {
  private(set) var bytes: [UInt8] = []
  private(set) var hasResults = false
  private let kind: HealthQuestion.Kind
  private let rejected: [RejectedMetric]
  private var count: Int?
  private var valueType: String?
  private var answered: String?
  private var reason: String?

  /// Copies an object; `nil` if it is none.
  init?(
    _ object: [UInt8], of kind: HealthQuestion.Kind, _ rejected: [RejectedMetric],
    _ window: ClosedRange<Timestamp>?
  ) {
    self.kind = kind
    self.rejected = kind == .summary ? rejected.sorted { $0.place < $1.place } : []
    do {
      try copy(object, window)
    } catch {
      return nil
    }
  }

  /// A sentence that stands for the object where its reader has it anyway.
  func brief(isError: Bool) -> String {
    if isError { return reason ?? "The phone did not answer the question." }
    switch kind {
    case .healthData:
      return "\(count ?? 0) points of \(valueType ?? "health data") are in structuredContent."
    case .summary: return "The results of the summary are in structuredContent."
    }
  }

  private mutating func copy(
    _ object: [UInt8], _ window: ClosedRange<Timestamp>?
  ) throws(JSONError) {
    var reader = JSONReader(object)
    var writer = JSONWriter(capacity: object.count + 200)
    try reader.beginObject()
    writer.beginObject()
    while let key = try reader.nextKey() {
      try copyMember(reader.text(of: key), &reader, &writer)
    }
    if !rejected.isEmpty {
      let names = rejected.map(\.valueType).joined(separator: ", ")
      writer.entry("error_message", (reason.map { $0 + ", " } ?? "no answer for ") + names)
    }
    if let answered, let window { writeClock(answered, window, &writer) }
    writer.endObject()
    try reader.finish()
    bytes = writer.bytes
  }

  private mutating func copyMember(
    _ name: String, _ reader: inout JSONReader, _ writer: inout JSONWriter
  ) throws(JSONError) {
    let isText = try reader.peek() == .string
    let isReason = name == "error_message"
    if isReason, isText {
      var copy = reader
      reason = try copy.string()
    }
    if isReason, !rejected.isEmpty { return try reader.skipValue() }
    writer.key(kind == .healthData && name == "health_data" ? "healthData" : name)
    switch name {
    case "success" where !rejected.isEmpty:
      try reader.skipValue()
      return writer.bool(false)
    case "results":
      hasResults = true
      if try reader.peek() == .array { return try copyResults(&reader, &writer) }
    case "count":
      if try reader.peek() == .number {
        var copy = reader
        count = try copy.intIfWhole().flatMap { Int(exactly: $0) }
      }
    case "value_type" where isText:
      var copy = reader
      valueType = try copy.string().bounded
    case "answered_at" where isText:
      var copy = reader
      answered = try copy.string()
    case _: break
    }
    try reader.copyValue(to: &writer)
  }

  /// Copies the results, and among them those of rejected lines, each at its place.
  private func copyResults(
    _ reader: inout JSONReader, _ writer: inout JSONWriter
  ) throws(JSONError) {
    var left = rejected[...]
    var place = 0
    func write(_ line: RejectedMetric, _ writer: inout JSONWriter) {
      writer.beginObject()
      writer.entry("value_type", line.valueType)
      writer.failure(line.reason)
      writer.endObject()
    }
    func writeRejected(_ writer: inout JSONWriter) {
      while let line = left.first, line.place <= place {
        write(line, &writer)
        left.removeFirst()
        place += 1
      }
    }
    try reader.beginArray()
    writer.beginArray()
    writeRejected(&writer)
    while try reader.nextElement() {
      try reader.copyValue(to: &writer)
      place += 1
      writeRejected(&writer)
    }
    // A phone may answer fewer lines than it was asked.
    for line in left { write(line, &writer) }
    writer.endArray()
  }

  /// More than this between two clocks is pointed out; ours, since networks and queues take time.
  private static let clockTolerance = Duration.seconds(30)

  /// Says so if the phone's clock cannot be right: it answered after it was asked and before its
  /// answer came.
  private func writeClock(
    _ answered: String, _ window: ClosedRange<Timestamp>, _ writer: inout JSONWriter
  ) {
    guard case .instant(let time, _)? = HealthTime(answered) else { return }
    let ahead = window.upperBound.duration(to: time)
    let behind = time.duration(to: window.lowerBound)
    let difference = max(ahead, behind)
    guard difference > Self.clockTolerance else { return }
    let seconds = difference.components.seconds
    let word = ahead > behind ? "ahead of" : "behind"
    writer.entry("clock_difference_seconds", ahead > behind ? seconds : -seconds)
    writer.entry(
      "clock_warning",
      "The phone's clock is \(seconds) s \(word) the server's: its days and times may be wrong.")
  }
}

extension JSONReader {
  /// Takes a value of any kind and writes it as it stands.
  fileprivate mutating func copyValue(to writer: inout JSONWriter) throws(JSONError) {
    _ = try peek()
    let start = position
    try skipValue()
    writer.raw(bytes[start..<position])
  }
}
