import LinkCore
import LinkHealth
import LinkJSON
import LinkServerCore
import LinkWire

/// A JSON-RPC message as it was posted, or what is wrong with it.
enum MCPReading: Sendable, Equatable {
  case request(RPCID, method: String, params: MCPMembers)
  case notification(method: String, params: MCPMembers)
  case response
  case fault(code: Int, words: String, id: RPCID?)

  /// Reads a body.
  init(_ bytes: [UInt8]) {
    guard let tree = SessionTree(bytes) else {
      self = .fault(code: -32_700, words: Self.parseError(bytes), id: nil)
      return
    }
    self.init(tree)
  }

  /// Reads one message, of a batch or alone.
  init(_ tree: SessionTree) {
    let all = MCPMembers(tree)
    let id = all["id"].flatMap { RPCID(mcp: $0) }
    func fault(_ words: String) -> MCPReading {
      .fault(code: -32_600, words: "Invalid request: \(words)", id: id)
    }
    switch tree {
    case .object: self = Self.message(all, id, fault)
    case .list: self = fault("a batch; send one message at a time")
    case .text, .number, .flag, .null: self = fault("no JSON-RPC message")
    }
  }

  private static func message(
    _ all: MCPMembers, _ id: RPCID?, _ fault: (String) -> MCPReading
  ) -> MCPReading {
    let answers = all["result"] != nil || all["error"] != nil
    guard all["jsonrpc"] == .text("2.0") else { return fault("jsonrpc must be \"2.0\"") }
    if all["id"] != nil, id == nil, !answers {
      return fault("id must be a string or a whole number")
    }
    guard let method = all["method"] else {
      return answers ? .response : fault("method is missing")
    }
    guard case .text(let name) = method, (1...128).contains(name.utf8.count) else {
      return fault("method is no name")
    }
    let params = all["params"] ?? .object([])
    guard case .object = params else { return fault("params must be an object") }
    guard let id else { return .notification(method: name, params: MCPMembers(params)) }
    return .request(id, method: name, params: MCPMembers(params))
  }

  /// What is said of a body that is no JSON.
  static func parseError(_ bytes: [UInt8]) -> String {
    var reader = JSONReader(bytes)
    do throws(JSONError) {
      try reader.skipValue()
      try reader.finish()
      return "none"
    } catch {
      return "Parse error: \(error.detail) at byte \(error.offset)"
    }
  }
}

/// The members of what may be an object; of those with one name the last.
struct MCPMembers: Sendable, Equatable {
  private(set) var all: [SessionBranch] = []

  init(_ tree: SessionTree?) {
    if case .object(let all)? = tree { self.all = all }
  }

  /// The pairs of a query, of which the first of a name counts.
  init(_ pairs: [MCPCall.Pair]) {
    all = pairs.reversed().map { SessionBranch(name: $0.name, value: .text($0.value)) }
  }

  subscript(name: String) -> SessionTree? { all.last { $0.name == name }?.value }

  func text(_ name: String) -> String? {
    guard case .text(let text)? = self[name] else { return nil }
    return text
  }

  /// The members of a member; `nil` unless it is an object.
  func members(_ name: String) -> MCPMembers? {
    guard let tree = self[name], case .object = tree else { return nil }
    return MCPMembers(tree)
  }

  /// What a client says that it is called.
  func client(_ name: String) -> AssistantName? {
    guard let info = members(name) else { return nil }
    return AssistantName(info.text("name"), version: info.text("version"))
  }
}

/// What an assistant means by the arguments of a tool.
struct MCPRequest {
  /// A sentence for the assistant.
  struct Fault: Error {
    var words: String
  }

  let all: MCPMembers
  /// Whether names that the tool does not know are refused.
  let isStrict: Bool

  var token: String? {
    let token = all.text("access_token")
    return token == "" ? nil : token
  }

  func ask(
    _ tool: MCPTool, of assistant: AssistantName?
  ) throws(Fault) -> (RelayAsk, [RejectedMetric]) {
    switch tool {
    case .directLogin:
      try allow(["code", "word"])
      let word = try must("word")
      return (.login(word: word, code: try must("code"), assistant: assistant), [])
    case .logout:
      try allow([])
      return (.logout, [])
    case .getHealthMetrics:
      try allow(["end_time", "group_by", "max_bytes", "start_time", "statistic", "value_type"])
      let line = try line()
      let start = try time("start_time")
      return (
        .question(
          .healthData(
            HealthDataQuery(
              valueType: line.valueType, start: start, end: try time("end_time"),
              groupBy: line.groupBy, statistic: line.statistic, maxBytes: try maxBytes()))), []
      )
    case .getSummary: return try summary()
    }
  }

  private func summary() throws(Fault) -> (RelayAsk, [RejectedMetric]) {
    try allow(["end_time", "max_bytes", "metrics", "start_time"])
    let lines = try lines()
    let start = try time("start_time")
    var query = SummaryQuery(start: start, end: try time("end_time"), maxBytes: try maxBytes())
    var rejected: [RejectedMetric] = []
    for (place, line) in lines.enumerated() {
      let line = MCPRequest(all: line, isStrict: true)
      do throws(Fault) {
        try line.allow(["group_by", "statistic", "value_type"], token: [])
        query.metrics.append(try line.line())
      } catch {
        let name = String((line.all.text("value_type") ?? "").prefix(64))
        rejected.append(RejectedMetric(place: place, valueType: name, reason: error.words))
      }
    }
    if let first = rejected.first, query.metrics.isEmpty { throw Fault(words: first.reason) }
    return (.question(.summary(query)), rejected)
  }

  private func lines() throws(Fault) -> [MCPMembers] {
    switch all["metrics"] {
    case nil, .null, .text(""): return []
    case .list(let all):
      let lines = all.compactMap { MCPMembers(line: $0) }
      guard lines.count == all.count else { break }
      if all.count > 32 { throw Fault(words: "metrics has more than 32 lines") }
      return lines
    case .object, .text, .number, .flag: break
    }
    throw Fault(words: "metrics must be a list of objects")
  }

  private func line() throws(Fault) -> SummaryMetric {
    let type: HealthValueType? = try word("value_type", HealthValueType.allCases.map(\.rawValue))
    guard let type else { throw Fault(words: "value_type is missing") }
    let group: HealthGrouping? = try word("group_by", HealthGrouping.allCases.map(\.rawValue))
    return SummaryMetric(
      valueType: type, groupBy: group,
      statistic: try word("statistic", HealthStatistic.allCases.map(\.rawValue)))
  }

  private func word<Word: RawRepresentable<String>>(
    _ name: String, _ all: [String]
  ) throws(Fault) -> Word? {
    guard let text = try may(name) else { return nil }
    for word in all where word == text.uppercased() { return Word(rawValue: word) }
    throw Fault(words: "\(name) must be one of \(all.joined(separator: ", "))")
  }

  private func time(_ name: String) throws(Fault) -> HealthTime {
    let text = try must(name)
    if let time = HealthTime(text) { return time }
    switch text {
    case "2026-02-30":
      throw Fault(words: "\(name) names a day or a time of day that does not exist")
    case "0001-01-01":
      throw Fault(words: "\(name) is out of range: years 1900 to 2199 can be asked for")
    case _:
      throw Fault(
        words: "\(name) must be an ISO 8601 date or time, such as 2026-03-01T00:00:00")
    }
  }

  private func maxBytes() throws(Fault) -> Int? {
    var found: Int?
    switch all["max_bytes"] {
    case nil, .null, .text(""): return nil
    case .text(let digits), .number(let digits): found = Int(digits)
    case .object, .list, .flag: break
    }
    guard let found, (2_000...8_388_608).contains(found) else {
      throw Fault(words: "max_bytes must be a whole number from 2000 to 8388608")
    }
    return found
  }

  private func must(_ name: String) throws(Fault) -> String {
    guard let text = try may(name) else { throw Fault(words: "\(name) is missing") }
    return text
  }

  private func may(_ name: String) throws(Fault) -> String? {
    switch all[name] {
    case nil, .null, .text(""): return nil
    case .text(let text):
      if text.utf8.count > 512 { throw Fault(words: "\(name) is longer than 512 bytes") }
      return text
    case .number(let digits):
      guard name == "code" else { break }
      return Int64(digits).map { String($0) }
    case .object, .list, .flag: break
    }
    throw Fault(words: "\(name) must be a text")
  }

  private func allow(
    _ names: [String], token: [String] = ["access_token"]
  ) throws(Fault) {
    guard isStrict else { return }
    let strange = all.all.map(\.name).filter { !(names + token).contains($0) }
    guard let first = strange.min() else { return }
    let shown = String(first.prefix(64))
    throw Fault(
      words: names.isEmpty
        ? "\(shown) does not apply: there are no arguments here"
        : "\(shown) does not apply; the arguments here are \(names.joined(separator: ", "))")
  }
}

extension MCPMembers {
  /// A line of a summary; `nil` unless it is an object.
  fileprivate init?(line: SessionTree) {
    guard case .object = line else { return nil }
    self.init(line)
  }
}

extension RPCID {
  /// An id of JSON-RPC: a text that is not long, or a whole number.
  init?(mcp tree: SessionTree) {
    switch tree {
    case .text(let text):
      guard text.utf8.count <= 256 else { return nil }
      self = .string(text)
    case .number(let digits):
      guard let number = Int64(digits) else { return nil }
      self = .number(number)
    case .object, .list, .flag, .null: return nil
    }
  }

  var mcpTree: SessionTree {
    switch self {
    case .string(let text): .text(text)
    case .number(let number): .number(String(number))
    }
  }
}
