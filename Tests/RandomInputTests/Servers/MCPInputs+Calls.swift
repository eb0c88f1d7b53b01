import LinkCore
import LinkHealth
import LinkWire

@testable import LinkServerCore

// What assistants and the relay say.
extension MCPInputs {
  /// The first of several mostly.
  private mutating func mostly<Value>(_ values: [Value], _ times: UInt64 = 12) -> Value {
    oneIn(times) ? one(values) : values[0]
  }

  mutating func hash() -> TokenHash? {
    TokenHash([UInt8](repeating: UInt8(number(1...3)), count: 32))
  }

  private mutating func call(
    _ method: MCPCall.Method, _ route: MCPRoute, _ body: String = ""
  ) -> MCPCall {
    var call = MCPCall(method, route, address: one(["x", "y"]), body: Array(body.utf8))
    let hosts: [String?] = [policy.doors.hosts.first ?? "localhost:1", "elsewhere.example", nil]
    call.fields.host = mostly(hosts)
    if oneIn(3) {
      call.fields.origin = mostly(["http://localhost:3000", "https://app.example", "null"], 3)
    }
    call.fields.accept = mostly(
      [
        "application/json, text/event-stream", "text/event-stream", nil, "application/json",
        "*/*", "text/*;q=0.5", "text/html", "application/json;q=0, text/event-stream ; q=1",
      ], 3)
    call.fields.contentType = mostly(["application/json", "Application/JSON ; a=b", "text/plain"])
    call.fields.userAgent = one([nil, "", "agent/1.2 (x)", "/3"])
    if oneIn(4) { call.fields.bearer = hash() }
    return call
  }

  private mutating func inSession(_ body: String) -> MCPCall {
    var call = call(.post, .mcp, body)
    call.fields.session = session()
    if oneIn(6) { call.fields.version = one(["2024-11-05", "2025-03-26", "2025-11-25"]) }
    return call
  }

  private mutating func session() -> String? {
    if oneIn(20) { return one([nil, "none", deleted.min()]) }
    return sessions.isEmpty ? "none" : oneIn(3) ? one(sessions) : sessions.last
  }

  private mutating func request(_ method: String, _ params: String) -> String {
    let id = one(["1", "2", "\"a\""])
    return #"{"jsonrpc":"2.0","id":\#(id),"method":"\#(method)","params":\#(params)}"#
  }

  mutating func greeting() -> MCPCall {
    let offers = ["2025-03-26", "2025-03-26", "2024-11-05", "2025-11-25", "2026-07-28", "odd"]
    let info = one(["", #","clientInfo":{"name":"me","version":"2"}"#, #","clientInfo":"me""#])
    let params = oneIn(12) ? "{}" : #"{"protocolVersion":"\#(one(offers))"\#(info)}"#
    return inSession(request("initialize", params))
  }

  mutating func message() -> MCPCall { inSession(oneMessage()) }

  mutating func batch() -> MCPCall {
    let count = oneIn(12) ? one([0, 32, 33]) : number(1...4)
    let all = (0..<count).map { _ in
      count > 4 ? #"{"jsonrpc":"2.0","method":"n"}"# : oneIn(8) ? strange() : oneMessage()
    }
    let text = one(["", " ", "\n"]) + "[" + all.joined(separator: ",") + (oneIn(25) ? "" : "]")
    var call = inSession(text)
    if !batching.isEmpty, !oneIn(8) { call.fields.session = one(batching) }
    return call
  }

  private mutating func oneMessage() -> String {
    switch number(0...15) {
    case 0: return request(one(["ping", "tools/list", "x/y", "server/discover"]), "{}")
    case 1, 2:
      let params = mostly([#"{"requestId":\#(one(["1", "2", "\"a\""]))}"#, "{}"], 9)
      return #"{"jsonrpc":"2.0","method":"notifications/cancelled","params":\#(params)}"#
    case 3: return #"{"jsonrpc":"2.0","method":"notifications/initialized"}"#
    case 4: return #"{"jsonrpc":"2.0","id":1,\#(one([#""result":{}"#, #""error":1"#]))}"#
    case 5: return oneIn(2) ? strange() : request("initialize", #"{"protocolVersion":"1"}"#)
    case _: return request("tools/call", toolCall(meta: progress()).params)
    }
  }

  private mutating func progress() -> String {
    oneIn(2) ? "" : #""progressToken":\#(one(["7", "\"t\"", "1.5", "null"]))"#
  }

  /// What is no message.
  private mutating func strange() -> String {
    let long = String(repeating: "i", count: one([128, 129, 256, 257]))
    return one([
      "{}", "1", "null", "\"a\"", "[[]]", "[1]", "{", "nul", "{}x", #"{"jsonrpc":"2.0"}"#,
      #"{"jsonrpc":"2.0","id":null,"method":"ping"}"#,
      #"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#, #"{"jsonrpc":2.0,"id":3,"method":"ping"}"#,
      #"{"jsonrpc":"2.0","id":"\#(long)","method":"ping"}"#,
      #"{"jsonrpc":"2.0","id":3,"method":"\#(long)"}"#, #"{"jsonrpc":"2.0","id":3,"method":5}"#,
      #"{"jsonrpc":"2.0","id":3,"method":"ping","params":[]}"#, #"{"jsonrpc":"2.0","id":4}"#,
    ])
  }

  /// A call of a tool, and the name of it.
  private mutating func toolCall(meta: String) -> (name: String?, params: String) {
    let tool = one(MCPTool.allCases)
    let meta = meta.isEmpty ? "" : #","_meta":{\#(meta)}"#
    switch number(0...19) {
    case 0: return ("none", #"{"name":"none"\#(meta)}"#)
    case 1: return (nil, #"{"name":5,"arguments":{}\#(meta)}"#)
    case 2:
      let other = one(["null", "[]", "\"a\"", "1"])
      return (tool.rawValue, #"{"name":"\#(tool.rawValue)","arguments":\#(other)\#(meta)}"#)
    case _:
      let text = arguments(tool)
      return (tool.rawValue, #"{"name":"\#(tool.rawValue)","arguments":\#(text)\#(meta)}"#)
    }
  }

  /// Arguments for a tool, which it takes mostly.
  private mutating func arguments(_ tool: MCPTool) -> String {
    let line = #""value_type":\#(mostly(["\"STEPS\"", "\"sleep\"", "\"odd\"", "5"], 4))"#
    let span = [
      #""start_time":"\#(mostly(["2026-01-09", "2026-02-30", "soon", ""], 8))""#,
      #""end_time":"2026-01-10""#,
    ]
    var all: [String]
    switch tool {
    case .directLogin:
      let words = [#""calm fox""#, #""""#, "1"]
      all = [#""word":\#(mostly(words))"#, #""code":\#(one(["\"012345\"", "123456"]))"#]
    case .logout: all = []
    case .getHealthMetrics: all = [line] + span
    case .getSummary: all = span + (oneIn(3) ? [] : [#""metrics":[{\#(line)},{\#(line)}]"#])
    }
    if oneIn(5) { all.append(#""access_token":\#(one(["\"secret\"", "\"\"", "5"]))"#) }
    if oneIn(25) { all.append(#""x":1"#) }
    return "{\(all.joined(separator: ","))}"
  }

  mutating func stateless() -> MCPCall {
    let prefix = "io.modelcontextprotocol/"
    let version = mostly(["2026-07-28", "2027-01-01", ""], 6)
    let said = mostly([version, "2026-07-28", "2025-11-25"], 9)
    var meta = #""\#(prefix)protocolVersion":"\#(said)","\#(prefix)clientCapabilities":{}"#
    let token = progress()
    if !token.isEmpty { meta += "," + token }
    let tool = toolCall(meta: meta)
    let method = oneIn(3) ? one(["ping", "tools/list", "server/discover"]) : "tools/call"
    let params = method == "tools/call" ? tool.params : #"{"_meta":{\#(meta)}}"#
    var call = call(
      oneIn(25) ? one([.get, .delete, .options]) : .post, .mcp,
      oneIn(9) ? strange() : request(method, params))
    call.fields.version = version
    call.fields.rpcMethod = mostly([method, "ping", nil], 9)
    call.fields.rpcName = mostly([tool.name, "logout", nil], 9)
    return call
  }

  mutating func stream() -> MCPCall {
    var call = call(oneIn(5) ? .delete : .get, .mcp)
    call.fields.session = session()
    return call
  }

  /// Ends a session in which a call waits.
  mutating func endSession() {
    var call = call(.delete, .mcp)
    call.fields.session = asked.compactMap(\.owner).last ?? sessions.first
    send(call)
  }

  mutating func odd() -> MCPCall {
    if oneIn(2) { return inSession(strange()) }
    var call = call(one([.options, .options, .other]), one(MCPRoute.allCases))
    call.fields.session = session()
    return call
  }

  mutating func plain() -> MCPCall {
    let route = one(Array(MCPRoute.allCases.dropFirst()))
    let method: MCPCall.Method =
      [MCPRoute.toolCall, .directLogin].contains(route) ? .post : .get
    var call = call(oneIn(12) ? one(MCPCall.Method.allCases) : method, route)
    if route == .toolCall {
      let params = toolCall(meta: "").params
      let bodies = [params, #"{"method":"call_tool","params":\#(params)}"#, "{", "[1]"]
      call.body = Array(mostly(bodies + [#"{"method":"initialize"}"#], 2).utf8)
    }
    let pairs = [
      ("word", "calm fox"), ("code", "012345"), ("value_type", "steps"),
      ("start_time", "2026-01-09"), ("end_time", "2026-01-10"),
    ]
    let range = route == .directLogin ? 0..<2 : route == .healthMetrics ? 2..<5 : 0..<0
    call.query = pairs[range].map { MCPCall.Pair($0.0, $0.1) }
    if oneIn(9), !call.query.isEmpty { call.query.removeFirst() }
    let long = String(repeating: "c", count: 257)
    if !oneIn(3) { call.fields.conversation = one(["k", "k", "l", "m", "", long]) }
    return call
  }

  // What becomes of calls.

  mutating func outcome(of ask: RelayAsk) -> RelayOutcome {
    let wait = Duration.seconds(number(1...300))
    if oneIn(5) {
      let refusals: [RelayRefusal] = [
        .wrongPair, .lockedOut(retryAfter: wait), .notSignedIn, .tokenExpired,
        .signedOut(.byUser), .phoneAway(since: wait, .wasWoken), .phoneReplaced,
        .timedOut(after: wait), .cancelled, .tooManyWaiting(retryAfter: wait),
        .malformed(reason: "odd"), .answerTooLarge(limit: 5), .storeFailed(retryAfter: wait),
        .stopping(retryAfter: wait),
      ]
      return .refused(one(refusals))
    }
    switch ask {
    case .login:
      return .loggedIn(RelayGrant(accessToken: "secret", expiresIn: wait, user: "u"))
    case .logout: return .loggedOut
    case .question:
      let filler = String(repeating: "f", count: one([0, 0, 100, 250, number(0...900)]))
      let json = mostly([#"{"success":true,"filler":"\#(filler)","count":1}"#, "[]"])
      return .data(HealthObject(succeeded: !oneIn(4), bytes: Array(json.utf8)))
    }
  }
}
