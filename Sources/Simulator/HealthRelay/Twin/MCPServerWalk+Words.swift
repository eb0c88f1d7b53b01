import LinkCore
import LinkHealth
import LinkServerCore
import LinkWire

// What assistants and the relay say.
extension MCPServerWalk {
  /// The first of several mostly.
  mutating func mostly<Value>(_ values: [Value], _ times: UInt64 = 20) -> Value {
    happens(times) ? one(values) : values[0]
  }

  mutating func hash() -> TokenHash? {
    TokenHash([UInt8](repeating: UInt8(number(1...3)), count: 32))
  }

  /// 2026-01-10T00:00:00Z.
  static let answered: Int64 = 1_768_003_200_000_000_000

  // Requests.

  mutating func call(_ method: MCPCall.Method, _ route: MCPRoute, _ body: String = "") -> MCPCall {
    var call = MCPCall(method, route, address: one(["x", "y"]), body: Array(body.utf8))
    call.fields.host = mostly(MCPWords.hosts.map(\.text), 12)
    let origins = MCPWords.origins.dropFirst().map(\.text)
    if happens(3) { call.fields.origin = mostly(origins, 3) }
    call.fields.accept = happens(3) ? one(MCPWords.accepts.map(\.text)) : MCPWords.accepts[0].text
    call.fields.contentType = mostly(MCPWords.types.map(\.text), 12)
    call.fields.userAgent = one(MCPWords.agents.map(\.text))
    if happens(4) { call.fields.bearer = hash() }
    return call
  }

  private mutating func inSession(_ body: String) -> MCPCall {
    var call = call(.post, .mcp, body)
    call.fields.session = session()
    if happens(6) { call.fields.version = one(Array(MCPWords.versions.dropLast())) }
    return call
  }

  private mutating func session() -> String? {
    if happens(20) { return one([nil, "none"]) }
    return sessions.isEmpty ? "none" : happens(3) ? one(sessions) : sessions.last
  }

  mutating func greeting() -> MCPCall {
    let offers = [
      "\"2025-03-26\"", "\"2025-03-26\"", "\"2024-11-05\"", "\"2025-06-18\"", "\"2025-11-25\"",
      "\"2026-07-28\"", "\"odd\"", "1", "null",
    ]
    let infos = [
      "", #","clientInfo":{"name":"me","version":"2"}"#, #","clientInfo":{"version":"2"}"#,
      #","clientInfo":"me""#,
    ]
    let offer = happens(12) ? "" : #""protocolVersion":\#(one(offers))"#
    let params = offer.isEmpty ? "{}" : "{\(offer)\(one(infos))}"
    return inSession(request("initialize", params))
  }

  mutating func message() -> MCPCall { inSession(oneMessage()) }

  mutating func batch() -> MCPCall {
    let counts = [1, 2, 2, 3, 3, 4]
    let count = happens(12) ? one([0, 32, 33]) : one(counts)
    let all = (0..<count).map { _ in
      count > 4 ? #"{"jsonrpc":"2.0","method":"n"}"# : happens(8) ? strange() : oneMessage()
    }
    let text = one(["", " ", "\n"]) + "[" + all.joined(separator: ",") + (happens(25) ? "" : "]")
    var call = inSession(text)
    if !batching.isEmpty, !happens(8) { call.fields.session = one(batching) }
    return call
  }

  private mutating func oneMessage() -> String {
    switch number(0...19) {
    case 0: return request("ping", "{}")
    case 1: return request(happens(3) ? "tools/list" : "x/y", "{}")
    case 2: return request(one(["server/discover", "ping"]), "{}")
    case 3, 4: return #"{"jsonrpc":"2.0","method":"notifications/cancelled","params":\#(cancel())}"#
    case 5: return #"{"jsonrpc":"2.0","method":"notifications/initialized"}"#
    case 6: return #"{"jsonrpc":"2.0","id":1,\#(one([#""result":{}"#, #""error":1"#]))}"#
    case 7: return happens(2) ? strange() : request("initialize", #"{"protocolVersion":"1"}"#)
    case _: return request("tools/call", toolCall(meta: progress()).params)
    }
  }

  private mutating func cancel() -> String {
    happens(9) ? one(["{}", #"{"requestId":null}"#]) : #"{"requestId":\#(id())}"#
  }

  private mutating func progress() -> String {
    happens(2) ? "" : #""progressToken":\#(one(["7", "\"t\"", "1.5", "null"]))"#
  }

  private mutating func request(_ method: String, _ params: String) -> String {
    #"{"jsonrpc":"2.0","id":\#(id()),"method":"\#(method)","params":\#(params)}"#
  }

  private mutating func id() -> String { one(["1", "2", "\"a\""]) }

  /// What is no message.
  private mutating func strange() -> String {
    let long = String(repeating: "i", count: one([128, 129, 256, 257]))
    return one([
      "{}", "1", "null", "\"a\"", "true", "[[]]", "[1]", #"{"jsonrpc":"2.0"}"#,
      #"{"jsonrpc":"2.0","id":null,"method":"ping"}"#,
      #"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#,
      #"{"jsonrpc":2.0,"id":3,"method":"ping"}"#, #"{"jsonrpc":"2.0","id":3,"method":""}"#,
      #"{"jsonrpc":"2.0","id":"\#(long)","method":"ping"}"#, #"{"id":"\#(long)","method":"ping"}"#,
      #"{"jsonrpc":"2.0","id":3,"method":"\#(long)"}"#, #"{"jsonrpc":"2.0","id":3,"method":5}"#,
      #"{"jsonrpc":"2.0","id":3,"method":"ping","params":[]}"#,
      #"{"jsonrpc":"2.0","id":true,"result":{}}"#, #"{"jsonrpc":"2.0","id":4}"#,
    ])
  }

  /// A call of a tool, and the name of it.
  private mutating func toolCall(meta: String) -> (name: String?, params: String) {
    let tool = one(MCPTool.allCases)
    let meta = meta.isEmpty ? "" : #","_meta":{\#(meta)}"#
    switch number(0...24) {
    case 0: return ("none", #"{"name":"none"\#(meta)}"#)
    case 1: return (nil, #"{"name":5,"arguments":{}\#(meta)}"#)
    case 2:
      let other = one(["null", "[]", "\"a\"", "1"])
      return (tool.rawValue, #"{"name":"\#(tool.rawValue)","arguments":\#(other)\#(meta)}"#)
    case 3: return (tool.rawValue, #"{"name":"\#(tool.rawValue)"\#(meta)}"#)
    case _:
      let text = arguments(tool)
      return (tool.rawValue, #"{"name":"\#(tool.rawValue)","arguments":\#(text)\#(meta)}"#)
    }
  }

  mutating func stateless() -> MCPCall {
    let prefix = "io.modelcontextprotocol/"
    let version = mostly(["2026-07-28", "2027-01-01", "", String(repeating: "v", count: 65)], 6)
    let said = mostly([version, "2026-07-28", "2025-11-25"], 9)
    let powers = mostly(["{}", "1", "null"], 12)
    var meta = #""\#(prefix)protocolVersion":"\#(said)","\#(prefix)clientCapabilities":\#(powers)"#
    if happens(2) { meta += #","\#(prefix)clientInfo":{"name":"you","version":1}"# }
    let token = progress()
    if !token.isEmpty { meta += "," + token }
    let tool = toolCall(meta: meta)
    let other = one(["ping", "tools/list", "server/discover", "server/discover", "x"])
    let method = happens(3) ? other : "tools/call"
    let params = method == "tools/call" ? tool.params : happens(9) ? "{}" : #"{"_meta":{\#(meta)}}"#
    var text = request(method, params)
    if happens(9) {
      text = one([
        strange(), #"{"jsonrpc":"2.0","method":"n"}"#, #"{"jsonrpc":"2.0","method":"n"}"#,
        #"{"jsonrpc":"2.0","result":1}"#, "{", "[]",
      ])
    }
    var call = call(happens(25) ? one([.get, .delete, .options]) : .post, .mcp, text)
    call.fields.version = version
    call.fields.rpcMethod = mostly([method, "ping", nil], 9)
    call.fields.rpcName = mostly([tool.name, "logout", nil], 9)
    return call
  }

  mutating func stream() -> MCPCall {
    var call = call(happens(4) ? .delete : .get, .mcp)
    call.fields.session = session()
    return call
  }

  mutating func ending(of id: String, in session: String?) -> MCPCall {
    let params = #"{"requestId":\#(id)}"#
    let cancel = #"{"jsonrpc":"2.0","method":"notifications/cancelled","params":\#(params)}"#
    var call = happens(4) ? call(.delete, .mcp) : call(.post, .mcp, cancel)
    call.fields.session = session
    return call
  }

  /// A client that is signed in asks, and shows a token perhaps.
  mutating func signedIn(_ session: String) -> MCPCall {
    var call = call(.post, .mcp, request("tools/call", #"{"name":"logout"}"#))
    call.fields.session = session
    return call
  }

  mutating func odd() -> MCPCall {
    switch number(0...3) {
    case 0: return inSession(one(["", "{", "[", "{\"a\":1,}", "nul", "[1,]", "{}x"]))
    case 1: return inSession(strange())
    case _:
      var call = call(one([.options, .options, .other]), one(MCPRoute.allCases))
      call.fields.session = session()
      return call
    }
  }

  // The plain endpoints.

  mutating func plain() -> MCPCall {
    let route = one(Array(MCPRoute.allCases.dropFirst()))
    let methods: [MCPCall.Method]
    switch route {
    case .mcp, .toolList, .healthMetrics: methods = [.get]
    case .toolCall, .directLogin: methods = [.post]
    case .logout: methods = [.get, .post]
    }
    if route == .toolList, !happens(3) { return message() }
    var call = call(happens(12) ? one(MCPCall.Method.allCases) : one(methods), route)
    if route == .toolCall { call.body = Array(plainBody().utf8) }
    if route == .directLogin { call.query = pairs([("word", "calm fox"), ("code", "012345")]) }
    if route == .healthMetrics {
      call.query = pairs([
        ("value_type", "steps"), ("start_time", "2026-01-09"), ("end_time", "2026-01-10"),
        ("max_bytes", one(["", "1999", "2000", "8388608", "8388609", "x"])),
      ])
    }
    let long = String(repeating: "c", count: one([256, 257]))
    if !happens(3) { call.fields.conversation = one(["k", "k", "l", "m", happens(3) ? long : ""]) }
    return call
  }

  /// A question of a conversation.
  mutating func plain(_ conversation: String) -> MCPCall {
    var call = call(.get, .logout)
    call.fields.conversation = conversation
    return call
  }

  private mutating func pairs(_ all: [(String, String)]) -> [MCPCall.Pair] {
    var found = all.map { MCPCall.Pair($0.0, $0.1) }
    if happens(9) { found.append(MCPCall.Pair("word", "other")) }
    if happens(9) { found.append(MCPCall.Pair("x", "y")) }
    if happens(9) { found.removeFirst() }
    return found
  }

  private mutating func plainBody() -> String {
    let tool = toolCall(meta: "")
    switch number(0...9) {
    case 0:
      return one([#"{"method":"initialize"}"#, #"{"method":"x"}"#, #"{"name":1}"#, "[1]", "", "{"])
    case 1...4: return tool.params
    case 5: return #"{"method":"tools/call","params":\#(tool.params)}"#
    case 6: return #"{"method":5,"params":1,"name":"logout"}"#
    case _: return #"{"method":"call_tool","params":\#(tool.params)}"#
    }
  }
}
