import LinkCore
import LinkHealth
import LinkWire

/// Calls of tools: to the relay, and back to the one request that wanted it.
extension MCPServer {
  /// Hands a call to the relay, or finishes it here when its arguments make no sense.
  mutating func ask(
    _ request: RequestID, _ tool: MCPTool, _ arguments: MCPArguments, _ form: Form,
    bearer: Bearer?, from address: String, of assistant: AssistantName?
  ) {
    let ask: RelayAsk
    let rejected: [RejectedMetric]
    do throws(MCPArguments.Fault) {
      (ask, rejected) = try RelayAsk.read(tool, arguments, of: assistant)
    } catch {
      let word = "invalid_arguments"
      metrics.called(tool, word)
      guard case .call = form else {
        return finish(request, form, .refused(word, error.message), status: 400)
      }
      return answer(request, MCPReply(400, PlainToolCall.detail(word, error.message)))
    }
    guard hasRoom(for: form) else {
      let refusal = RelayRefusal.tooManyWaiting(retryAfter: policy.busyRetry)
      metrics.called(tool, refusal.word)
      return finish(request, form, MCPCallResult(refusal), refusal: refusal)
    }
    lastAsk += 1
    let id = AskID(lastAsk)
    waiting[request] = Waiting(ask: id, tool: tool, form: form, since: now, rejected: rejected)
    askers[id] = request
    if case .rpc(let rpc) = form {
      if let name = rpc.session { sessions[name]?.calls[rpc.id] = request }
      if let first = beatInterval(of: rpc) { beats.set(request, at: now.advanced(by: first)) }
    }
    effects += [.watch(request), .ask(id, ask, bearer: bearer, from: address)]
  }

  private func hasRoom(for form: Form) -> Bool {
    guard waiting.count < policy.maxCalls else { return false }
    guard case .rpc(let rpc) = form, let name = rpc.session else { return true }
    return (sessions[name]?.calls.count ?? 0) < policy.callsPerSession
  }

  // MARK: - Outcomes

  mutating func conclude(
    _ ask: AskID, _ outcome: RelayOutcome, token: TokenHash?, wall: Timestamp
  ) {
    guard let request = askers[ask], let call = forget(request) else { return }
    metrics.called(call.tool, outcome.word)
    keep(outcome, token, of: call.form)
    let asked = wall.advanced(by: now.duration(to: call.since))
    let result = MCPCallResult(
      outcome, of: call.tool, rejected: call.rejected, window: min(asked, wall)...wall)
    var refusal: RelayRefusal?
    if case .refused(let found) = outcome { refusal = found }
    finish(request, call.form, result, refusal: refusal, isStreaming: call.isStreaming)
  }

  /// Whose token it is from now on.
  private mutating func keep(_ outcome: RelayOutcome, _ token: TokenHash?, of form: Form) {
    let bearer: TokenHash?
    switch outcome {
    case .loggedIn: bearer = token
    case .loggedOut: bearer = nil
    case .data, .refused: return
    }
    switch form {
    case .rpc(let rpc):
      guard let name = rpc.session else { return }
      sessions.signIn(name, bearer)
    case .call: break
    case .object(let conversation):
      guard let conversation else { return }
      conversations.signIn(conversation, bearer)
      conversations.touch(conversation, at: now)
    }
  }

  /// Tells a result in the form that its request wants.
  mutating func finish(
    _ request: RequestID, _ form: Form, _ result: MCPCallResult, refusal: RelayRefusal? = nil,
    status: Int = 200, isStreaming: Bool = false
  ) {
    switch form {
    case .rpc(let rpc):
      func response(_ result: MCPCallResult) -> [UInt8] {
        MCPResult.called(result).response(to: rpc.id, in: rpc.version)
      }
      var json = response(result)
      let isEvent = isStreaming || !rpc.accepts.json
      let room = batches.room(for: request, policy) ?? (isEvent ? policy.maxEventBytes : .max)
      if json.count > room, let once = result.once(in: rpc.version) { json = response(once) }
      if json.count > room { json = response(MCPCallResult(.answerTooLarge(limit: room))) }
      guard isStreaming else { return respond(request, json, rpc.accepts) }
      effects += [.write(request, MCPEvents.message(json)), .end(request)]
    case .call: finishPlainCall(request, result, refusal)
    case .object:
      answer(
        request,
        MCPReply(
          refusal?.status ?? status, result.structured ?? [], retryAfter: refusal?.retryAfter))
    }
  }

  // MARK: - Askers that do not wait

  /// A client left: nothing is told to it, and the relay need not go on.
  mutating func abandon(_ request: RequestID) {
    guard let call = forget(request) else { return forgetStream(request) }
    metrics.called(call.tool, RelayRefusal.cancelled.word)
    effects.append(.abandon(call.ask))
  }

  /// `notifications/cancelled` for a request of the same session.
  mutating func cancel(_ id: RPCID?, in session: String) {
    sessions.touch(session, at: now)
    guard let id, let request = sessions[session]?.calls[id] else { return }
    cancel(request)
  }

  /// Takes a call back; its request still waits and is told so.
  mutating func cancel(_ request: RequestID) {
    guard let call = forget(request) else { return }
    metrics.called(call.tool, RelayRefusal.cancelled.word)
    effects.append(.abandon(call.ask))
    guard case .rpc(let rpc) = call.form else { return }
    let json = RPCError(.cancelled, "Request cancelled").response(to: rpc.id)
    guard call.isStreaming else { return respond(request, json, rpc.accepts) }
    effects += [.write(request, MCPEvents.message(json)), .end(request)]
  }

  private mutating func forget(_ request: RequestID) -> Waiting? {
    guard let call = waiting.removeValue(forKey: request) else { return nil }
    askers[call.ask] = nil
    beats.clear(request)
    if case .rpc(let rpc) = call.form, let name = rpc.session {
      sessions[name]?.calls[rpc.id] = nil
      sessions.touch(name, at: now)
    }
    return call
  }

  // MARK: - Signs of life

  /// Says on a stream that it lives, and on a slow call's how long it waits.
  mutating func beat(_ request: RequestID) {
    guard var call = waiting[request], case .rpc(let rpc) = call.form,
      let interval = beatInterval(of: rpc)
    else {
      guard streams[request] != nil else { return }
      effects.append(.write(request, MCPEvents.comment))
      return beats.set(request, at: now.advanced(by: policy.commentInterval))
    }
    if !call.isStreaming {
      call.isStreaming = true
      waiting[request] = call
      effects.append(.begin(request))
    }
    effects.append(.write(request, sign(of: call, to: rpc.progressToken)))
    beats.set(request, at: now.advanced(by: interval))
  }

  private func sign(of call: Waiting, to token: RPCID?) -> [UInt8] {
    guard let token else { return MCPEvents.comment }
    return MCPEvents.progress(
      token, waited: call.since.duration(to: now).components.seconds,
      of: policy.callLimit.components.seconds, message: "Waiting for the phone")
  }

  /// How often a call's stream says something; `nil` for a client that takes no stream.
  private func beatInterval(of rpc: RPCForm) -> Duration? {
    guard rpc.accepts.events else { return nil }
    return rpc.progressToken == nil ? policy.commentInterval : policy.progressInterval
  }
}

extension RelayAsk {
  /// What a call of a tool wants of the relay, and the lines of a summary that it is not asked.
  fileprivate static func read(
    _ tool: MCPTool, _ arguments: MCPArguments, of assistant: AssistantName?
  ) throws(MCPArguments.Fault) -> (RelayAsk, [RejectedMetric]) {
    switch tool {
    case .directLogin:
      let (word, code) = try arguments.pair()
      return (.login(word: word, code: code, assistant: assistant), [])
    case .getHealthMetrics: return (.question(.healthData(try arguments.healthDataQuery())), [])
    case .getSummary:
      var query = try arguments.summaryQuery()
      let rejected = query.rejected
      query.rejected = []
      return (.question(.summary(query)), rejected)
    case .logout:
      try arguments.nothing()
      return (.logout, [])
    }
  }
}
