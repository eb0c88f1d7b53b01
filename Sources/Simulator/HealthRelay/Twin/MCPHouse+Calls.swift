import LinkCore
import LinkHealth
import LinkServerCore
import LinkWire

// Calls of tools, from a message or a plain request to the answer.
extension MCPHouse {
  /// A result, or a refusal with the words of it.
  struct Result: Sendable, Equatable {
    var text: String
    var object: String?
    /// What stands for the text where the object is read.
    var brief: String?
    var isError = false

    static func refused(_ word: String, _ words: String) -> Result {
      Result(text: words, object: MCPWords.refusal(word, words), isError: true)
    }

    init(text: String, object: String? = nil, brief: String? = nil, isError: Bool = false) {
      (self.text, self.object, self.brief, self.isError) = (text, object, brief, isError)
    }

    init(_ refusal: RelayRefusal) {
      self = .refused(refusal.mcpTerms.word, refusal.description)
    }

    /// What became of a call.
    init(_ outcome: RelayOutcome, of job: Job, from first: Timestamp, to last: Timestamp) {
      switch outcome {
      case .loggedIn(let grant):
        let seconds = grant.expiresIn.nanoseconds / 1_000_000_000
        let json = MCPWords.object([
          ("success", .flag(true)), ("access_token", .text(grant.accessToken)),
          ("token_type", .text("Bearer")), ("expires_in", .number(String(seconds))),
          ("user_id", .text(grant.user)), ("message", .text("Paired with the phone.")),
        ]).json
        self.init(text: json, object: json)
      case .loggedOut:
        let json = MCPWords.object([
          ("success", .flag(true)), ("message", .text("Logged out.")),
        ]).json
        self.init(text: json, object: json)
      case .data(let data): self.init(data, of: job, from: first, to: last)
      case .refused(let refusal): self.init(refusal)
      }
    }

    /// The members of the result, as a reader of this version gets them.
    func json(in version: MCPVersion?) -> String {
      let isBrief = version.map { $0.rawValue >= "2025-06-18" } ?? false
      let words = isBrief && object != nil ? brief ?? text : text
      let content = SessionTree.list([
        MCPWords.object([("type", .text("text")), ("text", .text(words))])
      ])
      let shown = object.map { ",\"structuredContent\":\($0)" } ?? ""
      return "\"content\":\(content.json)\(shown),\"isError\":\(isError)"
    }

    func response(to envelope: Envelope) -> [UInt8] {
      MCPWords.response(to: envelope, json(in: envelope.version))
    }
  }

  /// The bytes of the response to a logout with an id of one digit in a session.
  static var bytesOfLogout: Int {
    let takes = Media(json: false, events: true)
    let envelope = Envelope(id: .number(1), version: .june2025, takes: takes)
    let json = #"{"success":true,"message":"Logged out."}"#
    return Result(text: json, object: json).response(to: envelope).count
  }

  mutating func callTool(
    _ id: RequestID, _ params: MCPMembers, _ envelope: Envelope, _ call: MCPCall
  ) {
    let status = envelope.room == nil ? 400 : 200
    guard let name = params.text("name") else {
      return deny(id, status, -32_602, "name is missing", to: envelope.id)
    }
    guard let request = Self.request(params["arguments"]) else {
      return deny(id, status, -32_602, "arguments must be an object", to: envelope.id)
    }
    let isInUse = jobs.contains {
      envelope.room != nil && $0.shape.envelope?.room == envelope.room
        && $0.shape.envelope?.id == envelope.id
    }
    if isInUse { return deny(id, status, -32_600, "id is in use", to: envelope.id) }
    guard let tool = MCPTool.allCases.first(where: { $0.rawValue == name }) else {
      count(nil, "unknown_tool")
      return finish(id, .rpc(envelope), Result(text: "Unknown tool: \(name)", isError: true))
    }
    var bearer = request.token.map { MCPServer.Bearer.text($0) }
    if bearer == nil, let hash = call.fields.bearer { bearer = .hash(hash) }
    let room = room(envelope.room)
    if bearer != nil {
      use(envelope.room ?? "") { room in
        (room.holdsTokens, room.bearer) = (true, nil)
      }
    } else if let hash = room?.bearer {
      bearer = .hash(hash)
    }
    let said = params.members("_meta")?.client("io.modelcontextprotocol/clientInfo")
    ask(
      id, tool, request, .rpc(envelope), bearer, call,
      room?.client ?? said ?? MCPWords.client(call.fields.userAgent))
  }

  /// The arguments of a call; `nil` if they are no object.
  static func request(_ tree: SessionTree?) -> MCPRequest? {
    switch tree {
    case nil, .null: MCPRequest(all: MCPMembers(nil), isStrict: true)
    case .object: MCPRequest(all: MCPMembers(tree), isStrict: true)
    case .list, .text, .number, .flag: nil
    }
  }

  mutating func ask(
    _ id: RequestID, _ tool: MCPTool, _ request: MCPRequest, _ shape: Shape,
    _ bearer: MCPServer.Bearer?, _ call: MCPCall, _ assistant: AssistantName?
  ) {
    let ask: (RelayAsk, [RejectedMetric])
    do throws(MCPRequest.Fault) {
      ask = try request.ask(tool, of: assistant)
    } catch {
      count(tool, "invalid_arguments")
      return finish(id, shape, .refused("invalid_arguments", error.words), status: 400)
    }
    let envelope = shape.envelope
    let siblings = jobs.count { $0.shape.envelope?.room == envelope?.room }
    let isFull = envelope?.room != nil && siblings >= numbers.callsOfRoom
    if jobs.count >= numbers.calls || isFull { return refuseBusy(id, tool, shape) }
    lastAsk += 1
    var job = Job(
      request: id, ask: AskID(lastAsk), tool: tool, shape: shape, since: now, rejected: ask.1)
    if let envelope, envelope.takes.events {
      job.beatAt = now.advanced(by: numbers.pause(envelope))
    }
    jobs.append(job)
    out.append(.watch(id))
    out.append(.ask(job.ask, ask.0, bearer: bearer, from: call.address))
  }

  mutating func refuseBusy(_ id: RequestID, _ tool: MCPTool, _ shape: Shape) {
    let refusal = RelayRefusal.tooManyWaiting(retryAfter: numbers.busy)
    count(tool, "too_many_waiting")
    finish(id, shape, Result(refusal), refusal)
  }

  // Outcomes.

  mutating func conclude(
    _ ask: AskID, _ outcome: RelayOutcome, _ token: TokenHash?, _ wall: Timestamp
  ) {
    guard let id = jobs.first(where: { $0.ask == ask })?.request, let job = drop(id) else { return }
    var refusal: RelayRefusal?
    switch outcome {
    case .loggedIn:
      count(job.tool, "logged_in")
      keep(token, job.shape)
    case .loggedOut:
      count(job.tool, "logged_out")
      keep(nil, job.shape)
    case .data(let data): count(job.tool, data.succeeded ? "answered" : "answered_error")
    case .refused(let found):
      count(job.tool, found.mcpTerms.word)
      refusal = found
    }
    let first = wall.advanced(by: .zero - job.since.duration(to: now))
    let result = Result(outcome, of: job, from: first, to: wall)
    finish(job.request, job.shape, result, refusal, streams: job.isStreaming)
  }

  /// Signs in a client that shows no tokens itself, or signs it out.
  private mutating func keep(_ token: TokenHash?, _ shape: Shape) {
    switch shape {
    case .rpc(let envelope):
      use(envelope.room ?? "") { $0.bearer = $0.holdsTokens ? nil : token }
    case .object(let conversation):
      useTalk(conversation ?? "") { $0.bearer = $0.holdsTokens ? nil : token }
    case .mcpResult: return
    }
  }

  mutating func finish(
    _ id: RequestID, _ shape: Shape, _ result: Result, _ refusal: RelayRefusal? = nil,
    status: Int = 200, streams: Bool = false
  ) {
    switch shape {
    case .rpc(let envelope):
      var json = result.response(to: envelope)
      var room = streams || !envelope.takes.json ? numbers.eventBytes : .max
      if let batch = batches.first(where: { $0.members.contains(id) }) {
        room = max(0, (batch.takesJSON ? numbers.batchBytes : numbers.eventBytes) - batch.held)
      }
      if json.count > room {
        json = Result(RelayRefusal.answerTooLarge(limit: room)).response(to: envelope)
      }
      if !streams { return tell(id, json, envelope.takes) }
      out += [.write(id, MCPWords.event(String(decoding: json, as: UTF8.self))), .end(id)]
    case .mcpResult: finishPlainly(id, result, refusal, status)
    case .object:
      let terms = refusal?.mcpTerms
      out.append(
        .answer(id, again(terms?.status ?? status, result.object ?? "", terms?.again)))
    }
  }

  /// The client takes a call back, and is told so.
  mutating func takeBack(_ id: RequestID) {
    guard let job = drop(id), let envelope = job.shape.envelope else { return }
    count(job.tool, "cancelled")
    out.append(.abandon(job.ask))
    let json = MCPWords.error(-32_800, "Request cancelled", to: envelope.id).json
    guard job.isStreaming else { return tell(id, Array(json.utf8), envelope.takes) }
    out += [.write(id, MCPWords.event(json)), .end(id)]
  }
}
