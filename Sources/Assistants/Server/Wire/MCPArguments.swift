package import HoldfastHealth
import HoldfastJSON

/// The uninterpreted arguments of a tool call, or of the query or form of a plain endpoint.
///
/// `null` and an empty string count as absent, because assistants often fill in optional arguments.
package struct MCPArguments: Sendable, Hashable, CustomStringConvertible {
  /// A value, as far as it can be read without knowing the tool.
  private enum Value: Sendable, Hashable {
    case text(String)
    case number(Int)
    case object(MCPArguments)
    case list([MCPArguments])
    /// No value. The argument counts as absent if the tool has one of that name.
    case null
    /// A value that no argument of that name can have.
    case other
  }

  private var values: [String: Value] = [:]
  /// Whether unknown names are rejected. In a URL, unknown names are allowed.
  private var isStrict = false

  /// The reason why arguments are invalid. It is sent to the assistant, which can correct them.
  package struct Fault: Error, Sendable, Hashable {
    /// A sentence that contains the argument's name, but never its value.
    package var message: String

    init(_ message: String) {
      self.message = message
    }
  }

  /// The maximum size of an argument, in bytes. The limit is Holdfast's own. The longest valid
  /// argument is an access token.
  package static let maxBytes = 512
  /// The maximum number of metrics in a summary. The limit is Holdfast's own. It is twice the
  /// number of value types.
  package static let maxMetrics = 32

  /// Creates empty arguments.
  package init() {}

  /// A description with only the names, because the values include login codes and tokens.
  package var description: String { "arguments \(values.keys.sorted())" }

  /// Creates arguments from the pairs of a query or form. If a name is repeated, its first pair is
  /// used.
  package init(_ pairs: [(name: String, value: String)]) {
    for (name, value) in pairs where values[name] == nil { values[name] = .text(value) }
  }

  /// Creates arguments from a JSON object whose syntax has been checked. Returns `nil` for any
  /// other value.
  init?(_ json: [UInt8]) {
    isStrict = true
    var reader = JSONReader(json)
    do {
      try read(&reader)
    } catch {
      return nil
    }
  }

  private mutating func read(_ reader: inout JSONReader) throws(JSONError) {
    try reader.beginObject()
    while let key = try reader.nextKey() {
      let name = reader.text(of: key)
      values[name] = try value(of: name, &reader)
    }
  }

  private func value(of name: String, _ reader: inout JSONReader) throws(JSONError) -> Value {
    switch try reader.peek() {
    case .string: return .text(try reader.string())
    case .null:
      try reader.null()
      return .null
    case .number where name == "code":
      // A model may send a six-digit code as a number. This works unless the code begins with a
      // zero.
      return try reader.intIfWhole().map { .text(String($0)) } ?? .null
    case .number where name == "max_bytes":
      return try reader.intIfWhole().flatMap { Int(exactly: $0) }.map(Value.number) ?? .other
    case .bool where Self.flagNames.contains(name):
      return .text(try reader.bool() ? "true" : "false")
    case .object where name == HealthOptions.Name.compareWith.rawValue:
      return try MCPArguments(reader.rawValue()).map(Value.object) ?? .null
    case .array where name == "metrics": return try metrics(&reader)
    case .array, .object, .number, .bool:
      try reader.skipValue()
      return .other
    }
  }

  private func metrics(_ reader: inout JSONReader) throws(JSONError) -> Value {
    var (metrics, areObjects): ([MCPArguments], Bool) = ([], true)
    try reader.beginArray()
    while try reader.nextElement() {
      let isObject = try reader.peek() == .object
      guard isObject, let metric = MCPArguments(try reader.rawValue()) else {
        if !isObject { try reader.skipValue() }
        areObjects = false
        continue
      }
      if metrics.count <= Self.maxMetrics { metrics.append(metric) }
    }
    return areObjects ? .list(metrics) : .other
  }

  // MARK: - What they mean

  /// The token of an earlier login, if it was passed as an argument.
  package var accessToken: String? {
    text("access_token").flatMap { $0.isEmpty ? nil : $0 }
  }

  /// Returns the words and the code of a login.
  package func pair() throws(Fault) -> (word: String, code: String) {
    try allowOnly(["word", "code"])
    return (try required("word"), try required("code"))
  }

  /// Throws an error if there are arguments other than a token.
  package func nothing() throws(Fault) { try allowOnly([]) }

  /// Returns the query for one value type.
  package func healthDataQuery() throws(Fault) -> HealthDataQuery {
    let own = ["value_type", "start_time", "end_time", "group_by", "statistic", "max_bytes"]
    try allowOnly(Set(own + Self.optionNames))
    let metric = try metric()
    let (start, end) = try span()
    return HealthDataQuery(
      valueType: metric.valueType, start: start, end: end, groupBy: metric.groupBy,
      statistic: metric.statistic, maxBytes: try maxBytes(), options: try options())
  }

  /// Returns the query for several value types. Invalid metrics are rejected individually.
  package func summaryQuery() throws(Fault) -> SummaryQuery {
    let own = ["start_time", "end_time", "metrics", "max_bytes"]
    try allowOnly(Set(own + Self.summaryOptionNames))
    let metrics = try metrics()
    let (start, end) = try span()
    var query = SummaryQuery(
      start: start, end: end, maxBytes: try maxBytes(), options: try options())
    for (index, line) in metrics.enumerated() {
      do throws(Fault) {
        try line.allowOnly(["value_type", "group_by", "statistic"], besides: [])
        query.metrics.append(try line.metric())
      } catch {
        let name = line.text("value_type") ?? ""
        query.rejected.append(
          RejectedMetric(
            index: index, valueType: String(name.prefix(64)), reason: error.message))
      }
    }
    guard let first = query.rejected.first, query.metrics.isEmpty else { return query }
    throw Fault(first.reason)
  }

  private func metrics() throws(Fault) -> [MCPArguments] {
    switch values["metrics"] {
    case nil, .null, .text(""): return []
    case .list(let metrics):
      guard metrics.count <= Self.maxMetrics else {
        throw Fault("metrics has more than \(Self.maxMetrics) lines")
      }
      return metrics
    case .text, .number, .object, .other:
      throw Fault(#"metrics must be a list of objects, such as [{"value_type":"SLEEP"}]"#)
    }
  }

  /// Throws an error if there are arguments that the tool's schema does not contain.
  func allowOnly(
    _ names: Set<String>, besides token: Set<String> = ["access_token"]
  ) throws(Fault) {
    guard isStrict, let name = Set(values.keys).subtracting(names.union(token)).min() else {
      return
    }
    let known = names.sorted().joined(separator: ", ")
    throw Fault(
      known.isEmpty
        ? "\(Self.shown(name)) does not apply: there are no arguments here"
        : "\(Self.shown(name)) does not apply; the arguments here are \(known)")
  }

  /// Returns an argument's name. It is shortened because it may be any string.
  private static func shown(_ name: String) -> String { String(name.prefix(64)) }

  private func maxBytes() throws(Fault) -> Int? {
    let bounds = HealthDataQuery.byteBounds
    let fault = Fault(
      "max_bytes must be a whole number from \(bounds.lowerBound) to \(bounds.upperBound)")
    let number: Int? =
      switch values["max_bytes"] {
      case nil, .null, .text(""): nil
      case .number(let number): number
      case .text(let text): try Self.whole(text, or: fault)
      case .object, .list, .other: throw fault
      }
    guard number.map(bounds.contains) ?? true else { throw fault }
    return number
  }

  /// Parses a whole number in JSON's syntax.
  private static func whole(_ text: String, or fault: Fault) throws(Fault) -> Int {
    var reader = JSONReader(Array(text.utf8))
    guard (try? reader.peek()) == .number, let number = try? reader.intIfWhole(),
      (try? reader.finish()) != nil, let number = Int(exactly: number)
    else { throw fault }
    return number
  }

  private func text(_ name: String) -> String? {
    guard case .text(let text)? = values[name] else { return nil }
    return text
  }

  /// Returns whether an argument has a value that no argument of its name can have.
  func isUnusable(_ name: String) -> Bool { values[name] == .other }

  /// The span of a comparison, if it was passed as an object.
  var comparison: MCPArguments? {
    guard case .object(let span)? = values[HealthOptions.Name.compareWith.rawValue] else {
      return nil
    }
    return span
  }

  func span() throws(Fault) -> (HealthTime, HealthTime) {
    (try time("start_time"), try time("end_time"))
  }

  private func time(_ name: String) throws(Fault) -> HealthTime {
    try Self.time(required(name), name)
  }

  /// Reads a time. `name` is the name of its argument.
  static func time(_ text: String, _ name: String) throws(Fault) -> HealthTime {
    if let time = HealthTime(text) { return time }
    switch HealthTime.Fault(text) {
    case .noSuchDate:
      throw Fault("\(name) names a day or a time of day that does not exist")
    case .outOfRange:
      throw Fault("\(name) is out of range: years 1900 to 2199 can be asked for")
    case .otherForm:
      throw Fault("\(name) must be an ISO 8601 date or time, such as 2026-03-01T00:00:00")
    }
  }

  private func required(_ name: String) throws(Fault) -> String {
    guard let text = try optional(name) else {
      throw Fault("\(name) is missing")
    }
    return text
  }

  private func metric() throws(Fault) -> SummaryMetric {
    guard let valueType = HealthValueType(rawValue: try required("value_type")) else {
      throw Fault(
        "value_type must be a word such as STEPS or RESTING_HEART_RATE; list_health_types names "
          + "those with data")
    }
    return SummaryMetric(
      valueType: valueType,
      groupBy: try value("group_by", HealthGrouping.allCases.map(\.rawValue)),
      statistic: try value("statistic", HealthStatistic.allCases.map(\.rawValue)))
  }

  /// Reads a name regardless of its letter case. Answers use lower case where queries use upper
  /// case.
  func value<Value: RawRepresentable<String>>(
    _ name: String, _ allowed: [String]
  ) throws(Fault) -> Value? {
    guard let text = try optional(name) else { return nil }
    guard let value = Value(rawValue: text.uppercased()) else {
      throw Fault("\(name) must be one of \(allowed.joined(separator: ", "))")
    }
    return value
  }

  func optional(_ name: String) throws(Fault) -> String? {
    guard !isUnusable(name) else { throw Fault("\(name) must be a string") }
    guard let text = text(name), !text.isEmpty else { return nil }
    guard text.utf8.count <= Self.maxBytes else {
      throw Fault("\(name) is longer than \(Self.maxBytes) bytes")
    }
    return text
  }
}
