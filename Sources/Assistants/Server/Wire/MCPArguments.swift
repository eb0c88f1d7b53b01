package import HoldfastHealth
import HoldfastJSON

/// The uninterpreted arguments of a tool call, or of the query or form of a plain endpoint.
///
/// `null` and an empty string count as absent, because assistants often fill in optional arguments.
package struct MCPArguments: Sendable, Hashable, CustomStringConvertible {
  private var texts: [String: String] = [:]
  private var numbers: [String: Int] = [:]
  private var metrics: [MCPArguments] = []
  /// The span of a comparison, if it was passed as an object.
  private(set) var comparison: [MCPArguments] = []
  /// The names of the members whose value has the wrong type.
  private(set) var strange: Set<String> = []

  /// The names of members without a value. Such a member counts as absent if the tool has an
  /// argument of that name.
  private var unread: Set<String> = []
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
  package var description: String { "arguments \(texts.keys.sorted())" }

  /// Creates arguments from the pairs of a query or form. If a name is repeated, its first pair is
  /// used.
  package init(_ pairs: [(name: String, value: String)]) {
    for (name, value) in pairs where texts[name] == nil { texts[name] = value }
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
      switch try reader.peek() {
      case .string: texts[name] = try reader.string()
      case .null:
        try reader.null()
        unread.insert(name)
      case .number where name == "code":
        // A model may send a six-digit code as a number. This works unless the code begins with a
        // zero.
        if let code = try reader.intIfWhole() { texts[name] = String(code) }
      case .number where name == "max_bytes":
        numbers[name] = try reader.intIfWhole().flatMap { Int(exactly: $0) }
        if numbers[name] == nil { strange.insert(name) }
      case .bool where Self.flagNames.contains(name):
        texts[name] = try reader.bool() ? "true" : "false"
      case .object where name == HealthOptions.Name.compareWith.rawValue:
        unread.insert(name)
        comparison = try [MCPArguments(reader.rawValue())].compactMap(\.self)
      case .array where name == "metrics":
        unread.insert(name)
        try readMetrics(&reader)
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
      if metrics.count <= Self.maxMetrics { metrics.append(metric) }
    }
  }

  // MARK: - What they mean

  /// The token of an earlier login, if it was passed as an argument.
  package var accessToken: String? {
    texts["access_token"].flatMap { $0.isEmpty ? nil : $0 }
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
    guard !strange.contains("metrics"), texts["metrics", default: ""].isEmpty else {
      throw Fault(#"metrics must be a list of objects, such as [{"value_type":"SLEEP"}]"#)
    }
    guard metrics.count <= Self.maxMetrics else {
      throw Fault("metrics has more than \(Self.maxMetrics) lines")
    }
    let (start, end) = try span()
    var query = SummaryQuery(
      start: start, end: end, maxBytes: try maxBytes(), options: try options())
    for (index, line) in metrics.enumerated() {
      do throws(Fault) {
        try line.allowOnly(["value_type", "group_by", "statistic"], besides: [])
        query.metrics.append(try line.metric())
      } catch {
        let name = line.texts["value_type"] ?? ""
        query.rejected.append(
          RejectedMetric(
            index: index, valueType: String(name.prefix(64)), reason: error.message))
      }
    }
    guard let first = query.rejected.first, query.metrics.isEmpty else { return query }
    throw Fault(first.reason)
  }

  /// Throws an error if there are arguments that the tool's schema does not contain.
  func allowOnly(
    _ names: Set<String>, besides token: Set<String> = ["access_token"]
  ) throws(Fault) {
    let given = strange.union(texts.keys).union(numbers.keys).union(unread)
    guard isStrict, let name = given.subtracting(names.union(token)).min() else { return }
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
    guard !strange.contains("max_bytes") else { throw fault }
    guard let number = numbers["max_bytes"] ?? texts["max_bytes"].flatMap(Self.whole) else {
      guard texts["max_bytes", default: ""].isEmpty else { throw fault }
      return nil
    }
    guard bounds.contains(number) else { throw fault }
    return number
  }

  /// Parses a whole number in JSON's syntax.
  private static func whole(_ text: String) -> Int? {
    var reader = JSONReader(Array(text.utf8))
    guard (try? reader.peek()) == .number, let number = try? reader.intIfWhole(),
      (try? reader.finish()) != nil
    else { return nil }
    return Int(exactly: number)
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
    guard !strange.contains(name) else { throw Fault("\(name) must be a string") }
    guard let text = texts[name], !text.isEmpty else { return nil }
    guard text.utf8.count <= Self.maxBytes else {
      throw Fault("\(name) is longer than \(Self.maxBytes) bytes")
    }
    return text
  }
}

/// A namespace for values of header fields that repeat a part of the body.
///
/// See MCP 2026-07-28, Streamable HTTP, "Value Encoding".
package enum MCPFieldValue {
  private static let start = "=?base64?"
  private static let end = "?="

  /// Returns the decoded text of a value that is Base64 between `=?base64?` and `?=`. All other
  /// values are returned unchanged.
  ///
  /// Returns `nil` if the encoded content is not Base64 (RFC 4648 section 4) or not UTF-8.
  package static func text(of value: String) -> String? {
    guard value.hasPrefix(start), value.hasSuffix(end),
      value.utf8.count >= start.utf8.count + end.utf8.count
    else { return value }
    let letters = value.utf8.dropFirst(start.utf8.count).dropLast(end.utf8.count)
    return bytes(Array(letters)).flatMap { String(validating: $0, as: UTF8.self) }
  }

  /// Decodes padded Base64.
  private static func bytes(_ letters: [UInt8]) -> [UInt8]? {
    guard letters.count % 4 == 0 else { return nil }
    let padding = letters.reversed().prefix(2).prefix { $0 == UInt8(ascii: "=") }.count
    // The alphabets of Base64 and its URL-safe variant differ in two characters.
    var safe: [UInt8] = []
    for letter in letters.dropLast(padding) {
      switch letter {
      case UInt8(ascii: "+"): safe.append(UInt8(ascii: "-"))
      case UInt8(ascii: "/"): safe.append(UInt8(ascii: "_"))
      case UInt8(ascii: "-"), UInt8(ascii: "_"): return nil
      case _: safe.append(letter)
      }
    }
    return Base64URL.decode(letters: safe)
  }
}
