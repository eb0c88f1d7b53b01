import LinkCore
import LinkServerCore
import LinkWire

// The doors, and what is posted to `/mcp`.
extension MCPHouse {
  mutating func arrive(_ id: RequestID, _ call: MCPCall, _ fresh: MCPSessionID) {
    count("mcp_requests_total{route=\"\(Self.label(call.route))\"}")
    guard numbers.admits(host: call.fields.host) else {
      let words = "This server is reached by the names of this machine alone."
      return reply(id, 421, MCPWords.refusal("refused", words))
    }
    guard numbers.admits(origin: call.fields.origin) else {
      let words = "Web pages of this origin may not call."
      return reply(id, 403, MCPWords.refusal("refused", words))
    }
    pages[id] = call.fields.origin
    if call.method == .options, call.fields.origin != nil {
      var yes = MCPReply(204)
      yes.isPreflight = true
      return out.append(.answer(id, yes))
    }
    if call.route != .mcp { return takePlainly(id, call) }
    let version = call.fields.version
    if let version, !MCPWords.versions.dropLast().contains(version) {
      return takeAlone(id, call, version)
    }
    switch call.method {
    case .post: post(id, call, fresh)
    case .get: openStream(id, call)
    case .delete: deleteRoom(id, call)
    case .options, .other: refuse(id, allowing: "GET, POST, DELETE")
    }
  }

  private static func label(_ route: MCPRoute) -> String {
    switch route {
    case .mcp: "mcp"
    case .toolList: "mcp_tools"
    case .toolCall: "mcp_call"
    case .directLogin: "direct_login"
    case .healthMetrics: "health_metrics"
    case .logout: "logout"
    }
  }

  // Answers.

  func again(_ status: Int, _ body: String, _ wait: Duration?) -> MCPReply {
    MCPReply(status, Array(body.utf8), retryAfter: wait)
  }

  mutating func reply(_ id: RequestID, _ status: Int, _ body: String = "") {
    out.append(.answer(id, MCPReply(status, Array(body.utf8))))
  }

  mutating func refuse(_ id: RequestID, allowing methods: String) {
    let body = MCPWords.refusal("method", "This route takes \(methods).")
    out.append(.answer(id, MCPReply(405, Array(body.utf8), allow: methods)))
  }

  /// Answers with a JSON-RPC error.
  mutating func deny(
    _ id: RequestID, _ status: Int, _ code: Int, _ words: String, to asked: RPCID? = nil
  ) {
    reply(id, status, MCPWords.error(code, words, to: asked).json)
  }

  /// Tells a response, as a stream of one event to a client that takes no JSON.
  mutating func tell(
    _ id: RequestID, _ json: [UInt8], _ takes: Media, begins session: MCPSessionID? = nil
  ) {
    if takes.json { return out.append(.answer(id, MCPReply(200, json, session: session))) }
    let event = MCPWords.event(String(decoding: json, as: UTF8.self))
    out += [.begin(id, session: session), .write(id, event), .end(id)]
  }

  /// The name of the session of a request; whoever has none is told so.
  mutating func named(_ id: RequestID, _ call: MCPCall, _ asked: RPCID?) -> String? {
    guard let name = call.fields.session else {
      deny(id, 400, -32_600, "Missing session: initialize first", to: asked)
      return nil
    }
    if room(name) == nil {
      deny(id, 404, -32_600, "Session not found: initialize anew", to: asked)
      return nil
    }
    return name
  }

  /// What the client of a message takes; it is told if that is nothing, or the message no JSON.
  private mutating func taken(_ id: RequestID, _ call: MCPCall) -> Media? {
    let takes = MCPWords.media(call.fields.accept)
    if !takes.json, !takes.events {
      deny(id, 406, -32_600, "Accept application/json and text/event-stream")
      return nil
    }
    guard MCPWords.types.contains(where: { $0.text == call.fields.contentType && $0.isJSON })
    else {
      deny(id, 400, -32_600, "Invalid Content-Type header")
      return nil
    }
    return takes
  }

  // With sessions.

  private mutating func post(_ id: RequestID, _ call: MCPCall, _ fresh: MCPSessionID) {
    guard let takes = taken(id, call) else { return }
    if call.body.first(where: { $0 > 32 }) == UInt8(ascii: "[") {
      return postBatch(id, call, takes)
    }
    let message = MCPReading(call.body)
    if case .request(let asked, "initialize", let params) = message {
      return initialize(id, asked, params, takes, fresh)
    }
    if case .fault(let code, let words, let asked) = message {
      return deny(id, 400, code, words, to: asked)
    }
    var asked: RPCID?
    if case .request(let found, _, _) = message { asked = found }
    guard let name = named(id, call, asked) else { return }
    take(message, id, call, takes, name)
  }

  private mutating func initialize(
    _ id: RequestID, _ asked: RPCID, _ params: MCPMembers, _ takes: Media, _ fresh: MCPSessionID
  ) {
    guard let offered = params.text("protocolVersion") else {
      return deny(id, 200, -32_602, "protocolVersion is missing", to: asked)
    }
    let known = MCPWords.versions.dropLast().contains(offered)
    let version = MCPVersion(rawValue: known ? offered : "2025-11-25") ?? .november2025
    guard !isLeaving, enter(fresh.text, version, params.client("clientInfo")) else {
      let body = MCPWords.error(-32_603, "No room for another session", to: asked)
      return out.append(.answer(id, again(503, body.json, numbers.busy)))
    }
    let envelope = Envelope(id: asked, version: version, takes: takes)
    let members = [("protocolVersion", SessionTree.text(known ? offered : "2025-11-25"))]
    let json = MCPWords.response(
      to: envelope,
      MCPWords.members(members + MCPWords.powers + [("serverInfo", MCPWords.host)]))
    tell(id, json, takes, begins: fresh)
  }

  private mutating func take(
    _ message: MCPReading, _ id: RequestID, _ call: MCPCall, _ takes: Media, _ name: String
  ) {
    switch message {
    case .request(let asked, let method, let params):
      let envelope = Envelope(
        id: asked, version: room(name)?.version ?? .november2025, room: name,
        progress: params.members("_meta")?["progressToken"].flatMap { RPCID(mcp: $0) },
        takes: takes)
      serve(id, method, params, envelope, call)
    case .notification(let method, let params):
      if method == "notifications/cancelled" {
        use(name)
        let asked = params["requestId"].flatMap { RPCID(mcp: $0) }
        let job = jobs.first {
          $0.shape.envelope?.room == name && $0.shape.envelope?.id == asked
        }
        if asked != nil, let job { takeBack(job.request) }
      }
      reply(id, 202)
    case .response: reply(id, 202)
    case .fault(let code, let words, let asked): deny(id, 400, code, words, to: asked)
    }
  }

  private mutating func postBatch(_ id: RequestID, _ call: MCPCall, _ takes: Media) {
    guard let name = named(id, call, nil) else { return }
    guard room(name)?.version == .march2025 else {
      return deny(
        id, 400, -32_600,
        "Invalid request: a batch, which only protocol version 2025-03-26 has; send one message "
          + "at a time")
    }
    guard case .list(let all)? = SessionTree(call.body) else {
      return deny(id, 400, -32_700, MCPReading.parseError(call.body))
    }
    guard (1...32).contains(all.count) else {
      return deny(id, 400, -32_600, "Invalid request: a batch has 1 to 32 messages")
    }
    let members = all.map { _ in
      lastMember -= 1
      return RequestID(lastMember)
    }
    batches.append(Batch(request: id, takesJSON: takes.json, members: members))
    for (member, tree) in zip(members, all) {
      let message = MCPReading(tree)
      if case .request(let asked, "initialize", _) = message {
        deny(member, 400, -32_600, "Invalid request: initialize in a batch", to: asked)
      } else {
        take(message, member, call, Media(json: true, events: false), name)
      }
    }
  }

  private mutating func serve(
    _ id: RequestID, _ method: String, _ params: MCPMembers, _ envelope: Envelope, _ call: MCPCall
  ) {
    use(envelope.room ?? "")
    let isAlone = envelope.version == .july2026
    switch (method, isAlone) {
    case ("ping", false): tell(id, MCPWords.response(to: envelope, ""), envelope.takes)
    case ("server/discover", true):
      let versions = ("supportedVersions", SessionTree.list([.text("2026-07-28")]))
      let members = MCPWords.members([versions] + MCPWords.powers)
      let json = MCPWords.response(to: envelope, members, isKept: true)
      tell(id, json, envelope.takes)
    case ("tools/list", _):
      let json = MCPResult.tools.response(to: envelope.id, in: envelope.version)
      tell(id, json, envelope.takes)
    case ("tools/call", _): callTool(id, params, envelope, call)
    case _:
      deny(id, isAlone ? 404 : 200, -32_601, "Method not found: \(method)", to: envelope.id)
    }
  }

  // Without sessions.

  private mutating func takeAlone(_ id: RequestID, _ call: MCPCall, _ version: String) {
    guard call.method == .post else { return refuse(id, allowing: "POST") }
    guard let takes = taken(id, call) else { return }
    switch MCPReading(call.body) {
    case .fault(let code, let words, let asked): deny(id, 400, code, words, to: asked)
    case .response: deny(id, 400, -32_600, "A request or a notification is wanted")
    case .notification:
      if version == "2026-07-28" { reply(id, 202) } else { outdate(id, version, nil) }
    case .request(let asked, let method, let params):
      guard version == "2026-07-28" else { return outdate(id, version, asked) }
      let meta = params.members("_meta")
      let prefix = "io.modelcontextprotocol/"
      guard let meta, let said = meta.text(prefix + "protocolVersion"),
        meta.members(prefix + "clientCapabilities") != nil
      else {
        let words = "_meta must hold protocolVersion and clientCapabilities"
        return deny(id, 400, -32_602, words, to: asked)
      }
      let isSame =
        said == version && call.fields.rpcMethod == method
        && (method != "tools/call" || call.fields.rpcName == params.text("name"))
      guard isSame else {
        let words = "The headers say something else than the body"
        return deny(id, 400, -32_020, words, to: asked)
      }
      let envelope = Envelope(
        id: asked, version: .july2026, progress: meta["progressToken"].flatMap { RPCID(mcp: $0) },
        takes: takes)
      serve(id, method, params, envelope, call)
    }
  }

  private mutating func outdate(_ id: RequestID, _ version: String, _ asked: RPCID?) {
    let all = MCPWords.versions.joined(separator: ", ")
    let tree = MCPWords.error(
      -32_022, "Unsupported protocol version; this server speaks \(all)", to: asked,
      asked: String(version.prefix(64)))
    reply(id, 400, tree.json)
  }
}
