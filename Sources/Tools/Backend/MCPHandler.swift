import LinkCore
import LinkProtocols
import LinkServerCore
import LinkWire
import ServerSockets

/// Stands between the sockets and the assistants' rules; what they want of the relay waits as
/// errands.
struct MCPHandler {
  /// What the relay is to be asked or told.
  enum Errand: Sendable {
    case ask(AskID, RelayAsk, bearer: TokenHash?, from: String)
    case abandon(AskID)
  }

  /// A request that is not answered to its end.
  private struct Exchange {
    var request: ServerSockets.RequestID
    var route: MCPRoute
    var since: Instant
  }

  private var server: MCPServer
  private let policy: MCPPolicy
  private let log: BackendLog
  private var exchanges: [LinkServerCore.RequestID: Exchange] = [:]
  private var numbers: [ServerSockets.RequestID: LinkServerCore.RequestID] = [:]
  private var lastRequest: UInt64 = 0
  private var errands: [Errand] = []

  init(_ policy: MCPPolicy, log: BackendLog) {
    (self.policy, self.log) = (policy, log)
    server = MCPServer(policy: policy, at: .zero)
  }

  /// Starts the rules; called once, before the first event.
  mutating func begin(at now: Instant) {
    server = MCPServer(policy: policy, at: now)
  }

  /// When the rules want to be woken.
  var deadline: Instant? { server.deadline }

  /// Its lines of the metrics page.
  var metrics: String { server.metricsText }

  /// What is to be asked of the relay since the last time, in order.
  mutating func takeErrands() -> [Errand] {
    defer { errands = [] }
    return errands
  }

  /// Takes what became of an errand.
  mutating func conclude(_ ask: AskID, _ outcome: RelayOutcome, on hub: SocketHub) {
    var token: TokenHash?
    if case .loggedIn(let grant) = outcome { token = RelaySecrets.hash(grant.accessToken) }
    feed(.outcome(ask, outcome, token: token), on: hub)
  }

  mutating func feed(_ input: MCPServer.Input, on hub: SocketHub) {
    perform(server.handle(input, at: hub.now), on: hub)
  }

  mutating func handle(_ event: ServerSockets.SocketEvent, on hub: SocketHub) {
    switch event {
    case .request(let request, let head, let body): take(request, head, body, on: hub)
    // Asked to upgrade where there is no socket: answered as if it had not asked.
    case .upgrade(let request, let head): take(request, head, [], on: hub)
    case .abandoned(let request):
      guard let id = numbers[request] else { return }
      finish(id, .abandoned, on: hub)
      feed(.abandoned(id), on: hub)
    case .woke: perform(server.tick(at: hub.now), on: hub)
    case .opened, .heard, .text, .binary, .pong, .overflow, .drained, .closed, .starved, .crowded:
      break
    }
  }

  private mutating func take(
    _ request: ServerSockets.RequestID, _ head: HTTPRequestHead, _ body: [UInt8],
    on hub: SocketHub
  ) {
    guard let route = MCPRoute(rawValue: head.wholePath) else { return }
    lastRequest += 1
    let id = LinkServerCore.RequestID(lastRequest)
    exchanges[id] = Exchange(request: request, route: route, since: hub.now)
    numbers[request] = id
    let address = hub.peerOrigin(of: request.connection) ?? ""
    let call = MCPCall(head, route, body: body, address: address)
    // The kernel's generator (getrandom), fit for secrets.
    var source = SystemRandomNumberGenerator()
    let bytes = (0..<16).map { _ in UInt8.random(in: 0 ... .max, using: &source) }
    feed(.request(id, call, fresh: MCPSessionID(random: bytes)), on: hub)
  }

  // MARK: - Effects

  private mutating func perform(_ effects: [MCPServer.Effect], on hub: SocketHub) {
    for effect in effects { perform(effect, on: hub) }
  }

  private mutating func perform(_ effect: MCPServer.Effect, on hub: SocketHub) {
    switch effect {
    case .answer(let id, let reply):
      guard let exchange = finish(id, .request, status: reply.status, on: hub) else { return }
      hub.respond(
        to: exchange.request, status: reply.status, headers: reply.headers, body: reply.body)
    case .watch(let id):
      guard let exchange = exchanges[id] else { return }
      hub.noticeEnd(of: exchange.request)
    case .begin(let id, let session):
      guard let exchange = exchanges[id] else { return }
      let headers = MCPReply.eventHeaders + MCPReply.headers(of: session)
      hub.begin(exchange.request, status: 200, headers: headers)
    case .write(let id, let bytes):
      guard let exchange = exchanges[id] else { return }
      hub.write(bytes, to: exchange.request)
    case .end(let id):
      guard let exchange = finish(id, .request, status: 200, on: hub) else { return }
      hub.end(exchange.request)
    case .ask(let ask, let question, let bearer, let address):
      errands.append(.ask(ask, question, bearer: bearer?.hash, from: address))
    case .abandon(let ask): errands.append(.abandon(ask))
    }
  }

  @discardableResult
  private mutating func finish(
    _ id: LinkServerCore.RequestID, _ event: LogLine.Event, status: Int? = nil, on hub: SocketHub
  ) -> Exchange? {
    guard let exchange = exchanges.removeValue(forKey: id) else { return nil }
    numbers[exchange.request] = nil
    var line = LogLine(event)
    line.connection = exchange.request.connection.number
    line.route = exchange.route.word
    line.status = status
    line.took = exchange.since.duration(to: hub.now)
    log.note(line)
    return exchange
  }
}

extension MCPServer.Bearer {
  fileprivate var hash: TokenHash {
    switch self {
    case .hash(let hash): hash
    case .text(let token): RelaySecrets.hash(token)
    }
  }
}
