import LinkCore
import LinkProtocols
import LinkRuntime
import LinkServerCore
import LinkWire
import ServerSockets

/// Stands between sockets and the relay's rules: turns events into inputs, effects into commands.
///
/// Lives on the socket server's loop; store and pushes are asked elsewhere, their answers injected.
struct RelayHandler {
  typealias Inject =
    @Sendable (@escaping @Sendable (inout RelayHandler, SocketHub) -> Void) -> Void

  /// A request or upgrade that has no answer yet.
  struct Exchange {
    var request: ServerSockets.RequestID
    var route: RelayRoute
    var since: Instant
  }

  /// An assistant's call that has no outcome yet.
  struct Call {
    var kind: String
    var since: Instant
  }

  private(set) var server: RelayServer
  private let policy: RelayServerPolicy
  private let doors: WebDoors
  let store: any RelayStore
  let pushes: (any PushSender)?
  let log: BackendLog
  private(set) var inject: Inject?
  /// The queue between the loop and the store, which keeps the order of changes.
  private(set) var writes: AsyncStream<StoreWrite>.Continuation?
  /// Whether the rules have drained.
  var hasFinished = false

  var upgrades: [LinkServerCore.ConnectionID: Exchange] = [:]
  /// Open sockets, and since when.
  var phones: [LinkServerCore.ConnectionID: Instant] = [:]
  var pulls: [LinkServerCore.RequestID: Exchange] = [:]
  private var numbers: [ServerSockets.RequestID: LinkServerCore.RequestID] = [:]
  var calls: [AskID: Call] = [:]
  var outcomes: [(AskID, RelayOutcome)] = []
  private var lastRequest: UInt64 = 0
  private var lastAsk: UInt64 = 0

  init(
    _ policy: RelayServerPolicy, doors: WebDoors, store: any RelayStore,
    pushes: (any PushSender)?, log: BackendLog
  ) {
    (self.policy, self.doors) = (policy, doors)
    server = RelayServer(policy: policy, life: "", at: .zero)
    (self.store, self.pushes, self.log) = (store, pushes, log)
  }

  /// When the rules want to be woken.
  var deadline: Instant? { server.deadline }

  /// Its lines of the metrics page.
  var metrics: String { server.metricsText }

  /// Starts the rules from what was kept; called once, before the first event.
  mutating func begin(with kept: RelayKept, on hub: SocketHub, inject: @escaping Inject) {
    server = RelayServer(policy: policy, life: RelaySecrets.life(), at: hub.now)
    self.inject = inject
    writes = StoreWrite.queue(into: store, log: log, inject: inject)
    feed(.restored(kept, wall: BootClock().wall), on: hub)
  }

  /// Lets go of the server; late answers of store and pushes then reach nobody.
  mutating func end() {
    inject = nil
    writes?.finish()
    writes = nil
  }

  /// Whether a connection is a phone's socket.
  func owns(_ connection: ServerSockets.ConnectionID) -> Bool {
    phones[connection.named] != nil
  }

  mutating func handle(_ event: ServerSockets.SocketEvent, on hub: SocketHub) {
    switch event {
    case .request(let request, let head, let body): take(request, head, body, on: hub)
    case .upgrade(let request, let head): upgrade(request, head, on: hub)
    case .abandoned(let request): abandon(request, on: hub)
    case .heard(let connection): feed(.heard(connection.named), on: hub)
    case .text(let connection, let bytes): said(connection.named, bytes, on: hub)
    case .binary(let connection, _):
      let error = RelayWireError(.malformed(detail: "a binary message"))
      feed(.phoneUnreadable(connection.named, error), on: hub)
    case .overflow(let connection): feed(.overflowed(connection.named), on: hub)
    case .closed(let connection, let ending): closed(connection.named, ending, on: hub)
    case .woke: perform(server.tick(at: hub.now), on: hub)
    case .opened, .drained, .pong, .starved, .crowded:
      // The rules count a socket as open from `accept` on; `heard` has told of a pong's bytes.
      break
    }
  }

  /// Hands an assistant's call to the rules; its outcome is among `takeOutcomes`.
  mutating func ask(
    _ ask: RelayAsk, bearer: TokenHash?, from address: String, on hub: SocketHub
  ) -> AskID {
    lastAsk += 1
    let id = AskID(lastAsk)
    calls[id] = Call(kind: ask.word, since: hub.now)
    feed(.ask(id, ask, bearer: bearer, from: address, wall: BootClock().wall), on: hub)
    return id
  }

  /// Takes a call back: no outcome of it is told from now on.
  mutating func abandon(_ id: AskID, on hub: SocketHub) {
    guard calls.removeValue(forKey: id) != nil else { return }
    outcomes.removeAll { $0.0 == id }
    feed(.abandoned(id), on: hub)
  }

  /// What became of calls since the last time, in order.
  mutating func takeOutcomes() -> [(AskID, RelayOutcome)] {
    defer { outcomes = [] }
    return outcomes
  }

  mutating func feed(_ input: RelayServer.Input, on hub: SocketHub) {
    perform(server.handle(input, at: hub.now), on: hub)
  }

  private mutating func take(
    _ request: ServerSockets.RequestID, _ head: HTTPRequestHead, _ body: [UInt8],
    on hub: SocketHub
  ) {
    guard let route = RelayRoute(path: head.wholePath) else { return }
    let exchange = Exchange(request: request, route: route, since: hub.now)
    guard head.method == route.method else {
      let error = RelayReply.error("method_not_allowed", "This route knows \(route.method) only.")
      return respond(exchange, 405, [("Allow", route.method)], error, on: hub)
    }
    switch route {
    case .phone:
      // RFC 9110 section 15.5.22: a 426 names what it wants.
      let fields = [("Upgrade", "websocket"), ("Sec-WebSocket-Version", "13")]
      let error = RelayReply.error("upgrade_required", "A phone opens a WebSocket here.")
      respond(exchange, 426, fields, error, on: hub)
    case .health:
      let health = server.health
      respond(exchange, health.isServing ? 200 : 503, [], health.bytes, on: hub)
    case .lease, .results, .push:
      pull(exchange, head.bearer, body, on: hub)
    }
  }

  private mutating func pull(
    _ exchange: Exchange, _ bearer: String?, _ body: [UInt8], on hub: SocketHub
  ) {
    do {
      guard let pull = try exchange.route.pull(body) else { return }
      lastRequest += 1
      let id = LinkServerCore.RequestID(lastRequest)
      pulls[id] = exchange
      numbers[exchange.request] = id
      let hash = bearer.map(RelaySecrets.hash)
      feed(.pull(id, pull, bearer: hash, wall: BootClock().wall), on: hub)
    } catch {
      respond(exchange, 400, [], RelayReply.error("malformed", error.description), on: hub)
    }
  }

  private mutating func upgrade(
    _ request: ServerSockets.RequestID, _ head: HTTPRequestHead, on hub: SocketHub
  ) {
    guard RelayRoute(path: head.wholePath) == .phone else {
      // Asked to upgrade where there is no socket: answered as if it had not asked.
      return take(request, head, [], on: hub)
    }
    let exchange = Exchange(request: request, route: .phone, since: hub.now)
    // A phone is no web page: one would pair its visitor's browser with an assistant of its own.
    guard doors.admit(origin: head.first("origin")) else {
      let error = RelayReply.error("forbidden", WebDoors.foreignOrigin)
      return respond(exchange, 403, [], error, on: hub)
    }
    let id = request.connection.named
    upgrades[id] = exchange
    let arrival = RelayServer.Arrival(
      device: head.first("holdfast-device").flatMap { UUID128($0) },
      resume: head.first("holdfast-resume").map(RelaySecrets.hash),
      address: hub.peerOrigin(of: request.connection) ?? "")
    feed(.phoneOpened(id, arrival, wall: BootClock().wall), on: hub)
  }

  private mutating func said(
    _ id: LinkServerCore.ConnectionID, _ bytes: [UInt8], on hub: SocketHub
  ) {
    do {
      feed(.phoneSaid(id, try PhoneMessage.read(bytes)), on: hub)
    } catch {
      feed(.phoneUnreadable(id, error), on: hub)
    }
  }

  private mutating func abandon(_ request: ServerSockets.RequestID, on hub: SocketHub) {
    if let id = numbers.removeValue(forKey: request) {
      // Done all the same: every pull may be repeated.
      if let exchange = pulls.removeValue(forKey: id) { note(.abandoned, exchange, at: hub.now) }
    } else if let exchange = upgrades.removeValue(forKey: request.connection.named) {
      note(.abandoned, exchange, at: hub.now)
      gone(request.connection.named, code: 1006, on: hub)
    }
  }

  private mutating func closed(
    _ id: LinkServerCore.ConnectionID, _ ending: SocketEnding, on hub: SocketHub
  ) {
    var line = LogLine(.closed)
    line.connection = id.number
    line.route = RelayRoute.phone.rawValue
    line.code = ending.code
    line.detail = ending.detail
    line.took = phones.removeValue(forKey: id)?.duration(to: hub.now)
    log.note(line)
    gone(id, code: ending.code, on: hub)
  }

  private mutating func gone(
    _ id: LinkServerCore.ConnectionID, code: UInt16, on hub: SocketHub
  ) {
    feed(.phoneGone(id, code: code, wall: BootClock().wall), on: hub)
  }

  mutating func forget(_ exchange: Exchange) {
    numbers[exchange.request] = nil
  }

  private func respond(
    _ exchange: Exchange, _ status: Int, _ headers: [(String, String)], _ body: [UInt8],
    on hub: SocketHub
  ) {
    note(.request, exchange, status: status, at: hub.now)
    let fields = [("Content-Type", "application/json"), ("Cache-Control", "no-store")]
    hub.respond(to: exchange.request, status: status, headers: fields + headers, body: body)
  }

  func note(_ event: LogLine.Event, _ exchange: Exchange, status: Int? = nil, at now: Instant) {
    var line = LogLine(event)
    line.connection = exchange.request.connection.number
    line.route = exchange.route.rawValue
    line.status = status
    line.took = exchange.since.duration(to: now)
    log.note(line)
  }
}
