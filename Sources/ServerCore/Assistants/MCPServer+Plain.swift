import LinkCore
import LinkWire

/// The original's plain endpoints: no JSON-RPC, no sessions but the conversations of a header.
extension MCPServer {
  mutating func takePlain(_ id: RequestID, _ call: MCPCall) {
    switch (call.route, call.method) {
    case (.mcp, _): break
    case (.toolList, .get): answer(id, MCPReply(200, MCPTool.plainList()))
    case (.toolCall, .post): plainCall(id, call)
    case (.directLogin, .post): directLogin(id, call)
    case (.healthMetrics, .get): askPlainly(id, .getHealthMetrics, call)
    case (.logout, .get), (.logout, .post): askPlainly(id, .logout, call)
    case (.toolList, _), (.healthMetrics, _): refuseMethod(id, allow: "GET")
    case (.toolCall, _), (.directLogin, _): refuseMethod(id, allow: "POST")
    case (.logout, _): refuseMethod(id, allow: "GET, POST")
    }
  }

  private mutating func plainCall(_ id: RequestID, _ call: MCPCall) {
    do throws(MCPArguments.Fault) {
      switch try PlainToolCall.read(call.body) {
      case .initialize: answer(id, MCPReply(200, PlainToolCall.welcome()))
      case .tool(let name, let arguments):
        guard let tool = MCPTool(rawValue: name) else {
          metrics.called(nil, "unknown_tool")
          let body = PlainToolCall.detail("unknown_tool", "There is no such tool.")
          return answer(id, MCPReply(404, body))
        }
        let bearer =
          arguments.accessToken.map(Bearer.text) ?? call.fields.bearer.map(Bearer.hash)
        ask(
          id, tool, arguments, .call, bearer: bearer, from: call.address, of: call.fields.client)
      }
    } catch {
      answer(id, MCPReply(400, PlainToolCall.detail("invalid_request", error.message)))
    }
  }

  /// A wrong pair is a result here; who is not signed in, or locked out, gets an HTTP error.
  mutating func finishPlainCall(
    _ id: RequestID, _ result: MCPCallResult, _ refusal: RelayRefusal?
  ) {
    guard let refusal else {
      return answer(id, MCPReply(200, PlainToolCall.answer(result, refusal: nil)))
    }
    guard refusal != .wrongPair, refusal.status == 401 || refusal.status == 429 else {
      return answer(id, MCPReply(200, PlainToolCall.answer(result, refusal: refusal.word)))
    }
    answer(
      id,
      MCPReply(
        refusal.status, PlainToolCall.detail(refusal.word, refusal.description),
        retryAfter: refusal.retryAfter))
  }

  private mutating func directLogin(_ id: RequestID, _ call: MCPCall) {
    let name = conversation(of: call)
    if let name, conversations[name] == nil,
      isDraining || !conversations.insert(name, .newestWithSessions, at: now)
    {
      let refusal = RelayRefusal.tooManyWaiting(retryAfter: policy.busyRetry)
      metrics.called(.directLogin, refusal.word)
      return finish(id, .object(conversation: nil), MCPCallResult(refusal), refusal: refusal)
    }
    ask(
      id, .directLogin, arguments(of: call), .object(conversation: name), bearer: nil,
      from: call.address, of: call.fields.client)
  }

  private mutating func askPlainly(_ id: RequestID, _ tool: MCPTool, _ call: MCPCall) {
    let name = conversation(of: call)
    if let name {
      conversations.touch(name, at: now)
      if call.fields.bearer != nil { conversations.showedToken(name) }
    }
    let kept = name.flatMap { conversations[$0]?.bearer }
    ask(
      id, tool, arguments(of: call), .object(conversation: name),
      bearer: (call.fields.bearer ?? kept).map(Bearer.hash), from: call.address,
      of: call.fields.client)
  }

  private func arguments(of call: MCPCall) -> MCPArguments {
    MCPArguments(call.query.map { (name: $0.name, value: $0.value) })
  }

  /// The caller's own name for its conversation, which is as secret as it makes it.
  private func conversation(of call: MCPCall) -> String? {
    call.fields.conversation.flatMap { (1...256).contains($0.utf8.count) ? $0 : nil }
  }
}
