import LinkWire

/// What a server writes to assistants, told a second time (JSON-RPC 2.0, MCP, contract 1.7).
enum MCPWireScribe {
  typealias Member = RelayWireScribe.Member

  private static func object(_ members: [Member]) -> SessionTree { RelayWireScribe.object(members) }

  /// The versions, oldest first.
  static let versions = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"]

  // Results.

  /// The text beside an object: itself, unless it is longer than 256 KiB.
  static func repeated(_ object: [UInt8]) -> String {
    if object.count < 262_145 { return String(decoding: object, as: UTF8.self) }
    return "The answer has \(object.count) bytes and stands in structuredContent alone. "
      + "Ask for a shorter time, or with group_by and statistic, to get it as text."
  }

  static func refused(_ word: String, _ sentence: String) -> MCPCallResult {
    let tree = object([
      ("success", .flag(false)), ("error", .text(word)), ("message", .text(sentence)),
    ])
    return MCPCallResult(text: sentence, structured: Array(tree.json.utf8), isError: true)
  }

  /// A result as clients of a version read it: since the third one not the text.
  static func told(_ result: MCPCallResult, _ version: Int) -> MCPCallResult {
    var told = result
    if version >= 2, result.structured != nil, let brief = result.brief {
      told.text = brief
      told.brief = nil
    }
    return told
  }

  static func members(_ result: MCPCallResult) -> [Member] {
    let content = object([("type", .text("text")), ("text", .text(result.text))])
    return [
      ("content", .list([content])),
      ("structuredContent", result.structured.map { RelayWireScribe.raw($0) }),
      ("isError", .flag(result.isError)),
    ]
  }

  // Responses.

  private static let info = object([("name", .text("holdfast")), ("version", .text("1"))])

  private static let about: [Member] = [
    ("capabilities", object([("tools", object([("listChanged", .flag(false))]))])),
    ("instructions", .text(instructions)),
  ]
  static let instructions =
    "Health data of a person, read from their phone while it is connected. Start with direct_login."

  static func members(_ result: MCPResult) -> [Member] {
    switch result {
    case .initialized(let version):
      return [("protocolVersion", .text(version.rawValue))] + about + [("serverInfo", info)]
    case .discovered: return [("supportedVersions", .list([.text("2026-07-28")]))] + about
    case .pong: return []
    case .tools: return [("tools", .list(MCPWireTools.all))]
    case .called(let result): return members(result)
    }
  }

  static func response(_ result: MCPResult, to id: RPCID, in version: Int) -> SessionTree {
    var all = members(result)
    if version == 4 {
      let mayKeep =
        switch result {
        case .discovered, .tools: true
        case .initialized, .pong, .called: false
        }
      if mayKeep { all += [("ttlMs", .number("0")), ("cacheScope", .text("private"))] }
      all += [
        ("resultType", .text("complete")),
        ("_meta", object([("io.modelcontextprotocol/serverInfo", info)])),
      ]
    }
    return object([
      ("jsonrpc", .text("2.0")), ("id", MCPWireReading.tree(id)), ("result", object(all)),
    ])
  }

  /// The number of an error.
  static func number(_ code: RPCError.Code) -> Int {
    switch code {
    case .parse: -32_700
    case .invalidRequest: -32_600
    case .methodNotFound: -32_601
    case .invalidParams: -32_602
    case .internalError: -32_603
    case .headerMismatch: -32_020
    case .unsupportedVersion: -32_022
    case .cancelled: -32_800
    }
  }

  static func response(_ error: RPCError, to id: RPCID?) -> SessionTree {
    let data = error.requestedVersion.map { version in
      object([
        ("supported", .list(versions.map { .text($0) })), ("requested", .text(version)),
      ])
    }
    return object([
      ("jsonrpc", .text("2.0")), ("id", id.map { MCPWireReading.tree($0) } ?? .null),
      (
        "error",
        object([
          ("code", RelayWireScribe.whole(number(error.code))), ("message", .text(error.message)),
          ("data", data),
        ])
      ),
    ])
  }

  // Events.

  /// An event of one line.
  static func event(_ json: String) -> String {
    var line = ""
    for scalar in json.unicodeScalars {
      line.unicodeScalars.append(scalar == "\n" || scalar == "\r" ? " " : scalar)
    }
    return "event: message\r\ndata: \(line)\r\n\r\n"
  }

  static func progress(
    _ token: RPCID, _ waited: Int, _ limit: Int, _ message: String
  ) -> SessionTree {
    object([
      ("jsonrpc", .text("2.0")), ("method", .text("notifications/progress")),
      (
        "params",
        object([
          ("progressToken", MCPWireReading.tree(token)),
          ("progress", RelayWireScribe.whole(waited)),
          ("total", RelayWireScribe.whole(limit)), ("message", .text(message)),
        ])
      ),
    ])
  }

  // The original's endpoints.

  static let welcome = object([
    ("success", .flag(true)), ("isOutdated", .flag(false)), ("message", .text(instructions)),
  ])

  static func answer(_ result: MCPCallResult, _ word: String?) -> SessionTree {
    let end: [Member] = word.map { [("success", .flag(false)), ("error", .text($0))] } ?? []
    return object(members(result) + end)
  }

  static func detail(_ word: String, _ sentence: String) -> SessionTree {
    object([("detail", object([("error", .text(word)), ("message", .text(sentence))]))])
  }
}
