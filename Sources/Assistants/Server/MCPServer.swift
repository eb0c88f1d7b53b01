public import HoldfastCore
import HoldfastHealth
public import HoldfastRelayData
public import HoldfastRelayServer
public import HoldfastServerParts

/// The relay's server for assistants: MCP sessions, versions and calls, and the plain endpoints.
///
/// It handles no phones and does not interpret tokens. Each tool call becomes a call to the relay
/// with the id of its request, and each outcome becomes the response to that request.
public struct MCPServer: ServerRules {
  let policy: MCPPolicy

  var frame: ServerFrame<Effect>
  /// The sessions by `Mcp-Session-Id`.
  var sessions: SessionTable
  /// The conversations by `openai-conversation-id`.
  private(set) var conversations: SessionTable
  /// The requests that wait for the relay.
  private(set) var waiting: [RequestID: Waiting] = [:]
  /// The open GET streams, with the names of their sessions.
  private(set) var streams: [RequestID: String] = [:]
  /// The origins of the web pages whose requests have not been answered.
  private(set) var origins: [RequestID: String] = [:]
  /// The sign-ins on the page that clients were asked for.
  var elicitations: ElicitationTable
  /// The random identifier that came with the request that is being handled.
  var fresh: MCPSessionID?
  /// The batches with unanswered messages.
  var batches = Batches()
  var metrics = MCPMetrics()
  /// The responses that wait until their sessions are stored.
  private(set) var storing = StoreQuestions<Storing>()
  /// The times at which keep-alives or progress events are due.
  var beats = AlarmQueue<RequestID>()

  /// An input of the server.
  public enum Input: Sendable, Hashable, Codable {
    /// A request arrived. If it starts a session, `fresh` becomes the session's name.
    case request(RequestID, MCPCall, fresh: MCPSessionID)
    /// The client disconnected before the response was complete.
    case abandoned(RequestID)
    /// A call to the relay has ended.
    ///
    /// `token` is the hash of the token that a login granted. `wall` is the wall-clock time at
    /// which the outcome arrived.
    case outcome(RequestID, RelayOutcome, token: TokenHash?, wall: Timestamp)
    /// The sessions that were stored before the start.
    case restored([StoredAssistantSession])
    /// The change that waits under a token is stored. After a failure the change is stored with the
    /// next call of its session.
    case stored(StoreToken, failure: StoreFailure?)
    /// The server drains. Streams without a call would never end, so they are closed now.
    case drain
  }

  /// An effect of the server. Effects are carried out in order.
  public enum Effect: Sendable, Hashable, Codable {
    /// Answer a request.
    case answer(RequestID, MCPReply)
    /// Report immediately when the client of this request disconnects.
    case watch(RequestID)
    /// Start an event stream as the response, and possibly a session.
    ///
    /// A web page of `origin` may read the stream.
    case begin(RequestID, session: MCPSessionID? = nil, origin: String? = nil)
    /// Write to the event stream.
    case write(RequestID, [UInt8])
    /// End the event stream.
    case end(RequestID)
    /// Pass the call of a request to the relay, which sends an `outcome` now or later.
    case call(RequestID, RelayCall, bearer: Bearer?, from: String)
    /// Inform the relay that no request waits for this outcome any more.
    case abandon(RequestID)
    /// Store changes of sessions, and report with the token when they are durable or have failed.
    case store(StoreToken, [RelayChange])
  }

  /// A token, as text or as a hash.
  public enum Bearer: Sendable, Hashable, Codable, CustomStringConvertible {
    /// The hash of a token. It was stored, or computed when the request was read.
    case hash(TokenHash)
    /// The text of a token from the assistant's arguments. It is a secret.
    case text(String)

    /// A description without the secret.
    public var description: String { "a token" }
  }

  /// A request that waits for the relay.
  struct Waiting: Sendable {
    var tool: MCPTool
    var form: Form
    var since: Instant
    /// The metrics of a summary that are not sent to the phone. Each of them fails separately.
    var rejected: [RejectedMetric] = []
    /// Whether an event stream was started.
    var isStreaming = false
  }

  /// A response that waits until its session is stored, or its end.
  struct Storing: Sendable {
    var request: RequestID
    var response: Response

    enum Response: Sendable {
      case result(Form, MCPCallResult, RelayRefusal?, isStreaming: Bool)
      case reply(MCPReply)
    }
  }

  /// The form of the response to a tool call.
  enum Form: Sendable {
    /// A JSON-RPC response.
    case rpc(RPCForm)
    /// An MCP result without JSON-RPC: `/mcp/call`.
    case call
    /// The result's JSON object alone, with the conversation if there is one: `/api`, `/logout`.
    case object(conversation: String?)
    /// The sign-in page, for the sign-in with this id.
    case page(String)
  }

  struct RPCForm: Sendable {
    var id: RPCID
    var version: MCPVersion
    var session: String?
    var progressToken: RPCID?
    var accepts: MediaTypes
  }

  /// Creates a server without sessions.
  public init(policy: MCPPolicy = MCPPolicy(), at now: Instant) {
    let policy = policy.workable
    self.policy = policy
    frame = ServerFrame(at: now)
    sessions = SessionTable(bound: policy.maxSessions, idle: policy.idle)
    conversations = SessionTable(
      bound: policy.maxSessions, idle: policy.idle, isOfConversations: true)
    elicitations = ElicitationTable(policy)
  }

  /// Handles one input and returns the resulting effects, in order.
  public mutating func handle(_ input: Input, at now: Instant) -> [Effect] {
    frame.begin(at: now)
    switch input {
    case .request(let id, let call, let fresh): take(id, call, fresh: fresh)
    case .abandoned(let id): left(id)
    case .outcome(let id, let outcome, let token, let wall):
      conclude(id, outcome, token: token, wall: wall)
    case .restored(let stored):
      sessions.restore(stored, at: now)
      conversations.restore(stored, at: now)
    case .stored(let token, let failure): stored(token, failure)
    case .drain: drain()
    }
    return takeEffects()
  }

  /// Handles the comments and progress events that are due, and expires sessions.
  public mutating func tick(at now: Instant) -> [Effect] {
    frame.begin(at: now)
    while let id = beats.take(dueAt: now) { beat(id) }
    sessions.expire(at: now)
    conversations.expire(at: now)
    elicitations.expire(at: now)
    return takeEffects()
  }

  /// The next instant at which `tick` must be called.
  public var deadline: Instant? {
    [beats.first, sessions.deadline, conversations.deadline, elicitations.deadline]
      .compactMap(\.self).min()
  }

  var now: Instant { frame.now }

  /// Whether the streams have ended and no new work is accepted.
  var isDraining: Bool { frame.isFinished }

  func isStoring(_ request: RequestID) -> Bool {
    storing.all.contains { $0.request == request }
  }

  /// Sends the response that has waited for a change.
  private mutating func stored(_ token: StoreToken, _ failure: StoreFailure?) {
    guard let kept = storing.take(token) else { return }
    switch kept.response {
    case .reply(let reply): answer(kept.request, reply)
    case .result(let form, let result, let refusal, let isStreaming):
      if failure != nil { storeFailed(form) }
      finish(kept.request, form, result, refusal: refusal, isStreaming: isStreaming)
    }
  }

  private mutating func storeFailed(_ form: Form) {
    switch form {
    case .rpc(let rpc): if let name = rpc.session { sessions.storeFailed(name) }
    case .object(let name): if let name { conversations.storeFailed(name) }
    case .call, .page: break
    }
  }

  /// Whether responses wait until their sessions are stored.
  var isStoring: Bool { !storing.isEmpty }

  private mutating func takeEffects() -> [Effect] {
    let ended = sessions.takeEnded() + conversations.takeEnded()
    // Nothing waits for a removal. If it fails, the session is removed after a restart.
    if !ended.isEmpty { frame.emit(.store(storing.number(), ended.map { .endSession($0) })) }
    var found = gatherBatches(frame.takeEffects())
    nameOrigins(in: &found)
    metrics.counted(found)
    return found
  }

  mutating func answer(_ id: RequestID, _ reply: MCPReply) {
    frame.emit(.answer(id, reply))
  }
}

/// Tool calls, from the request to the relay and back.
extension MCPServer {
  /// Passes a call to the relay, or answers the request if its arguments are invalid.
  mutating func ask(
    _ request: RequestID, _ tool: MCPTool, _ arguments: MCPArguments, _ form: Form,
    bearer: Bearer?, from address: String, of assistant: AssistantName?
  ) {
    let call: RelayCall
    let rejected: [RejectedMetric]
    do throws(MCPArguments.Fault) {
      (call, rejected) = try RelayCall.read(tool, arguments, of: assistant)
    } catch {
      let name = "invalid_arguments"
      metrics.called(tool, name)
      guard case .call = form else {
        return finish(request, form, .refused(name, error.message), status: 400)
      }
      return answer(request, MCPReply(400, PlainToolCall.detail(name, error.message)))
    }
    guard hasRoom(for: form) else {
      let refusal = RelayRefusal.tooManyWaiting(retryAfter: policy.busyRetry)
      metrics.called(tool, refusal.name)
      return finish(request, form, MCPCallResult(refusal), refusal: refusal)
    }
    waiting[request] = Waiting(tool: tool, form: form, since: now, rejected: rejected)
    if case .rpc(let rpc) = form {
      if let name = rpc.session { sessions[name]?.calls[rpc.id] = request }
      if let first = beatInterval(of: rpc) { beats.set(request, at: now.advanced(by: first)) }
    }
    frame.emit([.watch(request), .call(request, call, bearer: bearer, from: address)])
  }

  /// Registers a request that waits for its login on the page.
  mutating func wait(_ request: RequestID, _ call: Waiting) { waiting[request] = call }

  private func hasRoom(for form: Form) -> Bool {
    guard waiting.count + storing.count < policy.maxCalls else { return false }
    guard case .rpc(let rpc) = form, let name = rpc.session else { return true }
    return (sessions[name]?.calls.count ?? 0) < policy.callsPerSession
  }

  // MARK: - Outcomes

  mutating func conclude(
    _ request: RequestID, _ outcome: RelayOutcome, token: TokenHash?, wall: Timestamp
  ) {
    guard let call = forget(request) else { return }
    metrics.called(call.tool, outcome.name)
    if case .page(let id) = call.form { return concludePage(request, id, outcome, token) }
    remember(outcome, token, of: call.form)
    let asked = wall.advanced(by: now.duration(to: call.since))
    let result = MCPCallResult(
      outcome, of: call.tool, rejected: call.rejected, window: min(asked, wall)...wall)
    var refusal: RelayRefusal?
    if case .refused(let found) = outcome { refusal = found }
    guard let change = change(of: call.form, isAccepted: refusal == nil) else {
      return finish(request, call.form, result, refusal: refusal, isStreaming: call.isStreaming)
    }
    let response = Storing.Response.result(
      call.form, result, refusal, isStreaming: call.isStreaming)
    store([.session(change)], then: Storing(request: request, response: response))
  }

  /// Stores changes. The response waits for them.
  private mutating func store(_ changes: [RelayChange], then response: Storing) {
    frame.emit(.store(storing.ask(response), changes))
  }

  /// Returns the session or the conversation of a call, if it has to be stored. Those of clients
  /// that are not signed in are not stored before the relay accepts a call.
  private mutating func change(of form: Form, isAccepted: Bool) -> StoredAssistantSession? {
    switch form {
    case .rpc(let rpc): rpc.session.flatMap { sessions.store($0, isNew: isAccepted) }
    case .object(let conversation):
      conversation.flatMap { conversations.store($0, isNew: isAccepted) }
    case .call, .page: nil
    }
  }

  /// Updates the token of the session or conversation of a call.
  private mutating func remember(_ outcome: RelayOutcome, _ token: TokenHash?, of form: Form) {
    let bearer: TokenHash?
    switch outcome {
    case .loggedIn: bearer = token
    case .loggedOut: bearer = nil
    // The next call of a client that can open the page asks for another sign-in.
    case .refused(.tokenExpired), .refused(.notSignedIn), .refused(.signedOut):
      guard case .rpc(let rpc) = form, let name = rpc.session, sessions[name]?.elicitsURL == true
      else { return }
      bearer = nil
    case .renewed, .data, .refused: return
    }
    switch form {
    case .rpc(let rpc):
      guard let name = rpc.session else { return }
      sessions.signIn(name, bearer)
    case .call, .page: break
    case .object(let conversation):
      guard let conversation else { return }
      conversations.signIn(conversation, bearer)
      conversations.touch(conversation, at: now)
    }
  }

  /// Answers a request in the form that it requires.
  mutating func finish(
    _ request: RequestID, _ form: Form, _ result: MCPCallResult, refusal: RelayRefusal? = nil,
    status: Int = 200, isStreaming: Bool = false
  ) {
    switch form {
    case .rpc(let rpc):
      let isEvent = isStreaming || !rpc.accepts.json
      let room = batchRoom(for: request) ?? (isEvent ? policy.maxEventBytes : .max)
      let json = result.response(to: rpc.id, in: rpc.version, within: room)
      guard isStreaming else { return respond(request, json, rpc.accepts) }
      frame.emit([.write(request, MCPEvents.message(json)), .end(request)])
    case .call: finishPlainCall(request, result, refusal)
    case .object, .page:
      answer(
        request,
        MCPReply(
          refusal?.status ?? status, result.structured ?? [], retryAfter: refusal?.retryAfter))
    }
  }

  // MARK: - Callers that disconnect or cancel

  /// Abandons the call of a client that disconnected.
  mutating func abandon(_ request: RequestID) {
    if isStoring { storing.keep { $0.request != request } }
    guard let call = forget(request) else { return forgetStream(request) }
    metrics.called(call.tool, RelayRefusal.cancelled.name)
    frame.emit(.abandon(request))
  }

  /// Handles `notifications/cancelled` for a request of the same session.
  mutating func cancel(_ id: RPCID?, in session: String) {
    sessions.touch(session, at: now)
    guard let id, let request = sessions[session]?.calls[id] else { return }
    cancel(request)
  }

  /// Cancels a call and reports this as the response to its request.
  mutating func cancel(_ request: RequestID) {
    guard let call = forget(request) else { return }
    metrics.called(call.tool, RelayRefusal.cancelled.name)
    frame.emit(.abandon(request))
    guard case .rpc(let rpc) = call.form else { return }
    let json = RPCError(.cancelled, "Request cancelled").response(to: rpc.id)
    guard call.isStreaming else { return respond(request, json, rpc.accepts) }
    frame.emit([.write(request, MCPEvents.message(json)), .end(request)])
  }

  private mutating func forget(_ request: RequestID) -> Waiting? {
    guard let call = waiting.removeValue(forKey: request) else { return nil }
    beats.clear(request)
    if case .rpc(let rpc) = call.form, let name = rpc.session {
      sessions[name]?.calls[rpc.id] = nil
      sessions.touch(name, at: now)
    }
    return call
  }

  // MARK: - Keep-alive

  /// Sends a comment on a stream, or the progress of a slow call.
  mutating func beat(_ request: RequestID) {
    guard var call = waiting[request], case .rpc(let rpc) = call.form,
      let interval = beatInterval(of: rpc)
    else {
      guard streams[request] != nil else { return }
      frame.emit(.write(request, MCPEvents.comment))
      return beats.set(request, at: now.advanced(by: policy.commentInterval))
    }
    if !call.isStreaming {
      call.isStreaming = true
      waiting[request] = call
      frame.emit(.begin(request))
    }
    frame.emit(.write(request, sign(of: call, to: rpc.progressToken)))
    beats.set(request, at: now.advanced(by: interval))
  }

  private func sign(of call: Waiting, to token: RPCID?) -> [UInt8] {
    guard let token else { return MCPEvents.comment }
    return MCPEvents.progress(
      token, waited: call.since.duration(to: now).components.seconds,
      of: policy.callLimit.components.seconds, message: "Waiting for the phone")
  }

  /// Returns the interval of keep-alives of a call, or `nil` for a client that accepts no stream.
  private func beatInterval(of rpc: RPCForm) -> Duration? {
    guard rpc.accepts.events else { return nil }
    return rpc.progressToken == nil ? policy.commentInterval : policy.progressInterval
  }
}

extension RelayCall {
  /// Reads the call of a tool. Returns the call and the rejected metrics of a summary.
  static func read(
    _ tool: MCPTool, _ arguments: MCPArguments, of assistant: AssistantName?
  ) throws(MCPArguments.Fault) -> (RelayCall, [RejectedMetric]) {
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
    case .listHealthTypes:
      try arguments.nothing()
      return (.question(.types), [])
    case .logout:
      try arguments.nothing()
      return (.logout, [])
    }
  }
}

/// Streams without a call, and the deletion of sessions.
extension MCPServer {
  /// Handles `GET /mcp`, the stream of unsolicited messages. This server sends only keep-alives on
  /// it.
  mutating func openStream(_ request: RequestID, _ call: MCPCall) {
    guard MediaTypes(accept: call.fields.accept).events else {
      return reject(
        request, Rejection(406, RPCError(.invalidRequest, "Accept text/event-stream")))
    }
    do throws(Rejection) {
      let name = try session(of: call).name
      guard !isDraining else {
        return answer(request, MCPReply(503, retryAfter: policy.busyRetry))
      }
      // A client that lost its stream may open another before the server detects the loss.
      if let older = sessions[name]?.stream { closeStream(older) }
      sessions[name]?.stream = request
      sessions.touch(name, at: now)
      streams[request] = name
      frame.emit(.begin(request))
      // Some proxies delay the head of a response until the first byte of its body arrives.
      frame.emit(.write(request, MCPEvents.comment))
      beats.set(request, at: now.advanced(by: policy.commentInterval))
    } catch {
      reject(request, error)
    }
  }

  /// Handles `DELETE /mcp`, which ends a session and its pending calls.
  ///
  /// The session's token stays valid, so that the assistant can use it in its next session.
  mutating func deleteSession(_ request: RequestID, _ call: MCPCall) {
    do throws(Rejection) {
      let name = try session(of: call).name
      let session = sessions[name]
      if let stream = session?.stream { closeStream(stream) }
      for id in (session?.calls.values.map(\.self) ?? []).sorted() { cancel(id) }
      sessions[name] = nil
      let ended = sessions.takeEnded()
      guard !ended.isEmpty else { return answer(request, MCPReply(200)) }
      store(
        ended.map { .endSession($0) },
        then: Storing(request: request, response: .reply(MCPReply(200))))
    } catch {
      reject(request, error)
    }
  }

  private mutating func closeStream(_ request: RequestID) {
    forgetStream(request)
    frame.emit(.end(request))
  }

  /// Removes a stream that has ended.
  mutating func forgetStream(_ request: RequestID) {
    beats.clear(request)
    guard let name = streams.removeValue(forKey: request) else { return }
    if sessions[name]?.stream == request { sessions[name]?.stream = nil }
    sessions.touch(name, at: now)
  }

  mutating func drain() {
    // The drain ends immediately, since the relay ends the calls.
    if frame.drain(within: .zero, grace: .zero, limit: .zero) { frame.finish() }
    for id in streams.keys.sorted() { closeStream(id) }
  }
}

extension MCPServer {
  /// Refuses requests from foreign hosts and origins, and passes all others to their routes.
  mutating func take(_ id: RequestID, _ call: MCPCall, fresh: MCPSessionID) {
    metrics.requests[call.route, default: 0] += 1
    guard policy.originPolicy.admit(host: call.fields.host) else {
      return refuse(id, 421, "This server accepts only the host names of this machine.")
    }
    self.fresh = fresh
    sessions.recall(call.fields.session, call.fields.sessionHash, at: now)
    conversations.recall(call.fields.conversation, call.fields.conversationHash, at: now)
    if call.route == .signIn { return takePage(id, call) }
    guard policy.originPolicy.admit(origin: call.fields.origin) else {
      return refuse(id, 403, OriginPolicy.foreignOrigin)
    }
    origins[id] = call.fields.origin
    guard call.method != .options || call.fields.origin == nil else { return preflight(id) }
    switch call.route {
    case .mcp: takeMCP(id, call, fresh: fresh, signedInAt: policy.publicURL)
    case .code:
      guard policy.publicURL != nil else { return refuse(id, 404, Self.noCodeRoute) }
      takeMCP(id, call, fresh: fresh)
    case .signIn: break
    case .toolList, .toolCall, .directLogin, .healthMetrics, .logout: takePlain(id, call)
    }
  }

  /// Handles a request to `/mcp`, whose client must have signed in if there is a public URL.
  private mutating func takeMCP(
    _ id: RequestID, _ call: MCPCall, fresh: MCPSessionID, signedInAt url: PublicURL?
  ) {
    guard let url else { return takeMCP(id, call, fresh: fresh) }
    guard let challenge = url.challenge(to: call.fields.permission) else {
      var call = call
      call.fields.bearer = call.grant
      return takeMCP(id, call, fresh: fresh)
    }
    let isUnscoped = call.fields.permission == .insufficient
    let refused =
      isUnscoped
      ? MCPCallResult.refused("insufficient_scope", "The sign-in lacks the scope health:read.")
      : MCPCallResult.refused("not_signed_in", Self.signInFirst)
    var reply = MCPReply(isUnscoped ? 403 : 401, refused.structured ?? [])
    reply.challenge = challenge
    answer(id, reply)
  }

  private static let noCodeRoute =
    "There is no such route. Without --public-url the tools, and the login by word and code, are "
    + "at /mcp."
  private static let signInFirst =
    "Sign in with OAuth first. A client without OAuth uses /mcp/code, and logs in by word and code."

  /// Answers a CORS preflight request.
  private mutating func preflight(_ id: RequestID) {
    var reply = MCPReply(204)
    reply.isPreflight = true
    answer(id, reply)
  }

  /// Handles a client that disconnected. If its request is a batch, all of the messages are
  /// abandoned.
  mutating func left(_ id: RequestID) {
    origins[id] = nil
    for request in batches.forget(id) ?? [id] { abandon(request) }
  }

  /// Returns an effect with the web page's origin, so that the browser lets the page read the
  /// response.
  func named(_ effect: Effect) -> Effect {
    switch effect {
    case .answer(let id, var reply):
      reply.origin = origins[id]
      return .answer(id, reply)
    case .begin(let id, let session, _):
      return .begin(id, session: session, origin: origins[id])
    case .watch, .write, .end, .call, .abandon, .store: return effect
    }
  }

  /// Adds the origins to responses, and removes the origins of answered requests.
  mutating func nameOrigins(in effects: inout [Effect]) {
    guard !origins.isEmpty else { return }
    effects = effects.map { named($0) }
    for effect in effects {
      switch effect {
      case .answer(let id, _), .end(let id): origins[id] = nil
      case .watch, .begin, .write, .call, .abandon, .store: break
      }
    }
  }

  /// Refuses a request before its body is read. The response is not JSON-RPC.
  mutating func refuse(_ id: RequestID, _ status: Int, _ sentence: String) {
    answer(id, MCPReply(status, MCPCallResult.refused("refused", sentence).structured ?? []))
  }

  mutating func refuseMethod(_ id: RequestID, allow: String) {
    var reply = MCPReply(405, allow: allow)
    reply.body = MCPCallResult.refused("method", "This route takes \(allow).").structured ?? []
    answer(id, reply)
  }
}

/// The media types that a client accepts (RFC 9110 section 12.5.1).
struct MediaTypes: Sendable, Hashable {
  var json: Bool
  var events: Bool

  /// Reads `Accept`.
  ///
  /// Weights other than 0 are ignored. If the field is missing, a stream is not accepted, but JSON
  /// is.
  init(accept: String?) {
    guard let accept else {
      (json, events) = (true, false)
      return
    }
    let ranges = accept.lowercased().split(separator: ",").map { part in
      part.split(separator: ";").map { $0.filter { $0 != " " && $0 != "\t" } }
    }
    let taken = Set(
      ranges.compactMap { range in
        range.dropFirst().contains { ["q=0", "q=0.0", "q=0.00", "q=0.000"].contains($0) }
          ? nil : range.first
      })
    json = !taken.isDisjoint(with: ["application/json", "application/*", "*/*"])
    events = !taken.isDisjoint(with: ["text/event-stream", "text/*", "*/*"])
  }

  /// Returns whether a `Content-Type` is JSON, ignoring its parameters.
  ///
  /// - Parameter orSuffix: Whether a type such as `application/x+json` is JSON, too (RFC 6839 section
  ///   3.1).
  static func isJSON(_ contentType: String?, orSuffix: Bool = false) -> Bool {
    let field = contentType?.split(separator: ";").first ?? ""
    let type = field.lowercased().filter { $0 != " " && $0 != "\t" }
    return type == "application/json"
      || (orSuffix && type.hasPrefix("application/") && type.hasSuffix("+json"))
  }
}

/// The original app's plain endpoints. They use no JSON-RPC, and only a header names the
/// conversation.
extension MCPServer {
  mutating func takePlain(_ id: RequestID, _ call: MCPCall) {
    switch (call.route, call.method) {
    case (.mcp, _), (.code, _), (.signIn, _): break
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

  /// Answers `/mcp/call`. A wrong pairing code leads to a result. A client that is locked out or
  /// not signed in receives an HTTP error.
  mutating func finishPlainCall(
    _ id: RequestID, _ result: MCPCallResult, _ refusal: RelayRefusal?
  ) {
    guard let refusal else {
      return answer(id, MCPReply(200, PlainToolCall.answer(result, refusal: nil)))
    }
    guard refusal != .wrongPair, refusal.status == 401 || refusal.status == 429 else {
      return answer(id, MCPReply(200, PlainToolCall.answer(result, refusal: refusal.name)))
    }
    answer(
      id,
      MCPReply(
        refusal.status, PlainToolCall.detail(refusal.name, refusal.description),
        retryAfter: refusal.retryAfter))
  }

  private mutating func directLogin(_ id: RequestID, _ call: MCPCall) {
    let name = conversation(of: call)
    if let name, conversations[name] == nil,
      isDraining || !conversations.insert(name, .newestWithSessions, at: now)
    {
      let refusal = RelayRefusal.tooManyWaiting(retryAfter: policy.busyRetry)
      metrics.called(.directLogin, refusal.name)
      return finish(id, .object(conversation: nil), MCPCallResult(refusal), refusal: refusal)
    }
    conversations.recall(name, call.fields.conversationHash, at: now)
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
    let stored = name.flatMap { conversations[$0]?.bearer }
    ask(
      id, tool, arguments(of: call), .object(conversation: name),
      bearer: (call.fields.bearer ?? stored).map(Bearer.hash), from: call.address,
      of: call.fields.client)
  }

  private func arguments(of call: MCPCall) -> MCPArguments {
    MCPArguments(call.query.map { (name: $0.name, value: $0.value) })
  }

  /// Returns the conversation's name, which the caller chooses.
  ///
  /// The name is only as secret as the caller makes it.
  private func conversation(of call: MCPCall) -> String? {
    call.fields.conversation.flatMap { (1...256).contains($0.utf8.count) ? $0 : nil }
  }
}

extension MCPServer.Waiting {
  /// The form of a JSON-RPC call, or `nil` for a plain call.
  var rpc: MCPServer.RPCForm? {
    switch form {
    case .rpc(let rpc): rpc
    case .call, .object, .page: nil
    }
  }
}
