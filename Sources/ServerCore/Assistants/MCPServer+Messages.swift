import HoldfastCore
import HoldfastJSON
import HoldfastWire

/// The handling of `/mcp`, with and without sessions.
extension MCPServer {
  mutating func takeMCP(_ id: RequestID, _ call: MCPCall, fresh: MCPSessionID) {
    // As in the SDKs, only the header decides: a version that has no handshake is stateless.
    let named = call.fields.version.map { MCPVersion(rawValue: $0) }
    if let named, named?.hasSessions != true { return takeStateless(id, call) }
    switch call.method {
    case .post: post(id, call, fresh: fresh)
    case .get: openStream(id, call)
    case .delete: deleteSession(id, call)
    case .options, .other: refuseMethod(id, allow: "GET, POST, DELETE")
    }
  }

  /// Reads a posted message. Throws a rejection if the message cannot be read.
  func message(in call: MCPCall) throws(Rejection) -> (RPCMessage, MediaTypes) {
    let accepts = try accepted(call)
    do {
      return (try RPCMessage.read(call.body), accepts)
    } catch {
      throw Rejection(400, error.error, to: error.id)
    }
  }

  /// Returns the media types that the sender of a posted message accepts.
  func accepted(_ call: MCPCall) throws(Rejection) -> MediaTypes {
    let accepts = MediaTypes(accept: call.fields.accept)
    guard accepts.json || accepts.events else {
      throw Rejection(
        406, RPCError(.invalidRequest, "Accept application/json and text/event-stream"))
    }
    guard MediaTypes.isJSON(call.fields.contentType) else {
      throw Rejection(400, RPCError(.invalidRequest, "Invalid Content-Type header"))
    }
    return accepts
  }

  /// A JSON-RPC error with its HTTP status.
  struct Rejection: Error {
    var status: Int
    var error: RPCError
    var id: RPCID?

    init(_ status: Int, _ error: RPCError, to id: RPCID? = nil) {
      self.status = status
      self.error = error
      self.id = id
    }
  }

  mutating func reject(_ request: RequestID, _ rejection: Rejection) {
    answer(request, MCPReply(rejection.status, rejection.error.response(to: rejection.id)))
  }

  /// Answers immediately, with JSON or with a stream of one event.
  mutating func respond(
    _ request: RequestID, _ json: [UInt8], _ accepts: MediaTypes, session: MCPSessionID? = nil
  ) {
    guard !accepts.json else { return answer(request, MCPReply(200, json, session: session)) }
    frame.emit([
      .begin(request, session: session), .write(request, MCPEvents.message(json)), .end(request),
    ])
  }

  // MARK: - With sessions

  private mutating func post(_ request: RequestID, _ call: MCPCall, fresh: MCPSessionID) {
    if RPCMessage.isBatch(call.body) { return postBatch(request, call) }
    do throws(Rejection) {
      let (message, accepts) = try message(in: call)
      if case .request(let id, "initialize", let params) = message {
        return try initialize(request, id, MCPParams(params), accepts, fresh)
      }
      var id: RPCID?
      if case .request(let found, _, _) = message { id = found }
      let session = try session(of: call, to: id)
      try take(message, request, call, accepts, session)
    } catch {
      reject(request, error)
    }
  }

  /// Handles a message within a session.
  mutating func take(
    _ message: RPCMessage, _ request: RequestID, _ call: MCPCall, _ accepts: MediaTypes,
    _ session: (name: String, version: MCPVersion)
  ) throws(Rejection) {
    switch message {
    case .request(let id, let method, let params):
      let form = RPCForm(
        id: id, version: session.version, session: session.name,
        progressToken: MCPParams(params).meta?.progressToken, accepts: accepts)
      try serve(request, method, MCPParams(params), form, call)
    case .notification("notifications/cancelled", let params):
      cancel(MCPParams(params).requestID, in: session.name)
      answer(request, MCPReply(202))
    case .notification, .response: answer(request, MCPReply(202))
    }
  }

  /// Returns the session that a request names.
  func session(
    of call: MCPCall, to id: RPCID? = nil
  ) throws(Rejection) -> (name: String, version: MCPVersion) {
    guard let name = call.fields.session else {
      throw Rejection(400, RPCError(.invalidRequest, "Missing session: initialize first"), to: id)
    }
    guard let session = sessions[name] else {
      throw Rejection(404, RPCError(.invalidRequest, "Session not found: initialize again"), to: id)
    }
    return (name, session.version)
  }

  private mutating func initialize(
    _ request: RequestID, _ id: RPCID, _ params: MCPParams, _ accepts: MediaTypes,
    _ fresh: MCPSessionID
  ) throws(Rejection) {
    guard let offered = params.protocolVersion else {
      throw Rejection(200, RPCError(.invalidParams, "protocolVersion is missing"), to: id)
    }
    let version = MCPVersion.agreed(on: offered)
    guard !isDraining,
      sessions.insert(fresh.text, version, client: params.client, at: now)
    else {
      return answer(
        request,
        MCPReply(
          503, RPCError(.internalError, "No room for another session").response(to: id),
          retryAfter: policy.busyRetry))
    }
    respond(
      request, MCPResult.initialized(version).response(to: id, in: version), accepts,
      session: fresh)
  }

  private mutating func serve(
    _ request: RequestID, _ method: String, _ params: MCPParams, _ form: RPCForm, _ call: MCPCall
  ) throws(Rejection) {
    if let name = form.session { sessions.touch(name, at: now) }
    let result: MCPResult
    switch method {
    case "ping" where form.version.hasSessions: result = .pong
    case "server/discover" where !form.version.hasSessions: result = .discovered
    case "tools/list": result = .tools
    case "tools/call": return try callTool(request, params, form, call)
    case _:
      throw Rejection(
        form.version.hasSessions ? 200 : 404,
        RPCError(.methodNotFound, "Method not found: \(method)"), to: form.id)
    }
    respond(request, result.response(to: form.id, in: form.version), form.accepts)
  }

  private mutating func callTool(
    _ request: RequestID, _ params: MCPParams, _ form: RPCForm, _ call: MCPCall
  ) throws(Rejection) {
    let status = form.version.hasSessions ? 200 : 400
    guard let name = params.name else {
      throw Rejection(status, RPCError(.invalidParams, "name is missing"), to: form.id)
    }
    guard let arguments = params.arguments else {
      throw Rejection(status, RPCError(.invalidParams, "arguments must be an object"), to: form.id)
    }
    let session = form.session.flatMap { sessions[$0] }
    guard session?.calls[form.id] == nil else {
      throw Rejection(status, RPCError(.invalidRequest, "id is in use"), to: form.id)
    }
    guard let tool = MCPTool(rawValue: name) else {
      metrics.called(nil, "unknown_tool")
      return finish(
        request, .rpc(form), MCPCallResult(text: "Unknown tool: \(name)", isError: true))
    }
    let shown = arguments.accessToken.map(Bearer.text) ?? call.fields.bearer.map(Bearer.hash)
    if let name = form.session, shown != nil { sessions.showedToken(name) }
    ask(
      request, tool, arguments, .rpc(form), bearer: shown ?? session?.bearer.map(Bearer.hash),
      from: call.address, of: session?.client ?? params.meta?.client ?? call.fields.client)
  }

  // MARK: - Without sessions

  private mutating func takeStateless(_ request: RequestID, _ call: MCPCall) {
    guard call.method == .post else { return refuseMethod(request, allow: "POST") }
    do throws(Rejection) {
      let (message, accepts) = try message(in: call)
      switch message {
      case .request(let id, let method, let params):
        let params = MCPParams(params)
        let version = try version(of: call, id, method, params)
        let form = RPCForm(
          id: id, version: version, session: nil, progressToken: params.meta?.progressToken,
          accepts: accepts)
        try serve(request, method, params, form, call)
      case .notification:
        // Without sessions, no notification has an effect: a client cancels by closing the
        // connection.
        _ = try supported(call.fields.version ?? "", to: nil)
        answer(request, MCPReply(202))
      case .response:
        throw Rejection(400, RPCError(.invalidRequest, "Expected a request or a notification"))
      }
    } catch {
      reject(request, error)
    }
  }

  /// Returns the version of a request. Throws if the request's headers do not match its body.
  private func version(
    of call: MCPCall, _ id: RPCID, _ method: String, _ params: MCPParams
  ) throws(Rejection) -> MCPVersion {
    // The version is checked first, since a later version may define other rules for messages.
    _ = try supported(call.fields.version ?? "", to: id)
    guard let meta = params.meta, let version = meta.protocolVersion, meta.hasCapabilities else {
      throw Rejection(
        400, RPCError(.invalidParams, "_meta must hold protocolVersion and clientCapabilities"),
        to: id)
    }
    let name = call.fields.rpcName.flatMap(MCPFieldValue.text)
    let isNamed = method != "tools/call" || name == params.name
    guard call.fields.version == version, call.fields.rpcMethod == method, isNamed else {
      throw Rejection(
        400, RPCError(.headerMismatch, "The headers differ from the body"), to: id)
    }
    return try supported(version, to: id)
  }

  private func supported(_ text: String, to id: RPCID?) throws(Rejection) -> MCPVersion {
    guard let version = MCPVersion(rawValue: text), !version.hasSessions else {
      let known = MCPVersion.allCases.map(\.rawValue).joined(separator: ", ")
      throw Rejection(
        400,
        RPCError(
          .unsupportedVersion, "Unsupported protocol version; this server speaks \(known)",
          requestedVersion: String(text.prefix(64))), to: id)
    }
    return version
  }
}

// Batches of JSON-RPC. Only version 2025-03-26 requires a server to accept them.
extension MCPServer {
  /// The maximum number of messages in a batch, chosen as twice the pending calls of a session.
  static let maxBatch = 32

  /// Handles the messages of a batch. The responses to them are combined into one response.
  mutating func postBatch(_ request: RequestID, _ call: MCPCall) {
    do throws(Rejection) {
      let accepts = try accepted(call)
      let session = try session(of: call)
      guard session.version == .march2025 else {
        throw Rejection(
          400,
          RPCError(
            .invalidRequest,
            "Invalid request: a batch, which only protocol version 2025-03-26 has; send one "
              + "message at a time"))
      }
      let bodies: [[UInt8]]
      do throws(RPCMessage.Fault) {
        bodies = try RPCMessage.batch(call.body, atMost: Self.maxBatch)
      } catch {
        throw Rejection(400, error.error)
      }
      let members = batches.begin(request, count: bodies.count, accepts)
      for (member, body) in zip(members, bodies) { take(body, member, call, session) }
    } catch {
      reject(request, error)
    }
  }

  private mutating func take(
    _ body: [UInt8], _ member: RequestID, _ call: MCPCall,
    _ session: (name: String, version: MCPVersion)
  ) {
    do throws(Rejection) {
      let message: RPCMessage
      do throws(RPCMessage.Fault) {
        message = try RPCMessage.read(body)
      } catch {
        throw Rejection(400, error.error, to: error.id)
      }
      if case .request(let id, "initialize", _) = message {
        throw Rejection(
          400, RPCError(.invalidRequest, "Invalid request: initialize in a batch"), to: id)
      }
      // Each message is answered with JSON. The batch determines the form of the combined response.
      try take(message, member, call, MediaTypes(accept: nil), session)
    } catch {
      reject(member, error)
    }
  }

  /// The batches with unanswered messages.
  ///
  /// Each message is handled as a separate request with an invented id, and `gather` combines the
  /// responses. The table is bounded by the number of open requests and by `maxBatch`.
  struct Batches: Sendable {
    struct Batch {
      var members: [RequestID]
      var accepts: MediaTypes
      var responses: [RequestID: [UInt8]] = [:]
      var isWatched = false
    }

    private var batches: [RequestID: Batch] = [:]
    /// The batch of each message.
    private var owners: [RequestID: RequestID] = [:]
    /// The id of the newest message. Ids count down from the maximum, which no connection's request
    /// reaches.
    private var lastMember = UInt64.max

    mutating func begin(
      _ request: RequestID, count: Int, _ accepts: MediaTypes
    ) -> [RequestID] {
      let members = (0..<count).map { _ in
        lastMember -= 1
        return RequestID(lastMember)
      }
      batches[request] = Batch(members: members, accepts: accepts)
      for member in members { owners[member] = request }
      return members
    }

    /// Returns the number of bytes left for the response to a message, or `nil` if it is not in a
    /// batch.
    func room(for member: RequestID, _ policy: MCPPolicy) -> Int? {
      guard let batch = owners[member].flatMap({ batches[$0] }) else { return nil }
      let held = batch.responses.values.reduce(0) { $0 + $1.count }
      return max((batch.accepts.json ? policy.maxBatchBytes : policy.maxEventBytes) - held, 0)
    }

    /// Returns whether a request is a pending batch or a message in a pending batch.
    func holds(_ request: RequestID) -> Bool {
      batches[request] != nil || owners[request] != nil
    }

    /// Removes a batch whose client has disconnected. Returns its messages, or `nil` if there is no
    /// such batch.
    mutating func forget(_ request: RequestID) -> [RequestID]? {
      guard let batch = batches.removeValue(forKey: request) else { return nil }
      for member in batch.members { owners[member] = nil }
      return batch.members
    }

    /// Replaces the responses to messages in batches with the responses to complete batches.
    mutating func gather(_ effects: [Effect]) -> [Effect] {
      guard !owners.isEmpty else { return effects }
      var found: [Effect] = []
      for effect in effects {
        switch effect {
        case .answer(let member, let reply):
          guard let request = owners[member] else {
            found.append(effect)
            continue
          }
          batches[request]?.responses[member] = reply.body
          found += finish(request)
        case .watch(let member):
          guard let request = owners[member] else {
            found.append(effect)
            continue
          }
          if batches[request]?.isWatched == false { found.append(.watch(request)) }
          batches[request]?.isWatched = true
        case .begin, .write, .end, .call, .abandon: found.append(effect)
        }
      }
      return found
    }

    private mutating func finish(_ request: RequestID) -> [Effect] {
      guard let batch = batches[request], batch.responses.count == batch.members.count else {
        return []
      }
      _ = forget(request)
      let responses = batch.members.compactMap { batch.responses[$0] }.filter { !$0.isEmpty }
      guard !responses.isEmpty else { return [.answer(request, MCPReply(202))] }
      let body =
        [UInt8(ascii: "[")] + Array(responses.joined(separator: [UInt8(ascii: ",")]))
        + [UInt8(ascii: "]")]
      guard !batch.accepts.json else { return [.answer(request, MCPReply(200, body))] }
      return [.begin(request), .write(request, MCPEvents.message(body)), .end(request)]
    }
  }
}

extension MCPServer.Batches: SelfChecking {
  func check(_ check: inout InvariantCheck) {
    check.require(owners.isEmpty == batches.isEmpty, "batches: none is without messages")
    guard check.isThorough else { return }
    check.require(
      owners.allSatisfy { batches[$1]?.members.contains($0) ?? false }
        && owners.count == batches.values.reduce(0) { $0 + $1.members.count },
      "batches: a message is one of its batch")
    check.require(
      batches.values.allSatisfy { batch in
        batch.responses.count < batch.members.count
          && batch.responses.keys.allSatisfy { batch.members.contains($0) }
      }, "batches: a batch that waits lacks an answer")
  }
}
