import LinkCore
import LinkHealth
import LinkServerCore
import LinkWire

/// What the server says, as trees, and what short texts of headers mean.
enum MCPWords {
  static func object(_ members: [(String, SessionTree)]) -> SessionTree {
    .object(members.map { SessionBranch(name: $0.0, value: $0.1) })
  }

  static func event(_ text: String) -> [UInt8] {
    let line = text.utf8.map { $0 == 10 || $0 == 13 ? 32 : $0 }
    return Array("event: message\r\ndata: ".utf8) + line + Array("\r\n\r\n".utf8)
  }

  static func progress(_ token: RPCID, _ waited: Int64, of total: Int64) -> SessionTree {
    let params = object([
      ("progressToken", token.mcpTree), ("progress", .number(String(waited))),
      ("total", .number(String(total))), ("message", .text("Waiting for the phone")),
    ])
    return object([
      ("jsonrpc", .text("2.0")), ("method", .text("notifications/progress")), ("params", params),
    ])
  }

  static func error(
    _ code: Int, _ words: String, to id: RPCID?, asked: String? = nil
  ) -> SessionTree {
    var error: [(String, SessionTree)] = [
      ("code", .number(String(code))), ("message", .text(words)),
    ]
    if let asked {
      let all = versions.map { SessionTree.text($0) }
      error.append(
        ("data", object([("supported", .list(all)), ("requested", .text(asked))])))
    }
    return object([
      ("jsonrpc", .text("2.0")), ("id", id?.mcpTree ?? .null), ("error", object(error)),
    ])
  }

  static let versions = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"]
  static let host = object([("name", .text("holdfast")), ("version", .text("1"))])
  static let about =
    "Health data of a person, read from their phone while it is connected. Start with direct_login."
  static let powers: [(String, SessionTree)] = [
    ("capabilities", object([("tools", object([("listChanged", .flag(false))]))])),
    ("instructions", .text(about)),
  ]

  /// The response with the members of a result; without sessions each says by whom it is, and that
  /// it is whole.
  static func response(
    to envelope: MCPHouse.Envelope, _ members: String, isKept: Bool = false
  ) -> [UInt8] {
    var all = members.isEmpty ? [] : [members]
    if envelope.version == .july2026 {
      if isKept { all.append("\"ttlMs\":0,\"cacheScope\":\"private\"") }
      let meta = object([("io.modelcontextprotocol/serverInfo", host)]).json
      all.append("\"resultType\":\"complete\",\"_meta\":\(meta)")
    }
    let id = envelope.id.mcpTree.json
    let result = all.joined(separator: ",")
    return Array("{\"jsonrpc\":\"2.0\",\"id\":\(id),\"result\":{\(result)}}".utf8)
  }

  /// The members of an object without its braces.
  static func members(_ all: [(String, SessionTree)]) -> String {
    String(object(all).json.dropFirst().dropLast())
  }

  static func refusal(_ word: String, _ words: String) -> String {
    object([("success", .flag(false)), ("error", .text(word)), ("message", .text(words))]).json
  }

  static func detail(_ word: String, _ words: String) -> [UInt8] {
    let detail = object([("error", .text(word)), ("message", .text(words))])
    return Array(object([("detail", detail)]).json.utf8)
  }

  // Header fields.

  /// What clients say that they take, and which of JSON and streams it is.
  static let accepts: [(text: String?, json: Bool, events: Bool)] = [
    ("application/json, text/event-stream", true, true), ("text/event-stream", false, true),
    (nil, true, false), ("application/json", true, false), ("*/*", true, true),
    ("text/*;q=0.5", false, true), ("Application/*", true, false), ("text/html", false, false),
    ("application/json;q=0, text/event-stream ; q=1", false, true), ("", false, false),
    ("text/event-stream; q=0.000,APPLICATION/JSON", true, false),
    ("application/json;v=1; q=0.00 , */*;q=0.0", false, false),
    ("\tapplication/json;\tq=0,text/event-stream\t", false, true),
  ]

  static func media(_ accept: String?) -> MCPHouse.Media {
    let found = accepts.first { $0.text == accept }
    return MCPHouse.Media(json: found?.json ?? false, events: found?.events ?? false)
  }

  static let types: [(text: String?, isJSON: Bool)] = [
    ("application/json", true), ("Application/JSON; charset=utf-8", true),
    ("application/json ;a", true), ("\tapplication/json", true),
    ("text/plain", false), (nil, false), ("", false), ("application/jsonp", false),
  ]

  static let agents: [(text: String?, client: AssistantName?)] = [
    (nil, nil), ("claude-ai/1.4 (x)", AssistantName("claude-ai", version: "1.4")),
    ("curl", AssistantName("curl")), ("a/b/c d/e", AssistantName("a", version: "b/c")), ("", nil),
  ]

  static func client(_ agent: String?) -> AssistantName? {
    agents.first { $0.text == agent }?.client
  }

  /// The doors that let a host in.
  enum Door {
    case here, own, named, none
  }

  static let hosts: [(text: String?, door: Door)] = [
    ("127.0.0.1:8000", .here), ("localhost", .here), ("[::1]:80", .here), ("LOCALHOST:1", .here),
    ("box.local:8000", .own), ("Relay.example", .named), ("relay.example:443", .named),
    ("relay.example:8443", .named), ("relay.example:80", .named), ("relay.example:81", .none),
    ("evil.example", .none), (nil, .none), ("localhost:x", .none), ("box.local.evil", .none),
  ]

  static let origins: [(text: String?, door: Door)] = [
    (nil, .here), ("http://localhost:3000", .here), ("https://127.0.0.1", .here),
    ("https://app.example", .named), ("https://evil.example", .none), ("null", .none),
    ("ftp://localhost", .none), ("https://app.example:1", .none),
  ]
}

extension MCPHouse.Numbers {
  func admits(host: String?) -> Bool {
    guard isLocal || isNamed else { return true }
    switch MCPWords.hosts.first(where: { $0.text == host })?.door {
    case .here: return true
    case .own: return hasOwnName
    case .named: return isNamed
    case .some(.none), nil: return false
    }
  }

  func admits(origin: String?) -> Bool {
    switch MCPWords.origins.first(where: { $0.text == origin })?.door {
    case .here: true
    case .named: letsPageIn
    case .own, .some(.none), nil: false
    }
  }
}
