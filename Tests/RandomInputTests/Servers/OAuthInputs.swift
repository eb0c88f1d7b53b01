import HoldfastCore
import HoldfastJSON

@testable import HoldfastAssistants
@testable import HoldfastRelayServer
@testable import HoldfastServerParts

/// Random inputs for the sign-in with OAuth, and its promises. The relay is played by the generator.
struct OAuthInputs: ServerInputs {
  /// A call that the relay has not answered yet.
  struct Asked {
    let id: RequestID
    let call: RelayCall
    let grant: TokenHash?
  }

  var run: RandomRun<OAuthServer>
  var notes = ServerNotes()
  let drainLimit = Duration.zero
  let hashes: OAuthHashes

  private var open: [RequestID: OAuthCall] = [:]
  private var asked: [Asked] = []
  private var fetches: [String] = []
  /// The generation of each grant that has not ended.
  private var grants: [TokenHash: UInt64] = [:]
  private var clients: [String] = ["https://app.example/1", "https://app.example/2"]
  private var codes: [(text: String, client: String)] = []
  private var redeemed: Set<String> = []
  private var refreshTokens: [(text: String, client: String)] = []

  private static let callbacks = ["https://a.example/cb", "http://127.0.0.1:1/cb"]
  private static let verifiers = ["v", "w"].map { String(repeating: $0, count: 43) }

  init(seed: UInt64) {
    var draw = PolicyDraw(generator: RandomSource(seed: seed))
    var policy = OAuthPolicy()
    let counts: [(WritableKeyPath<OAuthPolicy, Int>, [Int])] = [
      (\.maxCodes, [0, 1, 3]), (\.maxWaiting, [0, 1, 4]), (\.maxFetches, [0, 1, 2]),
      (\.maxDocuments, [0, 1]), (\.fetchBurst, [1, 2]), (\.maxDocumentBytes, [10]),
    ]
    let times: [(WritableKeyPath<OAuthPolicy, Duration>, [Int])] = [
      (\.codeLife, [0, 2, 9]), (\.codeMemory, [0, 5, 90]), (\.accessLife, [1, 60]),
      (\.refreshLife, [1, 60]), (\.documentLife, [0, 5]), (\.failureLife, [0, 5]),
    ]
    draw.set(&policy, counts)
    draw.set(&policy, seconds: times)
    guard let url = PublicURL("https://relay.example") else {
      preconditionFailure("the address is public")
    }
    hashes = OAuthHashes(
      code: { Self.mix([1] + $0) }, hash: { Self.mix([2] + $0) }, areEqual: ==)
    var origins = OriginPolicy()
    origins.hosts = [url.authority]
    let server = OAuthServer(
      policy: policy, at: url, originPolicy: origins, hashes: hashes, now: .zero)
    run = RandomRun(server, seed: seed, generator: draw.generator)
  }

  private static func mix(_ bytes: [UInt8]) -> [UInt8] {
    (UInt64(0)..<4).flatMap { lane in
      let hash = bytes.reduce(lane &+ 99) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 &+ lane }
      return (0..<8).map { UInt8(truncatingIfNeeded: hash >> UInt64(8 * $0)) }
    }
  }

  mutating func act() {
    passTime([.milliseconds(1), .seconds(1), .seconds(3), .seconds(41)])
    switch number(0...19) {
    case 0...4: answerCall()
    case 5: fetch()
    case 6: leave()
    case 7: if oneIn(20) { give(.drain) }
    case 8: send(.post, .register, [])
    case 9: send(oneIn(9) ? .other : .get, one([.resource, .server, .rootResource]), [])
    case 10...13: authorize()
    case 14...16: redeem()
    case 17...18: refresh()
    case _: revoke()
    }
  }

  // MARK: Requests

  private mutating func send(
    _ method: MCPCall.Method, _ route: OAuthRoute, _ pairs: [(String, String)]
  ) {
    var pairs = pairs
    if oneIn(12), !pairs.isEmpty { pairs.append(one(pairs)) }
    if oneIn(12), !pairs.isEmpty { pairs.removeLast() }
    var call = OAuthCall(
      method, route, address: one(["x", "y"]),
      parameters: pairs.map { MCPCall.Pair($0.0, oneIn(40) ? "odd" : $0.1) })
    call.fields.host = oneIn(30) ? "elsewhere.example" : "relay.example"
    call.fields.contentType =
      route == .register ? "application/json" : "application/x-www-form-urlencoded"
    if route == .register {
      let uri = oneIn(9) ? "http://a.example/" : one(Self.callbacks)
      call.body = Array(#"{"redirect_uris":["\#(uri)"]}"#.utf8)
    }
    let fresh = (0..<32).map { _ in UInt8(truncatingIfNeeded: generator.next() >> 33) }
    give(.request(RequestID(notes.fresh()), call, fresh: fresh, wall: wall))
  }

  private mutating func authorize() {
    let challenge = Base64URL.encode(hashes.digest(one(Self.verifiers).utf8))
    let pairs = [
      ("response_type", oneIn(20) ? "token" : "code"), ("client_id", one(clients)),
      ("redirect_uri", one(Self.callbacks)), ("code_challenge", challenge),
      ("code_challenge_method", "S256"), ("state", "s"),
      ("resource", oneIn(20) ? "https://b.example/" : "https://relay.example/mcp"),
    ]
    let pair = oneIn(9) ? [("deny", "1")] : [("word", "calm-fox"), ("code", "123456")]
    send(oneIn(3) ? .get : .post, .authorize, pairs + pair)
  }

  private mutating func redeem() {
    guard let code = codes.last.map({ oneIn(3) ? one(codes) : $0 }) else { return authorize() }
    send(
      .post, .token,
      [
        ("grant_type", "authorization_code"), ("code", code.text),
        ("client_id", oneIn(12) ? one(clients) : code.client),
        ("code_verifier", one(Self.verifiers)),
      ])
  }

  private mutating func refresh() {
    guard let token = refreshTokens.last.map({ oneIn(3) ? one(refreshTokens) : $0 }) else {
      return redeem()
    }
    send(
      .post, .token,
      [
        ("grant_type", "refresh_token"), ("refresh_token", token.text),
        ("client_id", oneIn(12) ? one(clients) : token.client),
      ])
  }

  private mutating func revoke() {
    guard !refreshTokens.isEmpty else { return redeem() }
    send(.post, .revoke, [("token", one(refreshTokens).text)])
  }

  private mutating func leave() {
    let all = open.keys.sorted()
    give(.abandoned(all.isEmpty || oneIn(12) ? RequestID(77_777) : one(all)))
  }

  // MARK: The relay and documents

  private mutating func answerCall() {
    guard !asked.isEmpty else { return authorize() }
    let call = one(asked)
    let refused: [RelayRefusal] = [
      .wrongPair, .storeFailed(retryAfter: .seconds(1)), .lockedOut(retryAfter: .seconds(9)),
      .notSignedIn,
    ]
    let outcome = oneIn(6) ? .refused(one(refused)) : outcome(of: call)
    for _ in 0..<(oneIn(20) ? 2 : 1) { give(.outcome(call.id, outcome, wall: wall)) }
  }

  private mutating func outcome(of asked: Asked) -> RelayOutcome {
    switch asked.call {
    case .grant:
      let secret = (0..<32).map { _ in UInt8(truncatingIfNeeded: generator.next() >> 33) }
      grants[hashes.grant(secret)] = 0
      return .loggedIn(
        RelayGrant(
          accessToken: Base64URL.encode(secret), expiresIn: .seconds(120), user: "u"))
    case .renew(let generation):
      guard let grant = asked.grant, let current = grants[grant], generation >= current else {
        if let grant = asked.grant { grants[grant] = nil }
        return .refused(.notSignedIn)
      }
      grants[grant] = generation + 1
      return .renewed(generation: generation + 1)
    case .logout:
      if let grant = asked.grant { grants[grant] = nil }
      return .loggedOut
    case .login, .question: return .refused(.notSignedIn)
    }
  }

  private mutating func fetch() {
    guard !fetches.isEmpty else { return authorize() }
    let id = oneIn(12) ? one(clients) : fetches.removeFirst()
    let document = #"{"client_id":"\#(id)","redirect_uris":["\#(one(Self.callbacks))"]}"#
    let fetch = OAuthFetch.answered(
      status: oneIn(9) ? 302 : 200,
      contentType: one(["application/json", "application/json", nil, "text/html"]),
      cacheControl: one([nil, "no-store", "max-age=9"]), age: nil,
      body: Array(document.utf8))
    give(.fetched(id, oneIn(9) ? .failed : fetch, wall: wall))
  }

  static func request(in effect: OAuthServer.Effect) -> String? {
    switch effect {
    case .answer(let id, _): "the answer to \(id)"
    case .watch(let id): "a watch of \(id)"
    case .call(let id, _, _, _): "the outcome of \(id)"
    // A document is fetched again later; `note` requires that it is fetched once at a time.
    case .fetch, .abandon: nil
    }
  }
}

// MARK: Promises
extension OAuthInputs {
  mutating func note(_ step: MachineStep<OAuthServer>) {
    if let input = step.input { note(input) }
    for effect in step.effects { note(effect) }
    require(
      open.keys.allSatisfy { step.after.waiting[$0] != nil },
      "a request waits for the relay or a document, or has its answer")
    checkDrain(step)
  }

  private mutating func note(_ input: OAuthServer.Input) {
    switch input {
    case .request(let id, let call, _, _): open[id] = call
    case .abandoned(let id): open[id] = nil
    case .outcome(let id, _, _): asked.removeAll { $0.id == id }
    case .fetched(let id, _, _): fetches.removeAll { $0 == id }
    case .drain: noteDrain()
    }
  }

  private mutating func note(_ effect: OAuthServer.Effect) {
    switch effect {
    case .answer(let id, let reply):
      guard let call = open.removeValue(forKey: id) else {
        return run.fail("only a request that waits is answered")
      }
      note(reply, to: call)
    case .watch(let id): require(open[id] != nil, "only a request that waits is watched")
    case .call(let id, let call, let grant, _):
      require(open[id] != nil, "a call is made for a request that waits")
      if case .renew = call { require(grant != nil, "a renewal is of a grant") }
      asked.append(Asked(id: id, call: call, grant: grant))
    case .abandon(let id):
      require(asked.contains { $0.id == id }, "only a call that waits is abandoned")
      asked.removeAll { $0.id == id }
    case .fetch(let id, _, _):
      require(!fetches.contains(id), "a document is fetched once at a time")
      fetches.append(id)
    }
  }

  private mutating func note(_ reply: OAuthReply, to call: OAuthCall) {
    let pairs = Dictionary(
      call.parameters.map { ($0.name, $0.value) }, uniquingKeysWith: { first, _ in first })
    let fields = JSONFields(reply.body, keeping: ["client_id", "refresh_token"])
    switch (call.route, reply.status) {
    case (.register, 201):
      if let id = try? fields.optionalString("client_id") { clients = clients.suffix(4) + [id] }
    case (.authorize, 302):
      let location = reply.fields.first { $0.name == "Location" }?.value ?? ""
      require(
        Self.callbacks.contains { location.hasPrefix($0 + "?") } && location.contains("iss=https"),
        "a redirect leads to a registered URI, with the issuer")
      guard let start = location.range(of: "?code="), let client = pairs["client_id"] else {
        return
      }
      let code = location[start...].prefix { $0 != "&" }
      codes = codes.suffix(4) + [(String(code), client)]
    case (.token, 200):
      guard let client = pairs["client_id"], let token = try? fields.optionalString("refresh_token")
      else { return run.fail("tokens are issued to a client") }
      if let code = pairs["code"] {
        require(redeemed.insert(code).inserted, "a code is redeemed once")
      }
      refreshTokens = refreshTokens.suffix(4) + [(token, client)]
    case _: require(reply.status < 500 || reply.status == 503 || !reply.body.isEmpty, "no fault")
    }
  }
}

extension String {
  /// Returns the index after the first occurrence of a text.
  fileprivate func range(of text: String) -> Index? {
    indices.first { self[$0...].hasPrefix(text) }.map { index($0, offsetBy: text.count) }
  }
}
