import LinkCore
import LinkServerCore
import LinkWire

// The plain endpoints, as the original has them.
extension MCPHouse {
  mutating func takePlainly(_ id: RequestID, _ call: MCPCall) {
    let all: [MCPRoute: ([MCPCall.Method], String)] = [
      .toolList: ([.get], "GET"), .healthMetrics: ([.get], "GET"), .toolCall: ([.post], "POST"),
      .directLogin: ([.post], "POST"), .logout: ([.get, .post], "GET, POST"),
    ]
    guard let (methods, names) = all[call.route] else { return }
    guard methods.contains(call.method) else { return refuse(id, allowing: names) }
    switch call.route {
    case .mcp: return
    case .toolList: out.append(.answer(id, MCPReply(200, MCPTool.plainList())))
    case .toolCall: callPlainly(id, call)
    case .directLogin: login(id, call)
    case .healthMetrics: askForTalk(id, .getHealthMetrics, call)
    case .logout: askForTalk(id, .logout, call)
    }
  }

  private mutating func callPlainly(_ id: RequestID, _ call: MCPCall) {
    func wrong(_ words: String) -> Effect {
      .answer(id, MCPReply(400, MCPWords.detail("invalid_request", words)))
    }
    guard let tree = SessionTree(call.body), case .object = tree else {
      let words = MCPReading.parseError(call.body)
      var detail = "no object"
      if words != "none", let end = words.firstRange(of: " at byte ") {
        detail = String(words[..<end.lowerBound].dropFirst("Parse error: ".count))
      }
      return out.append(wrong("The body is no JSON object: \(detail)"))
    }
    let all = MCPMembers(tree)
    let inner = all.members("params") ?? MCPMembers(nil)
    let method = all.text("method")
    if method == "initialize" {
      let json = MCPWords.object([
        ("success", .flag(true)), ("isOutdated", .flag(false)), ("message", .text(MCPWords.about)),
      ]).json
      return reply(id, 200, json)
    }
    guard [nil, "call_tool", "tools/call"].contains(method) else {
      return out.append(wrong("method must be initialize or call_tool"))
    }
    guard let name = inner.text("name") ?? all.text("name") else {
      return out.append(wrong("name is missing"))
    }
    guard let request = Self.request(inner["arguments"] ?? all["arguments"]) else {
      return out.append(wrong("arguments must be an object"))
    }
    guard let tool = MCPTool.allCases.first(where: { $0.rawValue == name }) else {
      count(nil, "unknown_tool")
      let body = MCPWords.detail("unknown_tool", "There is no such tool.")
      return out.append(.answer(id, MCPReply(404, body)))
    }
    var bearer = request.token.map { MCPServer.Bearer.text($0) }
    if bearer == nil, let hash = call.fields.bearer { bearer = .hash(hash) }
    ask(
      id, tool, request, .mcpResult, bearer, call, MCPWords.client(call.fields.userAgent))
  }

  /// A caller that is not signed in, or comes too often, gets an HTTP error; every other refusal is
  /// a result.
  mutating func finishPlainly(
    _ id: RequestID, _ result: Result, _ refusal: RelayRefusal?, _ status: Int
  ) {
    if status != 200 {
      let body = MCPWords.detail("invalid_arguments", result.text)
      return out.append(.answer(id, MCPReply(status, body)))
    }
    var json = "{" + result.json(in: nil)
    if let refusal {
      let terms = refusal.mcpTerms
      if [401, 429].contains(terms.status), refusal != .wrongPair {
        let body = MCPWords.detail(terms.word, refusal.description)
        return out.append(.answer(id, MCPReply(terms.status, body, retryAfter: terms.again)))
      }
      json += ",\"success\":false,\"error\":\"\(terms.word)\""
    }
    reply(id, 200, json + "}")
  }

  private mutating func login(_ id: RequestID, _ call: MCPCall) {
    let name = Self.conversation(call)
    if let name, talk(name) == nil, isLeaving || !enterTalk(name) {
      return refuseBusy(id, .directLogin, .object(conversation: nil))
    }
    ask(
      id, .directLogin, MCPRequest(all: MCPMembers(call.query), isStrict: false),
      .object(conversation: name), nil, call, MCPWords.client(call.fields.userAgent))
  }

  private mutating func askForTalk(_ id: RequestID, _ tool: MCPTool, _ call: MCPCall) {
    let name = Self.conversation(call)
    let shown = call.fields.bearer
    useTalk(name ?? "") { talk in
      if shown != nil { (talk.holdsTokens, talk.bearer) = (true, nil) }
    }
    let bearer = shown ?? talk(name)?.bearer
    ask(
      id, tool, MCPRequest(all: MCPMembers(call.query), isStrict: false),
      .object(conversation: name), bearer.map { .hash($0) }, call,
      MCPWords.client(call.fields.userAgent))
  }

  /// What a caller calls its conversation, unless it is nothing or too long.
  private static func conversation(_ call: MCPCall) -> String? {
    guard let name = call.fields.conversation, !name.isEmpty, name.utf8.count <= 256 else {
      return nil
    }
    return name
  }
}
