public import LinkHealth
import LinkJSON

/// The arguments of a tool, or of a plain endpoint's query or form, before they are understood.
///
/// `null` and an empty text count as left out: assistants fill in what they need not give.
public struct MCPArguments: Sendable, Hashable, CustomStringConvertible {
  private var texts: [String: String] = [:]
  private var metrics: [[String: String]] = []
  /// The members whose value is of another type.
  private var strange: Set<String> = []

  /// Why arguments are none for a tool; said to the assistant, so that it can do better.
  public struct Fault: Error, Sendable, Hashable {
    /// A sentence that names the argument and never its value.
    public var message: String

    init(_ message: String) {
      self.message = message
    }
  }

  /// The longest argument in bytes; ours, the longest that makes sense is an access token.
  public static let maxBytes = 512
  /// Lines of a summary; ours, twice as many as there are kinds of data.
  public static let maxMetrics = 32

  /// No arguments.
  public init() {}

  /// Only their names: among the values are pairs and tokens.
  public var description: String { "arguments \(texts.keys.sorted())" }

  /// The pairs of a query or of a form; the first of a name counts.
  public init(_ pairs: [(name: String, value: String)]) {
    for (name, value) in pairs where texts[name] == nil { texts[name] = value }
  }

  /// Reads an object that was checked before; `nil` for anything else.
  init?(_ json: [UInt8]) {
    var reader = JSONReader(json)
    do {
      guard try reader.peek() == .object else { return nil }
      try read(&reader)
    } catch {
      return nil
    }
  }

  private mutating func read(_ reader: inout JSONReader) throws(JSONError) {
    try reader.beginObject()
    while let key = try reader.nextKey() {
      let name = reader.text(of: key)
      switch try reader.peek() {
      case .string: texts[name] = try reader.string()
      case .null: try reader.null()
      case .number where name == "code":
        // Six digits look like a number to a model; without a leading zero they are one.
        if let code = try reader.intIfWhole() { texts[name] = String(code) }
      case .array where name == "metrics": try readMetrics(&reader)
      case .array, .object, .number, .bool:
        strange.insert(name)
        try reader.skipValue()
      }
    }
  }

  private mutating func readMetrics(_ reader: inout JSONReader) throws(JSONError) {
    try reader.beginArray()
    while try reader.nextElement() {
      let isObject = try reader.peek() == .object
      guard isObject, let metric = MCPArguments(try reader.rawValue()) else {
        if !isObject { try reader.skipValue() }
        strange.insert("metrics")
        continue
      }
      strange.formUnion(metric.strange)
      if metrics.count <= Self.maxMetrics { metrics.append(metric.texts) }
    }
  }

  // MARK: - What they mean

  /// The token of an earlier login, where it was given as an argument.
  public var accessToken: String? {
    texts["access_token"].flatMap { $0.isEmpty ? nil : $0 }
  }

  /// The word and the code of a login.
  public func pair() throws(Fault) -> (word: String, code: String) {
    (try required("word"), try required("code"))
  }

  /// A question for one kind of data.
  public func healthDataQuery() throws(Fault) -> HealthDataQuery {
    let metric = try Self.metric(texts, strange)
    let (start, end) = try span()
    return HealthDataQuery(
      valueType: metric.valueType, start: start, end: end, groupBy: metric.groupBy,
      statistic: metric.statistic)
  }

  /// A question for several kinds of data.
  public func summaryQuery() throws(Fault) -> SummaryQuery {
    guard !strange.contains("metrics"), texts["metrics", default: ""].isEmpty else {
      throw Fault("metrics must be a list of objects")
    }
    guard metrics.count <= Self.maxMetrics else {
      throw Fault("metrics has more than \(Self.maxMetrics) lines")
    }
    let (start, end) = try span()
    var lines: [SummaryMetric] = []
    for metric in metrics { lines.append(try Self.metric(metric, strange)) }
    return SummaryQuery(start: start, end: end, metrics: lines)
  }

  private func span() throws(Fault) -> (HealthTime, HealthTime) {
    (try time("start_time"), try time("end_time"))
  }

  private func time(_ name: String) throws(Fault) -> HealthTime {
    guard let time = HealthTime(try required(name)) else {
      throw Fault("\(name) must be an ISO 8601 date or time, such as 2026-03-01T00:00:00")
    }
    return time
  }

  private func required(_ name: String) throws(Fault) -> String {
    guard let text = try Self.optional(name, texts, strange) else {
      throw Fault("\(name) is missing")
    }
    return text
  }

  private static func metric(
    _ texts: [String: String], _ strange: Set<String>
  ) throws(Fault) -> SummaryMetric {
    guard
      let valueType: HealthValueType = try word(
        "value_type", HealthValueType.allCases.map(\.rawValue), texts, strange)
    else { throw Fault("value_type is missing") }
    return SummaryMetric(
      valueType: valueType,
      groupBy: try word("group_by", HealthGrouping.allCases.map(\.rawValue), texts, strange),
      statistic: try word("statistic", HealthStatistic.allCases.map(\.rawValue), texts, strange))
  }

  /// Words are taken in any case: an answer writes in lower case what a question has in upper.
  private static func word<Word: RawRepresentable<String>>(
    _ name: String, _ allowed: [String], _ texts: [String: String], _ strange: Set<String>
  ) throws(Fault) -> Word? {
    guard let text = try optional(name, texts, strange) else { return nil }
    guard let word = Word(rawValue: text.uppercased()) else {
      throw Fault("\(name) must be one of \(allowed.joined(separator: ", "))")
    }
    return word
  }

  private static func optional(
    _ name: String, _ texts: [String: String], _ strange: Set<String>
  ) throws(Fault) -> String? {
    guard !strange.contains(name) else { throw Fault("\(name) must be a text") }
    guard let text = texts[name], !text.isEmpty else { return nil }
    guard text.utf8.count <= maxBytes else {
      throw Fault("\(name) is longer than \(maxBytes) bytes")
    }
    return text
  }
}
