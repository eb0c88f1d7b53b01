import HoldfastCore
import HoldfastHealth
import HoldfastServerParts

@testable import HoldfastAssistants
@testable import HoldfastRelayServer

// These are inputs from assistants and the relay. Other tests, of the server's origin policy and of
// the codecs, check how unusual headers, messages and arguments are read.
extension MCPInputs {
  mutating func hash() -> TokenHash? {
    TokenHash([UInt8](repeating: UInt8(number(1...3)), count: 32))
  }

  mutating func call(
    _ method: MCPCall.Method, _ route: MCPRoute, _ body: String = ""
  ) -> MCPCall {
    // With a public URL, clients without OAuth use the other route.
    let hasOAuth = route == .mcp && policy.publicURL != nil && !oneIn(9)
    let route = hasOAuth ? MCPRoute.code : route
    var call = MCPCall(method, route, address: one(["x", "y"]), body: Array(body.utf8))
    call.fields.host =
      oneIn(25) ? "elsewhere.example" : policy.originPolicy.hosts.first ?? "localhost:1"
    if oneIn(9) { call.fields.origin = one(["http://localhost:3000", "https://app.example"]) }
    call.fields.accept = one([
      "application/json, text/event-stream", "application/json, text/event-stream",
      "text/event-stream", "application/json", nil,
    ])
    call.fields.contentType = oneIn(25) ? "text/plain" : "application/json"
    call.fields.userAgent = maybe("agent/1.2 (x)")
    if oneIn(4) { call.fields.bearer = hash() }
    return call
  }

  private mutating func inSession(_ body: String) -> MCPCall {
    var call = call(.post, .mcp, body)
    call.fields.session = session()
    if oneIn(6) { call.fields.version = one(["2025-03-26", "2025-11-25"]) }
    return call
  }

  private mutating func session() -> String? {
    if oneIn(20) { return maybe("none") }
    return sessions.isEmpty ? "none" : oneIn(3) ? one(sessions) : sessions.last
  }

  private mutating func request(_ method: String, _ params: String) -> String {
    let id = one(["1", "2", "\"a\""])
    return #"{"jsonrpc":"2.0","id":\#(id),"method":"\#(method)","params":\#(params)}"#
  }

  mutating func greeting() -> MCPCall {
    let offers = ["2025-03-26", "2025-03-26", "2024-11-05", "2025-11-25", "2026-07-28"]
    let info =
      one(["", #","clientInfo":{"name":"me","version":"2"}"#])
      + one(["", #","capabilities":\#(Self.opensPages)"#])
    return inSession(request("initialize", #"{"protocolVersion":"\#(one(offers))"\#(info)}"#))
  }

  mutating func message() -> MCPCall { inSession(oneMessage()) }

  mutating func batch() -> MCPCall {
    let all = (0..<number(1...4)).map { _ in oneMessage() }
    var call = inSession("[" + all.joined(separator: ",") + "]")
    if !batching.isEmpty, !oneIn(8) { call.fields.session = one(batching) }
    return call
  }

  private mutating func oneMessage() -> String {
    switch number(0...15) {
    case 0:
      let methods = ["ping", "tools/list", "x/y", "server/discover", "resources/read"]
      return request(one(methods), oneIn(2) ? "{}" : #"{"uri":"ui://holdfast/charts"}"#)
    case 1, 2:
      let params = #"{"requestId":\#(one(["1", "2", "\"a\""]))}"#
      return #"{"jsonrpc":"2.0","method":"notifications/cancelled","params":\#(params)}"#
    case 3: return #"{"jsonrpc":"2.0","method":"notifications/initialized"}"#
    case 4: return oneIn(2) ? "{}" : #"{"jsonrpc":"2.0","id":1,"result":{}}"#
    case _: return request("tools/call", toolCall(meta: progress()).params)
    }
  }

  private mutating func progress() -> String {
    oneIn(2) ? "" : #""progressToken":\#(one(["7", "\"t\""]))"#
  }

  /// Returns the name and the parameters of a tool call.
  private mutating func toolCall(meta: String) -> (name: String, params: String) {
    let tool = one(MCPTool.allCases)
    let name = oneIn(20) ? "none" : tool.rawValue
    let meta = meta.isEmpty ? "" : #","_meta":{\#(meta)}"#
    return (name, #"{"name":"\#(name)","arguments":\#(arguments(tool))\#(meta)}"#)
  }

  /// Returns arguments for a tool. They are usually valid.
  private mutating func arguments(_ tool: MCPTool) -> String {
    let line = #""value_type":"\#(oneIn(9) ? "no word!" : "steps")""#
    let span = #""start_time":"2026-01-09","end_time":"2026-01-10""#
    var all: [String]
    switch tool {
    case .directLogin: all = [#""word":"calm fox","code":"012345""#]
    case .logout, .listHealthTypes: all = []
    case .getHealthMetrics: all = [line, span]
    case .getSummary: all = [span] + (oneIn(3) ? [] : [#""metrics":[{\#(line)}]"#])
    }
    if oneIn(5) { all.append(#""access_token":"secret""#) }
    return "{\(all.joined(separator: ","))}"
  }

  mutating func stateless() -> MCPCall {
    let prefix = "io.modelcontextprotocol/"
    let version = "2026-07-28"
    let abilities = one(["{}", Self.opensPages])
    var meta =
      #""\#(prefix)protocolVersion":"\#(version)","\#(prefix)clientCapabilities":\#(abilities)"#
    let token = progress()
    if !token.isEmpty { meta += "," + token }
    let tool = toolCall(meta: meta)
    let method = oneIn(3) ? one(["ping", "tools/list", "server/discover"]) : "tools/call"
    let params =
      method == "tools/call" ? tool.params.dropLast() + nextTry() + "}" : #"{"_meta":{\#(meta)}}"#
    var call = call(.post, .mcp, request(method, params))
    call.fields.version = version
    call.fields.rpcMethod = oneIn(25) ? nil : method
    call.fields.rpcName = tool.name
    return call
  }

  mutating func stream() -> MCPCall {
    var call = call(oneIn(5) ? .delete : .get, .mcp)
    call.fields.session = session()
    return call
  }

  /// Ends a session that has a pending call.
  mutating func endSession() {
    var call = call(.delete, .mcp)
    call.fields.session = asked.compactMap(\.owner).last ?? sessions.first
    send(call)
  }

  mutating func odd() -> MCPCall {
    var call = call(one([.options, .other]), one(MCPRoute.allCases))
    call.fields.session = session()
    return call
  }

  mutating func plain() -> MCPCall {
    let route = one(Array(MCPRoute.allCases.dropFirst()))
    let method: MCPCall.Method =
      [MCPRoute.toolCall, .directLogin].contains(route) ? .post : .get
    var call = call(oneIn(12) ? one(MCPCall.Method.allCases) : method, route)
    if route == .toolCall { call.body = Array(toolCall(meta: "").params.utf8) }
    let pairs = [
      ("word", "calm fox"), ("code", "012345"), ("value_type", "steps"),
      ("start_time", "2026-01-09"), ("end_time", "2026-01-10"),
    ]
    let range = route == .directLogin ? 0..<2 : route == .healthMetrics ? 2..<5 : 0..<0
    call.query = pairs[range].map { MCPCall.Pair($0.0, $0.1) }
    if !oneIn(3) { call.fields.conversation = one(["k", "k", "l", "m"]) }
    return call
  }

  mutating func outcome(of ask: RelayCall) -> RelayOutcome {
    let wait = Duration.seconds(number(1...300))
    if oneIn(5) {
      let refusals: [RelayRefusal] = [
        .wrongPair, .lockedOut(retryAfter: wait), .notSignedIn, .signedOut(.byUser),
        .phoneAway(since: wait, .wasWoken), .cancelled, .storeFailed(retryAfter: wait),
      ]
      return .refused(one(refusals))
    }
    switch ask {
    case .login, .grant:
      return .loggedIn(RelayGrant(accessToken: "secret", expiresIn: wait, user: "u"))
    case .renew: return .renewed(generation: 1)
    case .logout: return .loggedOut
    case .question:
      let filler = String(repeating: "f", count: one([0, 0, number(0...900)]))
      let json = #"{"success":true,"filler":"\#(filler)","count":1}"#
      return .data(HealthObject(succeeded: !oneIn(4), bytes: Array(json.utf8)))
    }
  }
}
