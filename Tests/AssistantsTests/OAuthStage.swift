import HoldfastCore
import HoldfastJSON
import HoldfastRelayData
import HoldfastRelayFixtures
import HoldfastRelayServer
import Testing

@testable import HoldfastAssistants
@testable import HoldfastServerParts

/// A test harness that drives the sign-in together with a relay to which phones are connected.
struct OAuthStage {
  static let issuer = "https://relay.example"
  static let callback = "https://claude.example/callback"
  static let verifier = String(repeating: "v", count: 43)

  static let url: PublicURL = {
    guard let url = PublicURL(issuer) else { preconditionFailure("the address is public") }
    return url
  }()

  var relay: Relayed
  private(set) var server: OAuthServer
  let hashes: OAuthHashes
  /// Whether the store completes each change at once.
  var storesAtOnce = true
  private var last: UInt64 = 1_000
  private(set) var replies: [RequestID: OAuthReply] = [:]
  private(set) var fetches: [String] = []
  private(set) var watched: Set<RequestID> = []
  /// The changes of the store that have not been completed.
  private var writes: [StoreToken] = []

  init(
    key: UInt8 = 7, _ change: (inout OAuthPolicy) -> Void = { _ in },
    relay: (inout RelayServerPolicy) -> Void = { _ in }
  ) {
    var policy = OAuthPolicy()
    change(&policy)
    var origins = OriginPolicy()
    origins.hosts = [Self.url.authority]
    hashes = Self.hashes(key)
    server = OAuthServer(
      policy: policy, at: Self.url, originPolicy: origins, hashes: hashes, now: .zero)
    self.relay = Relayed.withPhone(relay)
  }

  /// Functions that are good enough for tests: they mix all bytes into 32.
  static func hashes(_ key: UInt8) -> OAuthHashes {
    OAuthHashes(code: { mix([key] + $0) }, hash: { mix([0] + $0) }, areEqual: ==)
  }

  private static func mix(_ bytes: [UInt8]) -> [UInt8] {
    (UInt64(0)..<4).flatMap { lane in
      let hash = bytes.reduce(0xCBF2_9CE4_8422_2325 &+ lane) {
        ($0 ^ UInt64($1) ^ lane) &* 0x100_0000_01B3
      }
      return (0..<8).map { UInt8(truncatingIfNeeded: hash >> UInt64(8 * $0)) }
    }
  }

  /// The challenge of a verifier (RFC 7636 section 4.2).
  func challenge(_ verifier: String = verifier) -> String {
    Base64URL.encode(hashes.digest(verifier.utf8))
  }

  // MARK: Requests

  /// Sends a request and returns its id.
  @discardableResult
  mutating func send(
    _ method: MCPCall.Method, _ route: OAuthRoute, _ pairs: [(String, String)] = [],
    body: String = "", _ change: (inout OAuthCall) -> Void = { _ in }
  ) -> RequestID {
    var call = OAuthCall(
      method, route, address: "office", parameters: pairs.map { MCPCall.Pair($0.0, $0.1) },
      body: Array(body.utf8))
    call.fields.host = Self.url.authority
    call.fields.contentType =
      route == .register ? "application/json" : "application/x-www-form-urlencoded"
    change(&call)
    last += 1
    let id = RequestID(last)
    let fresh = (0..<32).map { UInt8(truncatingIfNeeded: last >> ($0 < 8 ? UInt64(8 * $0) : 63)) }
    feed(.request(id, call, fresh: fresh, wall: relay.wall))
    return id
  }

  /// Sends a request and returns its response.
  mutating func ask(
    _ method: MCPCall.Method, _ route: OAuthRoute, _ pairs: [(String, String)] = [],
    body: String = "", _ change: (inout OAuthCall) -> Void = { _ in }
  ) -> OAuthReply {
    let id = send(method, route, pairs, body: body, change)
    return self[id]
  }

  subscript(id: RequestID) -> OAuthReply { replies[id] ?? OAuthReply(0, []) }

  /// Registers a client and returns its id.
  mutating func register(_ redirects: [String] = [callback], name: String = "Claude") -> String {
    let list = redirects.map { "\"\($0)\"" }.joined(separator: ",")
    let body = #"{"client_name":"\#(name)","redirect_uris":[\#(list)]}"#
    return ask(.post, .register, body: body).json("client_id")
  }

  /// The parameters of a request for a code.
  func request(_ client: String, redirect: String = callback) -> [(String, String)] {
    [
      ("response_type", "code"), ("client_id", client), ("redirect_uri", redirect),
      ("code_challenge", challenge()), ("code_challenge_method", "S256"), ("state", "s 1&2"),
      ("resource", Self.url.resource), ("scope", "health:read"),
    ]
  }

  /// Signs a client in with the pair of a phone, and returns the code.
  mutating func code(_ client: String, phone: UInt64 = 1, redirect: String = callback) -> String {
    let pair = [("word", "anchor"), ("code", RelayStage.pair(phone).code)]
    return ask(.post, .authorize, request(client, redirect: redirect) + pair).query("code") ?? ""
  }

  /// The parameters of the exchange of a code.
  func exchange(_ client: String, _ code: String) -> [(String, String)] {
    [
      ("grant_type", "authorization_code"), ("code", code), ("client_id", client),
      ("redirect_uri", Self.callback), ("code_verifier", Self.verifier),
      ("resource", Self.url.resource),
    ]
  }

  mutating func refresh(_ client: String, _ token: String) -> OAuthReply {
    ask(.post, .token, Self.refreshing(client, token))
  }

  static func refreshing(_ client: String, _ token: String) -> [(String, String)] {
    [("grant_type", "refresh_token"), ("refresh_token", token), ("client_id", client)]
  }

  /// Signs a client in and returns its tokens.
  mutating func tokens(
    _ client: String, phone: UInt64 = 1
  ) -> (access: String, refresh: String) {
    let code = code(client, phone: phone)
    let reply = ask(.post, .token, exchange(client, code))
    return (reply.json("access_token"), reply.json("refresh_token"))
  }

  /// Returns what an access token permits at `/mcp`, as the backend determines it.
  func permission(_ access: String) -> OAuthPermission {
    let found = OAuthPermission(bearer: access, at: Self.url, hashes, wall: relay.wall)
    guard case .granted(let grant) = found, !relay.server.admits(grant, at: relay.now) else {
      return found
    }
    return .invalid
  }

  func isGranted(_ access: String) -> Bool {
    if case .granted = permission(access) { true } else { false }
  }

  /// The names of the phone's assistants, as `relay assistants` lists them.
  mutating func assistants(_ order: AssistantsOrder = .list, phone: UInt64 = 1) -> [String] {
    let (_, effects) = relay.pull(.assistants(order), as: phone)
    for case .respond(_, .assistants(let list)) in relay.complete(effects) {
      return list.assistants.map { $0.name?.name ?? "" }
    }
    return []
  }

  // MARK: Time, the relay, and documents

  /// Advances the time and calls both machines at their deadlines.
  mutating func pass(_ time: Duration) {
    let end = relay.now.advanced(by: time)
    while let due = [relay.server.deadline, server.deadline].compactMap(\.self).min(), due <= end {
      perform(relay.tick(at: max(due, relay.now)))
      perform(server.tick(at: relay.now))
    }
    perform(relay.tick(at: end))
  }

  mutating func feed(_ input: OAuthServer.Input) {
    perform(server.handle(input, at: relay.now))
  }

  mutating func fetched(_ url: String, _ fetch: OAuthFetch) {
    feed(.fetched(url, fetch, wall: relay.wall))
  }

  /// Completes the oldest change that the store was given.
  mutating func completeWrite(failure: StoreFailure? = nil) {
    guard !writes.isEmpty else { return }
    perform(relay.take(.stored(writes.removeFirst(), failure: failure)))
  }

  private mutating func perform(_ effects: [OAuthServer.Effect]) {
    #expect(server.brokenInvariants(relay.checks) == [])
    for effect in effects {
      switch effect {
      case .answer(let id, let reply):
        #expect(replies[id] == nil, "a request is answered once")
        replies[id] = reply
      case .watch(let id): watched.insert(id)
      case .call(let id, let call, let grant, let address):
        perform(
          relay.take(.call(id, call, bearer: grant, from: address, wall: relay.wall)))
      case .abandon(let id): perform(relay.take(.abandoned(id)))
      case .fetch(let url, _, _): fetches.append(url)
      }
    }
  }

  private mutating func perform(_ effects: [RelayServer.Effect]) {
    for effect in effects {
      switch effect {
      case .store(let token, _):
        writes.append(token)
        if storesAtOnce { completeWrite() }
      case .drawToken(.grant(let id)):
        last += 1
        let secret = (0..<32).map { UInt8(truncatingIfNeeded: last >> UInt64($0 % 8 * 8)) }
        let drawn = RelaySecret(text: Base64URL.encode(secret), hash: hashes.grant(secret))
        perform(relay.take(.tokenDrawn(.access(id, drawn))))
      case .drawToken(.pair(let phone)):
        // The same pair is shown again, so that tests can sign in repeatedly.
        let number = phone.uuid.low
        perform(relay.take(.tokenDrawn(.pair(phone, RelayStage.pair(number)))))
      case .answer(let id, let outcome): feed(.outcome(id, outcome, wall: relay.wall))
      case .accept, .refuse, .send, .ping, .close, .drop, .respond, .drawToken, .push, .readSynced,
        .finished:
        break
      }
    }
  }
}

extension OAuthReply {
  /// The text of a member of the JSON body; empty if there is none.
  func json(_ name: String) -> String {
    (try? JSONFields(body, keeping: [name]).optionalString(name)) ?? ""
  }

  var text: String { String(decoding: body, as: UTF8.self) }

  /// The value of a header field.
  func field(_ name: String) -> String? { fields.first { $0.name == name }?.value }

  /// The decoded value of an item in the query of `Location`.
  func query(_ name: String) -> String? {
    guard let location = field("Location"), let mark = location.firstIndex(of: "?") else {
      return nil
    }
    let items = location[location.index(after: mark)...].split(separator: "&")
    let item = items.first { $0.hasPrefix(name + "=") }
    return item.map { Self.decoded($0.dropFirst(name.count + 1)) }
  }

  private static func decoded(_ text: Substring) -> String {
    var bytes: [UInt8] = []
    var rest = Array(text.utf8)[...]
    while let byte = rest.popFirst() {
      guard byte == UInt8(ascii: "%") else {
        bytes.append(byte)
        continue
      }
      bytes.append(UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16) ?? 0)
      rest = rest.dropFirst(2)
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// The status and the error of a response in JSON.
  var failure: String { "\(status) \(json("error"))" }
}
