import HoldfastCore
import HoldfastJSON
import HoldfastServerParts

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
        return try initialize(request, id, MCPParams(params), accepts, fresh, call)
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
    // A session that began with another sign-in is as good as unknown.
    guard let session = sessions[name], session.owner == call.grant else {
      throw Rejection(404, RPCError(.invalidRequest, "Session not found: initialize again"), to: id)
    }
    return (name, session.version)
  }

  private mutating func initialize(
    _ request: RequestID, _ id: RPCID, _ params: MCPParams, _ accepts: MediaTypes,
    _ fresh: MCPSessionID, _ call: MCPCall
  ) throws(Rejection) {
    guard let offered = params.protocolVersion else {
      throw Rejection(200, .noVersion, to: id)
    }
    let version = MCPVersion.agreed(on: offered)
    guard !isDraining,
      sessions.insert(fresh.text, version, client: params.client, owner: call.grant, at: now)
    else {
      return answer(
        request,
        MCPReply(
          503, RPCError(.internalError, "No room for another session").response(to: id),
          retryAfter: policy.busyRetry))
    }
    sessions[fresh.text]?.elicitsURL = params.elicitsURL
    let welcome = MCPResult.initialized(version)
    respond(
      request, welcome.response(to: id, in: version, from: call.provider), accepts,
      session: fresh)
  }

  private mutating func serve(
    _ request: RequestID, _ method: String, _ params: MCPParams, _ form: RPCForm, _ call: MCPCall
  ) throws(Rejection) {
    if let name = form.session { sessions.touch(name, at: now) }
    let read: MCPRequest
    do throws(RPCError) {
      read = try MCPRequest(method, params, in: form.version, from: call.provider)
    } catch {
      let status = form.version.hasSessions ? 200 : error.code == .methodNotFound ? 404 : 400
      throw Rejection(status, error, to: form.id)
    }
    switch read {
    case .result(let result):
      let response = result.response(to: form.id, in: form.version, from: call.provider)
      respond(request, response, form.accepts)
    case .unknownTool(let name):
      metrics.called(nil, "unknown_tool")
      finish(request, .rpc(form), .unknownTool(name, of: call.provider))
    case .call(let tool, let arguments):
      try callTool(request, tool, arguments, params, form, call)
    }
  }

  private mutating func callTool(
    _ request: RequestID, _ tool: MCPTool, _ arguments: MCPArguments, _ params: MCPParams,
    _ form: RPCForm, _ call: MCPCall
  ) throws(Rejection) {
    let session = form.session.flatMap { sessions[$0] }
    guard session?.calls[form.id] == nil else {
      throw Rejection(form.version.hasSessions ? 200 : 400, .idInUse, to: form.id)
    }
    let named = call.grant == nil ? arguments.accessToken.map(Bearer.text) : nil
    let shown = named ?? call.fields.bearer.map(Bearer.hash)
    if let name = form.session, shown != nil { sessions.showedToken(name) }
    let known = shown ?? session?.bearer.map(Bearer.hash)
    let step = signInStep(tool, params, form, call, bearer: known)
    guard case .proceed(let bearer) = step else { return pause(request, tool, step, form, call) }
    ask(
      request, tool, arguments, .rpc(form), bearer: bearer, from: call.address,
      of: session?.client ?? params.meta?.client ?? call.fields.client)
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
    let version: String
    do throws(RPCError) {
      version = try params.statedVersion()
    } catch {
      throw Rejection(400, error, to: id)
    }
    let name = call.fields.rpcName.flatMap(MCPFieldValue.text)
    let isNamed = params.isNamed(name, by: method)
    guard call.fields.version == version, call.fields.rpcMethod == method, isNamed else {
      throw Rejection(
        400, RPCError(.headerMismatch, "The headers differ from the body"), to: id)
    }
    return try supported(version, to: id)
  }

  private func supported(_ text: String, to id: RPCID?) throws(Rejection) -> MCPVersion {
    do throws(RPCError) {
      return try MCPVersion.stateless(text)
    } catch {
      throw Rejection(400, error, to: id)
    }
  }
}

// Batches of JSON-RPC. Only version 2025-03-26 requires a server to accept them.
extension MCPServer {
  /// Handles the messages of a batch. The responses to them are combined into one response.
  mutating func postBatch(_ request: RequestID, _ call: MCPCall) {
    do throws(Rejection) {
      let accepts = try accepted(call)
      let session = try session(of: call)
      guard session.version == .march2025 else {
        throw Rejection(400, .batch)
      }
      let bodies: [[UInt8]]
      do throws(RPCMessage.Fault) {
        bodies = try RPCMessage.batch(call.body, atMost: Batches.most)
      } catch {
        throw Rejection(400, error.error)
      }
      let members = batches.begin(
        request, count: bodies.count, BatchForm(accepts: accepts))
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
        throw Rejection(400, .initializeInBatch, to: id)
      }
      // Each message is answered with JSON. The batch determines the form of the combined response.
      try take(message, member, call, MediaTypes(accept: nil), session)
    } catch {
      reject(member, error)
    }
  }

  typealias Batches = MCPBatches<BatchForm>

  /// The form of the response to a batch.
  struct BatchForm: Sendable {
    var accepts: MediaTypes
    var isWatched = false
  }

  /// Returns the number of bytes left for the response to a message, or `nil` if it is not in a
  /// batch.
  func batchRoom(for member: RequestID) -> Int? {
    batches.batch(of: member).map { batch in
      max((batch.form.accepts.json ? policy.maxBatchBytes : policy.maxEventBytes) - batch.held, 0)
    }
  }

  /// Replaces the responses to messages in batches with the responses to complete batches.
  mutating func gatherBatches(_ effects: [Effect]) -> [Effect] {
    guard !batches.isEmpty else { return effects }
    var found: [Effect] = []
    for effect in effects {
      switch effect {
      case .answer(let member, let reply):
        guard batches.owner(of: member) != nil else {
          found.append(effect)
          continue
        }
        if let batch = batches.take(reply.body, of: member) {
          found += Self.response(to: batch.request, batch.body, batch.form.accepts)
        }
      case .watch(let member):
        guard let request = batches.owner(of: member) else {
          found.append(effect)
          continue
        }
        if batches.batch(of: member)?.form.isWatched == false { found.append(.watch(request)) }
        batches.change(request) { $0.isWatched = true }
      case .begin, .write, .end, .call, .abandon, .store: found.append(effect)
      }
    }
    return found
  }

  private static func response(
    to request: RequestID, _ body: [UInt8]?, _ accepts: MediaTypes
  ) -> [Effect] {
    guard let body else { return [.answer(request, MCPReply(202))] }
    guard !accepts.json else { return [.answer(request, MCPReply(200, body))] }
    return [.begin(request), .write(request, MCPEvents.message(body)), .end(request)]
  }
}
