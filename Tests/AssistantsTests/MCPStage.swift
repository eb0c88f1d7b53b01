import HoldfastAssistants
import HoldfastCore
import HoldfastHealth
import HoldfastRelayData
import HoldfastRelayServer
import HoldfastServerParts
import Testing

/// A test harness that drives an MCP server, with a relay that the test controls.
struct MCPStage {
  private(set) var server: MCPServer
  private let policy: MCPPolicy
  var now = Instant.zero
  /// The backend's wall-clock time when an outcome arrives.
  var wall = Timestamp(nanoseconds: 1_772_000_000_000_000_000)
  private var lastRequest: UInt64 = 0
  /// The relay calls that have no outcome yet, in order.
  private(set) var asks: [Ask] = []

  struct Ask: Equatable {
    var id: RequestID
    var ask: RelayCall
    var bearer: MCPServer.Bearer?
    var from: String
  }

  /// The part of a response that a client has received so far.
  struct Received: Equatable {
    var reply: MCPReply?
    var events: String = ""
    var hasBegun = false
    var hasEnded = false

    /// The body of a complete answer, or an empty string.
    var body: String { reply.map { String(decoding: $0.body, as: UTF8.self) } ?? "" }
  }

  private(set) var received: [RequestID: Received] = [:]
  private(set) var abandoned: [RequestID] = []
  /// The sessions in the store, as the server left them.
  private(set) var stored = StoredRelay()
  /// The changes that are not durable yet, while the store is held back.
  private(set) var storing: [StoreToken] = []
  /// Whether the store takes changes without confirming them.
  var holdsStore = false
  /// The requests whose clients are watched, in order.
  private(set) var watched: [RequestID] = []

  init(_ configure: (inout MCPPolicy) -> Void = { _ in }) {
    var policy = MCPPolicy()
    configure(&policy)
    self.policy = policy
    server = MCPServer(policy: policy, at: .zero)
  }

  static let both = "application/json, text/event-stream"
  static let token = hash(7)

  static func hash(_ byte: UInt8) -> TokenHash {
    guard let hash = TokenHash([UInt8](repeating: byte, count: 32)) else {
      preconditionFailure("32 bytes are a hash")
    }
    return hash
  }

  // MARK: - Requests

  /// Posts a body to `/mcp` and returns the id of the request.
  @discardableResult
  mutating func post(
    _ body: String, session: String? = nil, _ change: (inout MCPCall) -> Void = { _ in }
  ) -> RequestID {
    var call = MCPCall(.post, .mcp, address: "198.51.100.7", body: Array(body.utf8))
    call.fields.host = "127.0.0.1:8000"
    call.fields.accept = Self.both
    call.fields.contentType = "application/json"
    call.fields.session = session
    change(&call)
    return send(call)
  }

  /// Sends a request with another method and returns its id.
  @discardableResult
  mutating func request(
    _ method: MCPCall.Method, _ route: MCPRoute = .mcp, session: String? = nil,
    _ change: (inout MCPCall) -> Void = { _ in }
  ) -> RequestID {
    var call = MCPCall(method, route)
    call.fields.host = "localhost"
    call.fields.accept = Self.both
    call.fields.session = session
    change(&call)
    return send(call)
  }

  private mutating func send(_ call: MCPCall) -> RequestID {
    lastRequest += 1
    let id = RequestID(lastRequest)
    let fresh = MCPSessionID(
      random: [UInt8](repeating: UInt8(truncatingIfNeeded: lastRequest), count: 16))
    feed(.request(id, call, fresh: fresh))
    return id
  }

  /// Begins a session and returns its id.
  mutating func initialize(_ version: String = "2025-11-25") -> String {
    let id = post(
      #"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"\#(version)"}}"#)
    return self[id].reply?.session?.text ?? ""
  }

  /// Calls a tool in a session.
  @discardableResult
  mutating func call(
    _ tool: String, _ arguments: String = "{}", id: Int = 1, session: String?,
    meta: String = "{}", _ change: (inout MCPCall) -> Void = { _ in }
  ) -> RequestID {
    post(
      #"{"jsonrpc":"2.0","id":\#(id),"method":"tools/call","params":{"name":"\#(tool)","#
        + #""arguments":\#(arguments),"_meta":\#(meta)}}"#, session: session, change)
  }

  static let metrics =
    #"{"value_type":"STEPS","start_time":"2026-03-01","end_time":"2026-03-02"}"#

  // MARK: - Outcomes and time

  /// Delivers the outcome of the oldest waiting call.
  mutating func complete(_ outcome: RelayOutcome, token: TokenHash? = nil) {
    complete(0, outcome, token: token)
  }

  mutating func complete(_ index: Int, _ outcome: RelayOutcome, token: TokenHash? = nil) {
    feed(.outcome(asks.remove(at: index).id, outcome, token: token, wall: wall))
  }

  mutating func feed(_ input: MCPServer.Input) {
    perform(server.handle(input, at: now))
  }

  /// Advances the time and calls the server at each deadline.
  mutating func pass(_ time: Duration) {
    let end = now.advanced(by: time)
    while let due = server.deadline, due <= end {
      now = max(due, now)
      perform(server.tick(at: now))
    }
    now = end
  }

  subscript(id: RequestID) -> Received { received[id] ?? Received() }

  private mutating func perform(_ effects: [MCPServer.Effect]) {
    #expect(server.brokenInvariants(.thorough) == [])
    for effect in effects {
      switch effect {
      case .answer(let id, let reply): received[id, default: Received()].reply = reply
      case .watch(let id): watched.append(id)
      case .begin(let id, _, _): received[id, default: Received()].hasBegun = true
      case .write(let id, let bytes):
        received[id, default: Received()].events += String(decoding: bytes, as: UTF8.self)
      case .end(let id): received[id, default: Received()].hasEnded = true
      case .call(let id, let ask, let bearer, let from):
        asks.append(Ask(id: id, ask: ask, bearer: bearer, from: from))
      case .abandon(let id):
        abandoned.append(id)
        asks.removeAll { $0.id == id }
      case .store(let token, let changes): store(token, changes)
      }
    }
  }

  private mutating func store(_ token: StoreToken, _ changes: [RelayChange]) {
    for change in changes { stored.apply(change) }
    storing.append(token)
    if !holdsStore { confirmStores() }
  }

  /// Confirms the changes that the store has taken.
  mutating func confirmStores(failure: StoreFailure? = nil) {
    let tokens = storing
    storing = []
    for token in tokens { feed(.stored(token, failure: failure)) }
  }

  /// Starts a server anew with what was stored.
  mutating func restart() {
    (asks, storing) = ([], [])
    server = MCPServer(policy: policy, at: now)
    feed(.restored(stored.sessions))
  }
}

extension RelayOutcome {
  static let grant = RelayOutcome.loggedIn(
    RelayGrant(accessToken: "secret", expiresIn: .seconds(7_200), user: "u1"))

  static func data(_ text: String) -> RelayOutcome {
    .data(HealthObject(succeeded: !text.hasPrefix(#"{"success":false"#), bytes: Array(text.utf8)))
  }
}
