import LinkHealth
import LinkWire

/// The refusal of arguments, in the words that an assistant reads.
struct MCPWireFault: Error, Hashable {
  var message: String

  init(_ message: String) { self.message = message }
}

/// The arguments of a tool, told a second time.
///
/// Of repeated members of an object the last text counts, of those of a query the first.
struct MCPWireArguments {
  private var members: [SessionBranch]
  private var isStrict: Bool

  /// The members of an object.
  init(_ members: [SessionBranch]) { (self.members, isStrict) = (members, true) }

  /// No arguments, or the pairs of a query.
  init(pairs: [(String, String)] = []) {
    members = pairs.reversed().map { SessionBranch(name: $0.0, value: .text($0.1)) }
    isStrict = false
  }

  private func text(_ name: String) -> String? {
    let texts = members.compactMap { member -> String? in
      guard member.name == name else { return nil }
      if case .text(let text) = member.value { return text }
      guard case .number(let digits) = member.value, name == "code" else { return nil }
      return Int64(digits).map { "\($0)" }
    }
    return texts.last
  }

  /// Whether a member is of a type that it cannot have.
  private func isStrange(_ name: String) -> Bool {
    members.contains { member in
      guard member.name == name else { return false }
      switch member.value {
      case .text, .null: return false
      case .object, .flag: return true
      case .number(let digits): return name != "code" && (name != "max_bytes" || Int(digits) == nil)
      case .list(let all): return name != "metrics" || all.contains { !Self.isObject($0) }
      }
    }
  }

  private static func isObject(_ tree: SessionTree) -> Bool {
    if case .object = tree { return true }
    return false
  }

  private var lines: [MCPWireArguments] {
    let all = members.flatMap { member -> [SessionTree] in
      guard member.name == "metrics", case .list(let all) = member.value else { return [] }
      return all
    }
    return all.compactMap { line in
      guard case .object(let members) = line else { return nil }
      return MCPWireArguments(members)
    }
  }

  var description: String {
    let names = Set(members.map(\.name)).filter { text($0) != nil }
    return "arguments \(names.sorted())"
  }

  var accessToken: String? { text("access_token") == "" ? nil : text("access_token") }

  // What tools are asked.

  func pair() throws(MCPWireFault) -> [String] {
    try allow(["code", "word"])
    return [try must("word"), try must("code")]
  }

  func nothing() throws(MCPWireFault) { try allow([]) }

  func healthDataQuery() throws(MCPWireFault) -> HealthDataQuery {
    try allow(["end_time", "group_by", "max_bytes", "start_time", "statistic", "value_type"])
    let metric = try metric()
    let (start, end) = (try time("start_time"), try time("end_time"))
    return HealthDataQuery(
      valueType: metric.valueType, start: start, end: end, groupBy: metric.groupBy,
      statistic: metric.statistic, maxBytes: try length())
  }

  func summaryQuery() throws(MCPWireFault) -> SummaryQuery {
    try allow(["end_time", "max_bytes", "metrics", "start_time"])
    if isStrange("metrics") || text("metrics") ?? "" != "" {
      throw MCPWireFault("metrics must be a list of objects")
    }
    let lines = lines
    if lines.count > 32 { throw MCPWireFault("metrics has more than 32 lines") }
    let (start, end) = (try time("start_time"), try time("end_time"))
    var query = SummaryQuery(start: start, end: end, maxBytes: try length())
    for (place, line) in lines.enumerated() {
      do throws(MCPWireFault) {
        try line.allow(["group_by", "statistic", "value_type"], token: false)
        query.metrics.append(try line.metric())
      } catch {
        let name = (line.text("value_type") ?? "").prefix(64)
        query.rejected.append(
          RejectedMetric(place: place, valueType: String(name), reason: error.message))
      }
    }
    if !lines.isEmpty, query.metrics.isEmpty { throw MCPWireFault(query.rejected[0].reason) }
    return query
  }

  // Members.

  private func allow(_ names: [String], token: Bool = true) throws(MCPWireFault) {
    guard isStrict else { return }
    let odd = members.filter { member in
      // A code that is no whole number is as good as none.
      if member.name == "code", case .number(let digits) = member.value, Int64(digits) == nil {
        return false
      }
      return !names.contains(member.name) && !(token && member.name == "access_token")
    }
    guard let name = odd.map(\.name).sorted().first?.prefix(64) else { return }
    let known = names.joined(separator: ", ")
    let rest = names.isEmpty ? ": there are no arguments here" : "; the arguments here are \(known)"
    throw MCPWireFault("\(name) does not apply\(rest)")
  }

  private func given(_ name: String) throws(MCPWireFault) -> String? {
    if isStrange(name) { throw MCPWireFault("\(name) must be a text") }
    guard let text = text(name), text != "" else { return nil }
    if text.utf8.count > 512 { throw MCPWireFault("\(name) is longer than 512 bytes") }
    return text
  }

  private func must(_ name: String) throws(MCPWireFault) -> String {
    guard let text = try given(name) else { throw MCPWireFault("\(name) is missing") }
    return text
  }

  private func time(_ name: String) throws(MCPWireFault) -> HealthTime {
    let text = try must(name)
    if let time = HealthTime(text) { return time }
    let rest =
      switch HealthTime.Fault(text) {
      case .noSuchDate: "names a day or a time of day that does not exist"
      case .outOfRange: "is out of range: years 1900 to 2199 can be asked for"
      case .otherForm: "must be an ISO 8601 date or time, such as 2026-03-01T00:00:00"
      }
    throw MCPWireFault("\(name) \(rest)")
  }

  private func length() throws(MCPWireFault) -> Int? {
    let numbers = members.compactMap { member -> Int? in
      guard member.name == "max_bytes", case .number(let digits) = member.value else { return nil }
      return Int(digits)
    }
    let text = text("max_bytes") ?? ""
    let isOdd = isStrange("max_bytes")
    if !isOdd, numbers.isEmpty, text == "" { return nil }
    guard !isOdd, let number = numbers.last ?? Int(text), number > 1_999, number < 8_388_609 else {
      throw MCPWireFault("max_bytes must be a whole number from 2000 to 8388608")
    }
    return number
  }

  private func metric() throws(MCPWireFault) -> SummaryMetric {
    guard let type = try word("value_type", HealthValueType.allCases) else {
      throw MCPWireFault("value_type is missing")
    }
    return SummaryMetric(
      valueType: type, groupBy: try word("group_by", HealthGrouping.allCases),
      statistic: try word("statistic", HealthStatistic.allCases))
  }

  private func word<Word: RawRepresentable<String>>(
    _ name: String, _ all: [Word]
  ) throws(MCPWireFault) -> Word? {
    guard let text = try given(name)?.uppercased() else { return nil }
    guard let word = all.first(where: { $0.rawValue == text }) else {
      let words = all.map(\.rawValue).joined(separator: ", ")
      throw MCPWireFault("\(name) must be one of \(words)")
    }
    return word
  }
}
