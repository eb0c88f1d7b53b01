import HoldfastCore
import HoldfastRelayData

@testable import HoldfastAssistants
@testable import HoldfastRelayServer
@testable import HoldfastServerParts

/// Random inputs for a server of assistants, and the promises of the server.
struct MCPInputs: ServerInputs {
  /// A call that the relay has not answered yet.
  struct Asked {
    let ask: RequestID
    let wants: RelayCall
    /// The session or the conversation of the call.
    let owner: String?
    /// The request that made the call. For a call in a batch, this is the request of the whole
    /// batch.
    let request: RequestID
    /// The sign-in on whose page the call was made.
    var page: String?
  }

  /// A request whose response is not complete.
  struct Request {
    let call: MCPCall
    /// Whether the response is a stream that has begun.
    var isStream = false
  }

  var run: RandomRun<MCPServer>
  var notes = ServerNotes()
  let policy: MCPPolicy
  let drainLimit = Duration.zero

  var sessions: [String] = []
  /// The sessions that accept batches.
  var batching: [String] = []
  /// The hashes of tokens, by session or conversation.
  var tokens: [String: TokenHash] = [:]
  var asked: [Asked] = []
  /// The changes that the store has not confirmed, with the request whose response waits for them.
  var stores: [(token: StoreToken, request: RequestID?)] = []
  private var isRestored = false
  var open: [RequestID: Request] = [:]
  /// The sign-ins on a page that clients were asked for, by the ids in their addresses.
  var pages: [String: SignIn] = [:]
  var newestPage: String?

  init(seed: UInt64) {
    var draw = PolicyDraw(generator: RandomSource(seed: seed))
    var policy = MCPPolicy()
    let counts: [(WritableKeyPath<MCPPolicy, Int>, [Int])] = [
      (\.maxSessions, [0, 1, 2, 3]), (\.maxCalls, [0, 1, 2, 4]), (\.callsPerSession, [0, 1, 2]),
      (\.maxEventBytes, [0, 300, 900]), (\.maxBatchBytes, [0, 250, 900]),
      (\.maxElicitations, [0, 1, 2]), (\.elicitationBurst, [0, 2]),
    ]
    let times: [(WritableKeyPath<MCPPolicy, Duration>, [Int])] = [
      (\.idle, [0, 3, 8, 40]), (\.progressInterval, [0, 1]), (\.commentInterval, [0, 2, 3]),
      (\.elicitationInterval, [0, 1]), (\.elicitationLife, [9, 600]),
    ]
    draw.set(&policy, counts)
    draw.set(&policy, seconds: times)
    if draw.oneIn(3) { policy.originPolicy.hosts = ["relay.example"] }
    if draw.oneIn(3) { policy.originPolicy.origins = ["https://app.example"] }
    policy.originPolicy.isLocal = !draw.oneIn(3)
    if draw.oneIn(2) { policy.publicURL = PublicURL(Self.place) }
    self.policy = policy
    run = RandomRun(MCPServer(policy: policy, at: .zero), seed: seed, generator: draw.generator)
  }

  mutating func act() {
    if !isRestored { restore() }
    if let store = stores.first, oneIn(2) {
      stores.removeFirst()
      give(.stored(store.token, failure: oneIn(4) ? .full(detail: "d") : nil))
    }
    passTime([.milliseconds(1), .seconds(1), .seconds(2), .seconds(3), .seconds(41)])
    switch number(0...39) {
    case 0...9: answerCall()
    case 10...11: leave()
    case 12: endSession()
    case 13: if oneIn(9) { give(.drain) }
    case 14...17: send(plain())
    case 18...20: send(stream())
    case 21: send(odd())
    case 22...25: send(stateless())
    case 26...28: send(greeting())
    case 29...31: send(batch())
    case 32...36 where policy.publicURL != nil: send(signIn())
    case _: send(message())
    }
  }

  /// Passes the sessions of an earlier run to the server.
  private mutating func restore() {
    isRestored = true
    let stored = (0..<number(0...3)).map { _ in
      let name = MCPSessionID(random: (0..<16).map { _ in UInt8(number(0...255)) }).text
      sessions.append(name)
      tokens[name] = hash()
      return StoredAssistantSession(
        id: MCPInputs.hash(of: name), version: one(["2025-03-26", "2025-11-25", "1999-01-01"]),
        bearer: tokens[name])
    }
    give(.restored(stored))
  }

  /// The names of sessions have 32 bytes, as hashes have.
  private static func hash(of name: String) -> TokenHash {
    TokenHash(Array(name.utf8)) ?? { preconditionFailure("a name has 32 bytes") }()
  }

  /// Passes a request to the server.
  mutating func send(_ call: MCPCall) {
    var call = call
    call.fields.sessionHash = call.fields.session.flatMap { TokenHash(Array($0.utf8)) }
    let bytes = (0..<16).map { _ in UInt8(truncatingIfNeeded: generator.next()) }
    give(.request(RequestID(notes.fresh()), call, fresh: MCPSessionID(random: bytes)))
  }

  /// Abandons a request, or rarely an unknown one.
  private mutating func leave() {
    let all = open.keys.sorted()
    give(.abandoned(all.isEmpty || oneIn(12) ? RequestID(77_777) : one(all)))
  }

  /// Passes the outcome of a call. Rarely, the call is unknown or has already ended.
  private mutating func answerCall() {
    guard !asked.isEmpty else { return send(message()) }
    let call = one(asked)
    let ask = oneIn(30) ? RequestID(55_555) : call.ask
    let outcome = outcome(of: call.wants)
    let time = wall.advanced(by: .seconds(one([-31, 0, 31])))
    for _ in 0..<(oneIn(20) ? 2 : 1) {
      give(.outcome(ask, outcome, token: oneIn(6) ? nil : hash(), wall: time))
    }
  }

  static func request(in effect: MCPServer.Effect) -> String? {
    switch effect {
    case .answer(let id, _), .end(let id): "the end of the answer to \(id)"
    case .begin(let id, _, _): "the start of a stream for \(id)"
    case .watch(let id): "a watch of \(id)"
    case .call(let id, _, _, _): "the outcome of \(id)"
    case .write, .abandon, .store: nil
    }
  }
}

// MARK: Promises
extension MCPInputs {
  mutating func note(_ step: MachineStep<MCPServer>) {
    if let input = step.input { note(input) }
    for effect in step.effects { note(effect, after: step.input) }
    if case .outcome(let ask, let outcome, let token, _) = step.input {
      conclude(ask, outcome, token)
    }
    checkRequests()
    checkDrain(step)
  }

  private mutating func note(_ input: MCPServer.Input) {
    switch input {
    case .request(let id, let call, _): open[id] = Request(call: call)
    case .abandoned(let id): open[id] = nil
    case .drain: noteDrain()
    case .outcome, .restored, .stored: return
    }
  }

  private mutating func note(_ effect: MCPServer.Effect, after input: MCPServer.Input?) {
    switch effect {
    case .answer(let id, let reply):
      guard let request = open.removeValue(forKey: id) else {
        return run.fail("only a request that waits is answered")
      }
      require(!request.isStream, "an answer is whole or a stream")
      noteSignIn(reply.body, to: request.call)
      if let session = reply.session { enter(session.text, reply.body) }
    case .begin(let id, let session, _):
      require(open[id]?.isStream == false, "a stream begins once")
      open[id]?.isStream = true
      if let session { enter(session.text, []) }
    case .watch(let id): require(open[id] != nil, "only a request that waits is watched")
    case .write(let id, let bytes):
      require(open[id]?.isStream == true, "only a stream that began is written to")
      if let call = open[id]?.call { noteSignIn(bytes, to: call) }
    case .end(let id):
      require(open.removeValue(forKey: id)?.isStream == true, "only a stream that began ends")
    case .call(let ask, let wants, let bearer, _): note(ask, wants, bearer, after: input)
    case .abandon(let ask):
      require(asked.contains { $0.ask == ask }, "only a call that waits is abandoned")
      asked.removeAll { $0.ask == ask }
    case .store(let token, let changes):
      require(changes.allSatisfy(\.isOfSession), "only sessions are stored")
      var request: RequestID?
      switch input {
      case .outcome(let ask, _, _, _): request = asked.first { $0.ask == ask }?.request
      case .request(let id, _, _): request = id
      case .abandoned, .restored, .stored, .drain, nil: break
      }
      stores.append((token, request))
    }
  }

  private mutating func note(
    _ ask: RequestID, _ wants: RelayCall, _ bearer: MCPServer.Bearer?, after input: MCPServer.Input?
  ) {
    guard case .request(let id, let call, _) = input else {
      return run.fail("a call is made for a request")
    }
    let owner: String? =
      switch call.route {
      case .mcp, .code: call.fields.session
      case .signIn, .toolList, .toolCall: nil
      case .directLogin, .healthMetrics, .logout: call.fields.conversation
      }
    asked.append(Asked(ask: ask, wants: wants, owner: owner, request: id, page: page(of: call)))
    if call.route == .signIn { noteForm(call, wants, bearer) }
    guard case .hash(let hash) = bearer else { return }
    require(
      hash == call.fields.bearer || hash == owner.flatMap { tokens[$0] } || isOfPage(hash, call),
      "a call shows the token of its request or of its session")
  }

  private mutating func conclude(_ ask: RequestID, _ outcome: RelayOutcome, _ token: TokenHash?) {
    guard let index = asked.firstIndex(where: { $0.ask == ask }) else { return }
    let call = asked.remove(at: index)
    let rest = asked.contains { $0.request == call.request }
    let isStoring = stores.contains { $0.request == call.request }
    let isBatch = open[call.request]?.call.body.contains(UInt8(ascii: "[")) ?? false
    require(
      open[call.request] == nil || rest || isBatch || isStoring, "an outcome ends its request")
    switch outcome {
    case .loggedIn:
      if let owner = call.owner { tokens[owner] = token }
      if let page = call.page, let token { pages[page]?.tokens.insert(token) }
    case .loggedOut: if let owner = call.owner { tokens[owner] = nil }
    case .renewed, .data, .refused: return
    }
  }

  private mutating func enter(_ name: String, _ body: [UInt8]) {
    sessions = sessions.suffix(4) + [name]
    let isOld = String(decoding: body, as: UTF8.self).contains("\"2025-03-26\"")
    if isOld { batching = batching.suffix(2) + [name] }
  }

  private mutating func checkRequests() {
    let waiting = Set(asked.map(\.request) + stores.compactMap(\.request))
    require(
      open.allSatisfy { id, request in request.isStream || waiting.contains(id) },
      "a request waits for the relay or has its answer")
  }
}

extension RelayChange {
  fileprivate var isOfSession: Bool {
    switch self {
    case .session, .endSession: true
    case .phone, .endPhone, .access, .endAccess, .question, .endQuestion: false
    }
  }
}
