import HoldfastCore
import HoldfastHealth
import HoldfastJSON

/// A copy of a health object for assistants. It is edited member by member and contains no white
/// space.
struct ToolTexts {
  private(set) var bytes: [UInt8] = []
  private(set) var hasResults = false
  private let kind: HealthQuestion.Kind
  private let provider: MCPProvider
  private let rejected: [RejectedMetric]
  private var failure = Failure()
  private var answered: String?

  /// Copies an object. Returns `nil` if it is not a JSON object.
  init?(
    _ object: [UInt8], of kind: HealthQuestion.Kind, _ rejected: [RejectedMetric],
    _ window: ClosedRange<Timestamp>?, from provider: MCPProvider
  ) {
    self.kind = kind
    self.provider = provider
    self.rejected = kind == .summary ? rejected.sorted { $0.index < $1.index } : []
    do {
      try copy(object, window)
    } catch {
      return nil
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
      failure.isFailure = true
      failure.reason = (failure.reason.map { $0 + ", " } ?? "no answer for ") + names
      writer.entry("error_message", failure.reason)
    }
    failure.write(error: hasResults ? "partly_answered" : provider.refusal, to: &writer)
    if let answered, let window { writeClock(answered, window, &writer) }
    writer.endObject()
    try reader.finish()
    bytes = writer.bytes
  }

  private mutating func copyMember(
    _ name: String, _ reader: inout JSONReader, _ writer: inout JSONWriter
  ) throws(JSONError) {
    guard try failure.copies(name, reader) else { return try reader.skipValue() }
    if name == "error_message", !rejected.isEmpty { return try reader.skipValue() }
    writer.key(kind == .healthData && name == "health_data" ? "healthData" : name)
    switch name {
    case "success" where !rejected.isEmpty:
      try reader.skipValue()
      return writer.bool(false)
    case "results":
      hasResults = true
      if try reader.peek() == .array { return try copyResults(&reader, &writer) }
    case "answered_at":
      var copy = reader
      answered = try copy.textIfString()
    case _: break
    }
    try reader.copyValue(to: &writer)
  }

  /// Copies the results, and inserts a result for each rejected metric at its index.
  private func copyResults(
    _ reader: inout JSONReader, _ writer: inout JSONWriter
  ) throws(JSONError) {
    var left = rejected[...]
    var index = 0
    func write(_ line: RejectedMetric, _ writer: inout JSONWriter) {
      writer.beginObject()
      writer.entry("value_type", line.valueType)
      writer.failure(line.reason)
      Failure(isFailure: true, reason: line.reason).write(error: "invalid_arguments", to: &writer)
      writer.endObject()
    }
    func writeRejected(_ writer: inout JSONWriter) {
      while let line = left.first, line.index <= index {
        write(line, &writer)
        left.removeFirst()
        index += 1
      }
    }
    try reader.beginArray()
    writer.beginArray()
    writeRejected(&writer)
    while try reader.nextElement() {
      try copyResult(&reader, &writer)
      index += 1
      writeRejected(&writer)
    }
    // A phone may return fewer results than were requested.
    for line in left { write(line, &writer) }
    writer.endArray()
  }

  private func copyResult(
    _ reader: inout JSONReader, _ writer: inout JSONWriter
  ) throws(JSONError) {
    guard try reader.peek() == .object else { return try reader.copyValue(to: &writer) }
    var failure = Failure()
    try reader.beginObject()
    writer.beginObject()
    while let key = try reader.nextKey() {
      let name = reader.text(of: key)
      guard try failure.copies(name, reader) else {
        try reader.skipValue()
        continue
      }
      writer.key(name)
      try reader.copyValue(to: &writer)
    }
    failure.write(error: provider.refusal, to: &writer)
    writer.endObject()
  }

  /// The maximum difference between two clocks without a warning. The value is Holdfast's own and
  /// allows for delays in networks and queues.
  private static let clockTolerance = Duration.seconds(30)

  /// Writes a warning if the phone's clock must be wrong: its time is before the request was sent
  /// or after the answer arrived.
  private func writeClock(
    _ answered: String, _ window: ClosedRange<Timestamp>, _ writer: inout JSONWriter
  ) {
    guard case .instant(let time, _)? = HealthTime(answered) else { return }
    let ahead = window.upperBound.duration(to: time)
    let behind = time.duration(to: window.lowerBound)
    let difference = max(ahead, behind)
    guard difference > Self.clockTolerance else { return }
    let seconds = difference.components.seconds
    let relation = ahead > behind ? "ahead of" : "behind"
    writer.entry("clock_difference_seconds", ahead > behind ? seconds : -seconds)
    writer.entry(
      "clock_warning",
      "The phone's clock is \(seconds) s \(relation) the server's: its days and times may be wrong."
    )
  }
}

/// The texts of a failure. Phones send only `error_message`. Refusals for assistants have `error`
/// and `message`.
private struct Failure {
  var isFailure = false
  var reason: String?
  private var hasError = false
  private var hasSentence = false

  init(isFailure: Bool = false, reason: String? = nil) {
    (self.isFailure, self.reason) = (isFailure, reason)
  }

  /// Reads a member before it is copied, and returns whether to copy it.
  mutating func copies(_ name: String, _ reader: JSONReader) throws(JSONError) -> Bool {
    var reader = reader
    switch (name, try reader.peek()) {
    case ("success", .bool): isFailure = try !reader.bool()
    case ("error_message", .string): reason = try reader.string()
    case ("error", .string): hasError = true
    case ("message", .string): hasSentence = true
    // The schema declares both as strings.
    case ("error", _), ("message", _): return false
    case _: break
    }
    return true
  }

  /// Writes the missing members `error` and `message` of a failure.
  func write(error name: String, to writer: inout JSONWriter) {
    guard isFailure else { return }
    if !hasError { writer.entry("error", name) }
    guard !hasSentence else { return }
    let said = reason.flatMap { $0.isEmpty ? nil : $0 }
    writer.entry("message", said ?? "The question was not answered.")
  }
}

extension JSONReader {
  /// Reads a value of any type and writes it without the white space between its tokens.
  fileprivate mutating func copyValue(to writer: inout JSONWriter) throws(JSONError) {
    _ = try peek()
    let start = position
    try skipValue()
    writer.raw(bytes[start..<position].withoutBlanks)
  }
}

extension ArraySlice<UInt8> {
  /// The JSON text without the white space between its tokens (RFC 8259 section 2).
  fileprivate var withoutBlanks: [UInt8] {
    var text: [UInt8] = []
    text.reserveCapacity(count)
    var (isInString, isEscaped) = (false, false)
    for byte in self where isInString || byte > 0x20 {
      text.append(byte)
      if isEscaped {
        isEscaped = false
      } else if byte == UInt8(ascii: "\"") {
        isInString.toggle()
      } else {
        isEscaped = isInString && byte == UInt8(ascii: "\\")
      }
    }
    return text
  }
}
