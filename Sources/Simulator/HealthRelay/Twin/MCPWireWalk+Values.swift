import LinkHealth
import LinkWire

// What assistants post.
extension MCPWireWalk {
  static func long(_ count: Int) -> String { String(of: "a", count: count) }

  private static let prefix = "io.modelcontextprotocol/"

  static let names = [
    "jsonrpc", "id", "method", "params", "result", "error", "name", "arguments", "requestId",
    "clientInfo", "_meta", "version", "progressToken", "protocolVersion",
    prefix + "protocolVersion", prefix + "clientCapabilities", prefix + "clientInfo", "word",
    "code", "value_type", "start_time", "end_time", "group_by", "statistic", "max_bytes",
    "metrics", "access_token", "success", "results", "count", "health_data", "error_message",
    "answered_at", "odd", "a", "z" + long(70),
  ]

  mutating func values(of name: String) -> [SessionTree] {
    switch name {
    case "jsonrpc": ["2.0", "1.0"].map { .text($0) }
    case "id", "requestId", "progressToken":
      [
        .text(Self.long(256)), .text(Self.long(257)), .text(""), .number("-7"), .number("1.5"),
        .number("9223372036854775807"), .number("9223372036854775808"),
      ]
    case "method":
      ["m", "tools/call", "call_tool", "initialize", Self.long(128), Self.long(129), ""]
        .map { .text($0) }
    case "params", "arguments", Self.prefix + "clientCapabilities":
      [.object(arguments()), .object([])]
    case "clientInfo", Self.prefix + "clientInfo", "_meta": [.object(client()), .object([])]
    case "word", "access_token": [.text(Self.long(512)), .text(Self.long(513)), .text("w")]
    case "code": [.text("012345"), .number("123456"), .number("1.5"), .number("-1")]
    case "value_type": ["STEPS", "sleep", "Hrv", "pace", Self.long(70)].map { .text($0) }
    case "group_by": ["DAY", "total", "", "year"].map { .text($0) }
    case "statistic": ["SUM", "latest", "", "median"].map { .text($0) }
    case "start_time", "end_time": Self.times.map { .text($0) }
    case "max_bytes": lengths()
    case "metrics": [.list(lines()), .list(lines()), .text("x"), .text("")]
    case _: []
    }
  }

  private static let times = [
    "2026-03-01", "2026-03-01T00:00:00Z", "2026-02-30", "2026-03-01T25:00:00", "1600-01-01",
    "2300-01-01", "tomorrow",
  ]

  private mutating func lengths() -> [SessionTree] {
    let numbers = ["1999", "2000", "8388608", "8388609", "2000.0", "9223372036854775808"]
    return numbers.map { .number($0) }
      + ["1999", "2000", "8388608", "8388609", "x"].map { .text($0) }
  }

  private mutating func lines() -> [SessionTree] {
    if happens(6) {
      let line = SessionBranch(name: "value_type", value: .text("STEPS"))
      return [SessionTree](repeating: .object([line]), count: one([32, 33, 34]))
    }
    return (0..<number(0...3)).map { _ in
      var members: [SessionBranch] = []
      for name in ["value_type", "group_by", "statistic"] where !happens(3) {
        members.append(SessionBranch(name: name, value: one(values(of: name))))
      }
      if happens(9) { members.append(SessionBranch(name: "access_token", value: .text("t"))) }
      if happens(9) { members.append(SessionBranch(name: "value_type", value: .number("1"))) }
      return happens(20) ? .text("x") : .object(members)
    }
  }

  mutating func id() -> RPCID {
    one([.string("q\""), .string(""), .number(0), .number(-7), .number(.max)])
  }

  private mutating func client() -> [SessionBranch] {
    [
      SessionBranch(name: "name", value: .text("claude-ai")),
      SessionBranch(name: "version", value: .text("1.4.2")),
      SessionBranch(name: "progressToken", value: MCPWireReading.tree(id())),
      SessionBranch(name: Self.prefix + "protocolVersion", value: .text("2026-07-28")),
      SessionBranch(name: Self.prefix + "clientCapabilities", value: one([.object([]), .null])),
      SessionBranch(
        name: Self.prefix + "clientInfo",
        value: .object([SessionBranch(name: "name", value: .text("b"))])),
    ]
  }

  /// The arguments of a tool, mostly such as it wants them.
  mutating func arguments() -> [SessionBranch] {
    let start = SessionBranch(name: "start_time", value: .text("2026-03-01"))
    let end = SessionBranch(name: "end_time", value: .text("2026-03-02T00:00:00Z"))
    var all: [SessionBranch] = []
    switch number(0...4) {
    case 0:
      all = ["word", "code"].map { SessionBranch(name: $0, value: one(values(of: $0))) }
    case 1, 2:
      all = [SessionBranch(name: "value_type", value: .text("steps")), start, end]
      for name in ["group_by", "statistic", "max_bytes"] where happens(3) {
        all.append(SessionBranch(name: name, value: one(values(of: name))))
      }
    case 3:
      all = [start, end, SessionBranch(name: "metrics", value: .list(lines()))]
      if happens(3) { all.append(SessionBranch(name: "max_bytes", value: one(lengths()))) }
    case _: break
    }
    if happens(4) { all.append(SessionBranch(name: "access_token", value: .text("t"))) }
    if happens(12) { all.append(SessionBranch(name: "z" + Self.long(70), value: .null)) }
    if happens(6) {
      let name = one(Self.names)
      all.append(SessionBranch(name: name, value: one(values(of: name) + [.null, .flag(true)])))
    }
    return all
  }

  mutating func message() -> SessionTree {
    var params = [
      SessionBranch(name: "name", value: .text("get_summary")),
      SessionBranch(name: "arguments", value: happens(9) ? .null : .object(arguments())),
    ]
    if happens(3) {
      params =
        client() + [
          SessionBranch(name: "protocolVersion", value: .text("2025-11-25")),
          SessionBranch(name: "clientInfo", value: .object(client())),
          SessionBranch(name: "requestId", value: MCPWireReading.tree(id())),
          SessionBranch(name: "_meta", value: .object(client())),
        ]
    }
    var all = [
      SessionBranch(name: "jsonrpc", value: .text("2.0")),
      SessionBranch(name: "method", value: .text(one(["tools/call", Self.long(128)]))),
      SessionBranch(name: "params", value: .object(params)),
    ]
    if !happens(4) { all.append(SessionBranch(name: "id", value: MCPWireReading.tree(id()))) }
    if happens(9) {
      all[1] = SessionBranch(name: one(["result", "error"]), value: .object([]))
    }
    return .object(all)
  }

  mutating func call() -> SessionTree {
    let inner = [
      SessionBranch(name: "name", value: .text("get_summary")),
      SessionBranch(name: "arguments", value: happens(9) ? .null : .object(arguments())),
    ]
    if happens(2) { return .object(inner) }
    let method = one(["call_tool", "tools/call", "initialize", "other"])
    return .object([
      SessionBranch(name: "method", value: .text(method)),
      SessionBranch(name: "params", value: .object(inner)),
    ])
  }
}
