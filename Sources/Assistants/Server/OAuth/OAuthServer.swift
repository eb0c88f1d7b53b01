public import HoldfastCore
import HoldfastJSON
public import HoldfastRelayServer
public import HoldfastServerParts

/// The authorization server of the assistants' endpoint `/mcp` (OAuth 2.1).
///
/// A grant is one of the assistants of a phone: the relay pairs it with word and code, stores it and
/// ends it. This machine holds only what lives a short time: codes, requests that wait, and
/// documents of clients. Tokens and ids of registered clients are signed and not stored.
///
/// A code passes through these stages:
///
///     sign-in ──► fresh ──► redeeming ──► used ──► forgotten
///                   └── 60 s ──► forgotten
public struct OAuthServer: ServerRules {
  let policy: OAuthPolicy
  let url: PublicURL
  let hashes: OAuthHashes
  private let originPolicy: OriginPolicy
  private let styleSource: String

  var frame: ServerFrame<Effect>
  var documents: OAuthDocuments
  var codes: [TokenHash: Code] = [:]
  var waiting: [RequestID: Waiting] = [:]
  private var alarms = AlarmQueue<TokenHash>()
  var metrics = OAuthMetrics()

  /// An input of the server. `wall` is the wall-clock time at which it arrived.
  public enum Input: Sendable, Hashable, Codable {
    /// A request arrived. `fresh` are 32 random bytes of a secure generator for this request.
    case request(RequestID, OAuthCall, fresh: [UInt8], wall: Timestamp)
    /// The client disconnected before its response was complete.
    case abandoned(RequestID)
    /// A call to the relay has ended. `secret` is that of a new grant.
    case outcome(RequestID, RelayOutcome, wall: Timestamp)
    /// The document of a client was fetched.
    case fetched(String, OAuthFetch, wall: Timestamp)
    /// The server drains.
    case drain
  }

  /// An effect of the server. Effects are carried out in order.
  public enum Effect: Sendable, Hashable, Codable {
    /// Answer a request.
    case answer(RequestID, OAuthReply)
    /// Report immediately when the client of this request disconnects.
    case watch(RequestID)
    /// Pass a call of a request to the relay, which sends an `outcome` now or later.
    case call(RequestID, RelayCall, grant: TokenHash?, from: String)
    /// Inform the relay that no request waits for this outcome any more.
    case abandon(RequestID)
    /// Fetch the document of a client: from public addresses, without redirects. `fetched` follows.
    case fetch(String, within: Duration, maxBytes: Int)
  }

  /// A code that was issued.
  struct Code: Sendable {
    enum Stage: Sendable, Equatable {
      case fresh, redeeming, used
    }

    var stage = Stage.fresh
    /// The secret of the grant. It is empty once the code was used.
    var secret: [UInt8]
    let grant: TokenHash
    /// The user of the grant: the id of its phone.
    let phone: String
    let client: String
    let redirect: String
    let challenge: [UInt8]
    let scopes: OAuthScopes
    /// The instant at which the code ends, or is forgotten once it was used.
    var until: Instant
  }

  /// The result that a request waits for.
  enum Waiting: Sendable {
    /// The document of its client.
    case document(String, OAuthCall, fresh: [UInt8])
    /// The relay's answer to word and code.
    case signIn(OAuthSignIn, fresh: [UInt8])
    /// The renewal of a grant, whose tokens are then issued.
    case tokens(OAuthToken, client: String, code: TokenHash?)
    /// The end of a grant whose code was used twice.
    case replay
    case revocation
  }

  /// Creates a server without codes.
  public init(
    policy: OAuthPolicy = OAuthPolicy(), at url: PublicURL, originPolicy: OriginPolicy,
    hashes: OAuthHashes, now: Instant
  ) {
    let policy = policy.workable
    (self.policy, self.url, self.hashes) = (policy, url, hashes)
    self.originPolicy = originPolicy
    styleSource = hashes.policySource(of: OAuthPages.style)
    frame = ServerFrame(at: now)
    documents = OAuthDocuments(policy)
  }

  /// Handles one input and returns the resulting effects, in order.
  public mutating func handle(_ input: Input, at now: Instant) -> [Effect] {
    frame.begin(at: now)
    switch input {
    case .request(let id, let call, let fresh, let wall): take(id, call, fresh: fresh, wall: wall)
    case .abandoned(let id): abandon(id)
    case .outcome(let id, let outcome, let wall): conclude(id, outcome, wall: wall)
    case .fetched(let id, let fetch, let wall): fetched(id, fetch, wall: wall)
    case .drain:
      if frame.drain(within: .zero, grace: .zero, limit: .zero) { frame.finish() }
    }
    return frame.takeEffects()
  }

  /// Forgets the codes whose time has passed.
  public mutating func tick(at now: Instant) -> [Effect] {
    frame.begin(at: now)
    while let code = alarms.take(dueAt: now) {
      guard codes[code]?.stage != .redeeming else {
        // The relay reports the end of the redemption.
        alarms.set(code, at: now.advanced(by: policy.codeLife))
        continue
      }
      codes[code] = nil
    }
    return frame.takeEffects()
  }

  /// The next instant at which `tick` must be called.
  public var deadline: Instant? { alarms.first }

  var now: Instant { frame.now }

  // MARK: Requests

  private mutating func take(
    _ id: RequestID, _ call: OAuthCall, fresh: [UInt8], wall: Timestamp
  ) {
    metrics.requests[call.route.name, default: 0] += 1
    guard originPolicy.admit(host: call.fields.host) else {
      return refuse(id, call, 421, "This server accepts only its own host names.")
    }
    guard call.method != .options || !call.route.isForPages else {
      return answer(id, .preflight)
    }
    guard call.bodyBytes <= policy.maxBodyBytes else {
      return refuse(id, call, 413, "The body is longer than \(policy.maxBodyBytes) bytes.")
    }
    guard call.parameters.count <= policy.maxParameters else {
      return refuse(id, call, 400, "There are more than \(policy.maxParameters) parameters.")
    }
    guard call.route.methods.contains(call.method) else {
      let allow = call.route.methods.map(\.rawValue).joined(separator: ", ")
      return refuse(id, call, 405, "This route takes \(allow).", [OAuthField("Allow", allow)])
    }
    switch call.route {
    case .resource, .rootResource: answer(id, metadata(url.resourceMetadata))
    case .server: answer(id, metadata(url.serverMetadata))
    case .register: register(id, call, nonce: Array(fresh.prefix(8)), wall: wall)
    case .authorize: authorize(id, call, fresh: fresh)
    case .token: token(id, call, wall: wall)
    case .revoke: revoke(id, call)
    }
  }

  private func metadata(_ body: [UInt8]) -> OAuthReply {
    OAuthReply(
      200,
      [OAuthField("Content-Type", "application/json"), OAuthField("Cache-Control", "no-store")]
        + OAuthReply.anyOrigin, body)
  }

  private mutating func refuse(
    _ id: RequestID, _ call: OAuthCall, _ status: Int, _ sentence: String,
    _ fields: [OAuthField] = []
  ) {
    guard call.route.isForPages else {
      var reply = page(.failed(title: "This address cannot be used", sentence: sentence), status)
      reply.fields += fields
      return answer(id, reply)
    }
    var reply = OAuthReply.json(status, OAuthFault(.invalidRequest, sentence).bytes)
    reply.fields += fields + OAuthReply.anyOrigin
    answer(id, reply)
  }

  private mutating func register(
    _ id: RequestID, _ call: OAuthCall, nonce: [UInt8], wall: Timestamp
  ) {
    do throws(OAuthFault) {
      guard MediaTypes.isJSON(call.fields.contentType) else {
        throw OAuthFault(.invalidClientMetadata, "the body must be application/json")
      }
      let client = try OAuthClient.register(call.body, nonce: nonce, hashes)
      var reply = OAuthReply.json(201, client.registration(at: wall))
      reply.fields += OAuthReply.anyOrigin
      answer(id, reply)
    } catch {
      fail(id, error)
    }
  }

  // MARK: Answers

  mutating func answer(_ id: RequestID, _ reply: OAuthReply) {
    metrics.answers[reply.status, default: 0] += 1
    frame.emit(.answer(id, reply))
  }

  /// Answers with an error in JSON (RFC 6749 section 5.2).
  mutating func fail(
    _ id: RequestID, _ fault: OAuthFault, status: Int = 400, retryAfter: Duration? = nil,
    _ fields: [OAuthField] = []
  ) {
    metrics.faults[fault.code.rawValue, default: 0] += 1
    var reply = OAuthReply.json(status, fault.bytes, retryAfter: retryAfter)
    reply.fields += fields + OAuthReply.anyOrigin
    answer(id, reply)
  }

  /// Returns a page that loads nothing, and that no other page may frame.
  ///
  /// - Parameter target: The source expressions of the places to which the form may lead. Chromium
  ///   applies `form-action` to all redirects after a form, too.
  func page(
    _ page: OAuthPage, _ status: Int, target: String? = nil, retryAfter: Duration? = nil
  ) -> OAuthReply {
    let policy = [
      "default-src 'none'", "style-src \(styleSource)",
      "form-action \(target.map { "'self' \($0)" } ?? "'none'")", "base-uri 'none'",
      "frame-ancestors 'none'",
    ]
    let retry = retryAfter.map { [OAuthField("Retry-After", String($0.retrySeconds))] } ?? []
    return OAuthReply(
      status,
      [
        OAuthField("Content-Type", "text/html; charset=utf-8"),
        OAuthField("Content-Security-Policy", policy.joined(separator: "; ")),
        OAuthField("X-Content-Type-Options", "nosniff"),
        // With `no-referrer` the form would name the origin `null` (Fetch section 3.2).
        OAuthField("Referrer-Policy", "same-origin"), OAuthField("Cache-Control", "no-store"),
      ] + retry, OAuthPages.html(page))
  }

  // MARK: The relay

  /// Passes a call to the relay. The caller has checked that there is room.
  ///
  /// - Parameter isWatched: Whether the request waited for a document before.
  mutating func ask(
    _ id: RequestID, _ call: RelayCall, grant: TokenHash? = nil, from address: String,
    isWatched: Bool = false, _ reason: Waiting
  ) {
    waiting[id] = reason
    if !isWatched { frame.emit(.watch(id)) }
    frame.emit(.call(id, call, grant: grant, from: address))
  }

  /// Whether another request may wait for the relay.
  var hasRoom: Bool { waiting.count - documents.waiters < policy.maxWaiting }

  private mutating func conclude(_ id: RequestID, _ outcome: RelayOutcome, wall: Timestamp) {
    guard let reason = waiting.removeValue(forKey: id) else { return }
    switch reason {
    case .document: waiting[id] = reason
    case .signIn(let signIn, let fresh): signedIn(id, signIn, outcome, fresh: fresh)
    case .tokens(let token, let client, let code):
      renewed(id, token, client: client, code: code, outcome, wall: wall)
    case .replay: fail(id, Self.usedTwice)
    case .revocation: revoked(id, outcome)
    }
  }

  private mutating func abandon(_ id: RequestID) {
    guard let reason = waiting.removeValue(forKey: id) else { return }
    switch reason {
    case .document(let client, _, _): return documents.forget(id, waitingFor: client)
    case .tokens(_, _, let code): if let code { codes[code]?.stage = .fresh }
    case .replay, .revocation: return  // The grant ends even if nobody waits for it.
    case .signIn: break
    }
    frame.emit(.abandon(id))
  }

  // MARK: Codes

  static let usedTwice = OAuthFault(
    .invalidGrant, "the code was used before; the sign-in was ended for safety")

  /// The number of codes that were not redeemed yet, and of sign-ins that may lead to one.
  var codesAndSignIns: Int {
    codes.values.count { $0.stage != .used }
      + waiting.values.count { if case .signIn = $0 { true } else { false } }
  }

  /// Adds a code. The sign-in was admitted, so that at the bound there is a code that was used.
  mutating func add(_ code: Code, as key: TokenHash) {
    let unused = codes.filter { $0.value.phone == code.phone && $0.value.stage == .fresh }
    if unused.count >= policy.codesPerPhone { forgetFirst(of: unused) }
    if codes.count >= policy.maxCodes { forgetFirst(of: codes.filter { $0.value.stage == .used }) }
    codes[key] = code
    alarms.set(key, at: code.until)
  }

  /// Forgets the code that ends first.
  private mutating func forgetFirst(of some: [TokenHash: Code]) {
    let first = some.min { ($0.value.until, $0.key) < ($1.value.until, $1.key) }
    guard let first else { return }
    codes[first.key] = nil
    alarms.clear(first.key)
  }

  /// Records that a code was redeemed. Its second use is detected for a time.
  mutating func used(_ key: TokenHash) {
    guard codes[key] != nil else { return }
    let until = now.advanced(by: policy.codeMemory)
    codes[key]?.stage = .used
    codes[key]?.secret = []
    codes[key]?.until = until
    alarms.set(key, at: until)
  }
}

extension OAuthServer {
  /// Returns the input that starts a drain.
  public static func drain(within window: Duration) -> Input { .drain }

  /// Whether the server drains. The relay ends the calls that are still pending.
  public var isFinished: Bool { frame.isFinished }

  /// The health of the service. It depends only on the drain, since the service has no store.
  public var serviceHealth: ServiceHealth { isFinished ? .draining : .ok }

  /// Adds the server's metrics to the backend's page.
  public func report(to page: inout MetricsPage) {
    page.one("oauth_codes", .gauge, "Codes that are remembered.", UInt64(codes.count))
    page.one("oauth_waiting", .gauge, "Requests that wait.", UInt64(waiting.count))
    page.one(
      "oauth_documents", .gauge, "Documents of clients that are kept.",
      UInt64(documents.entries.count))
    page.counters("oauth_requests", "Requests of OAuth.", by: "route", metrics.requests)
    page.counters("oauth_answers", "Requests answered.", by: "status", metrics.answers)
    page.counters("oauth_faults", "Requests refused.", by: "error", metrics.faults)
    page.one("oauth_tokens_total", .counter, "Pairs of tokens issued.", metrics.tokens)
  }

  /// Records each invariant that does not hold.
  public func check(_ check: inout InvariantCheck) {
    frame.check(&check)
    documents.check(&check)
    alarms.check(&check)
    check.require(
      waiting.count - documents.waiters <= policy.maxWaiting, "oauth server: what waits is bounded")
    check.require(codes.count <= policy.maxCodes, "oauth server: the codes are bounded")
    check.require(alarms.count == codes.count, "oauth server: each code is forgotten")
    guard check.isThorough else { return }
    check.require(
      codes.allSatisfy { key, code in
        alarms.keys.contains(key) && code.secret.isEmpty == (code.stage == .used)
      }, "oauth server: a code that was used has no secret, and each code has an alarm")
    check.require(
      documents.waiting.allSatisfy { id, requests in
        requests.allSatisfy {
          if case .document(id, _, _) = waiting[$0] { true } else { false }
        }
      }, "oauth server: a request that waits for a document is known")
  }
}

/// The counters of the server since its start.
struct OAuthMetrics: Sendable {
  var requests: [String: UInt64] = [:]
  var answers: [Int: UInt64] = [:]
  /// The number of refusals, by their error code.
  var faults: [String: UInt64] = [:]
  var tokens: UInt64 = 0
}
