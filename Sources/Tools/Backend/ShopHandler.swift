import LinkCore
import LinkProtocols
import LinkRuntime
import LinkServerCore
import LinkWire
import ServerSockets

/// Stands between the sockets and the rules: turns events into inputs, effects into commands.
///
/// Lives on the socket server's loop; only the store is asked elsewhere, and its answer injected.
struct ShopHandler {
  typealias Inject =
    @Sendable (@escaping @Sendable (inout ShopHandler, SocketHub) -> Void) -> Void

  /// A request or upgrade that has no answer yet, and whom the log names for it.
  struct Exchange {
    var request: ServerSockets.RequestID
    var route: Route
    var user: String?
    var shop: ShopID?
    var since: Instant
  }

  /// An open socket, as the log names it.
  struct Listener {
    var user: String?
    var shop: ShopID?
    var since: Instant
  }

  /// What the store does for posts.
  enum Writing {
    case idle
    /// It makes a list durable; what comes meanwhile waits, and goes to it together.
    case busy(waiting: [ShopServer.Append])
  }

  private(set) var server: ShopServer
  private let policy: ShopServerPolicy
  let tokens: Tokens
  let store: any MessageLog
  let log: BackendLog
  private(set) var inject: Inject?
  var writing = Writing.idle
  /// Whether the rules have drained.
  var hasFinished = false
  /// Further lines of the metrics page; set before a request for it.
  var otherMetrics = ""

  var requests: [LinkServerCore.RequestID: Exchange] = [:]
  var numbers: [ServerSockets.RequestID: LinkServerCore.RequestID] = [:]
  var upgrades: [LinkServerCore.ConnectionID: Exchange] = [:]
  var listeners: [LinkServerCore.ConnectionID: Listener] = [:]
  private var lastRequest: UInt64 = 0

  init(_ policy: ShopServerPolicy, tokens: Tokens, store: any MessageLog, log: BackendLog) {
    self.policy = policy
    server = ShopServer(policy: policy, seed: 0, at: .zero)
    self.tokens = tokens
    self.store = store
    self.log = log
  }

  /// Starts the rules; called once, before the first event.
  mutating func begin(at now: Instant, inject: @escaping Inject) {
    server = ShopServer(policy: policy, seed: .random(in: 0 ... .max), at: now)
    self.inject = inject
  }

  /// Lets go of the server; late answers of the store then reach nobody.
  mutating func end() {
    inject = nil
  }

  /// When the rules want to be woken.
  var deadline: Instant? { server.deadline }

  mutating func handle(_ event: ServerSockets.SocketEvent, on hub: SocketHub) {
    switch event {
    case .request(let request, let head, let body):
      take(request, head, body, on: hub)
    case .upgrade(let request, let head):
      upgrade(request, head, on: hub)
    case .abandoned(let request):
      abandon(request, on: hub)
    case .heard(let connection):
      feed(.heard(connection.named), on: hub)
    case .overflow(let connection):
      feed(.overflowed(connection.named), on: hub)
    case .closed(let connection, let ending):
      closed(connection.named, ending, on: hub)
    case .starved(let cause):
      note(.starved, PrivateFile.reason(of: cause))
    case .crowded(let address):
      note(.crowded, address)
    case .woke:
      perform(server.tick(at: hub.now), on: hub)
    case .opened, .drained:
      // The rules count a socket as open from `accept` on, and a slow one is cut, not awaited.
      break
    case .text, .binary, .pong:
      // The stream is read-only; `heard` has told of the bytes.
      break
    }
  }

  mutating func feed(_ input: ShopServer.Input, on hub: SocketHub) {
    perform(server.handle(input, at: hub.now), on: hub)
  }

  private mutating func take(
    _ request: ServerSockets.RequestID, _ head: HTTPRequestHead, _ body: [UInt8],
    on hub: SocketHub
  ) {
    let call = Call.read(
      method: head.method, path: head.wholePath,
      query: head.query.map { (name: $0.name, value: $0.value) },
      key: head.first("idempotency-key"), body: body, limits: policy.limits)
    let credential = call.route.isGuarded ? tokens.credential(of: head) : .missing
    lastRequest += 1
    let id = LinkServerCore.RequestID(lastRequest)
    requests[id] = Exchange(
      request: request, route: call.route, user: credential.user, shop: call.shop,
      since: hub.now)
    numbers[request] = id
    feed(.request(id, call, credential, wall: BootClock().wall), on: hub)
  }

  private mutating func upgrade(
    _ request: ServerSockets.RequestID, _ head: HTTPRequestHead, on hub: SocketHub
  ) {
    guard case .stream(let shop) = ShopRoute(path: head.wholePath) else {
      // Asked to upgrade where there is no stream: answered as if it had not asked.
      return take(request, head, [], on: hub)
    }
    let credential = tokens.credential(of: head)
    let id = request.connection.named
    upgrades[id] = Exchange(
      request: request, route: .stream, user: credential.user, shop: shop, since: hub.now)
    let after = head.first(StreamHeader.after.lowercased()).flatMap { Position($0) }
    feed(.upgrade(id, shop, after: after, credential, wall: BootClock().wall), on: hub)
  }

  private mutating func abandon(_ request: ServerSockets.RequestID, on hub: SocketHub) {
    if let id = numbers.removeValue(forKey: request) {
      note(.abandoned, requests.removeValue(forKey: id), at: hub.now)
      feed(.abandoned(id), on: hub)
    } else if let exchange = upgrades.removeValue(forKey: request.connection.named) {
      note(.abandoned, exchange, at: hub.now)
      feed(.gone(request.connection.named, code: 1006), on: hub)
    }
  }

  private mutating func closed(
    _ id: LinkServerCore.ConnectionID, _ ending: SocketEnding, on hub: SocketHub
  ) {
    var line = LogLine(.closed)
    line.connection = id.number
    line.code = ending.code
    line.detail = ending.detail
    if let listener = listeners.removeValue(forKey: id) {
      (line.user, line.shop) = (listener.user, listener.shop)
      line.took = listener.since.duration(to: hub.now)
    }
    log.note(line)
    feed(.gone(id, code: ending.code), on: hub)
  }

  private func note(_ event: LogLine.Event, _ detail: String) {
    var line = LogLine(event)
    line.detail = detail
    log.note(line)
  }

  func note(_ event: LogLine.Event, _ exchange: Exchange?, status: Int? = nil, at now: Instant) {
    guard let exchange else { return }
    var line = LogLine(event)
    line.connection = exchange.request.connection.number
    line.route = exchange.route.rawValue
    (line.user, line.shop) = (exchange.user, exchange.shop)
    line.status = status
    line.took = exchange.since.duration(to: now)
    log.note(line)
  }
}

extension ServerSockets.ConnectionID {
  /// The same connection, as the rules name it.
  var named: LinkServerCore.ConnectionID { LinkServerCore.ConnectionID(number) }
}

extension LinkServerCore.ConnectionID {
  /// The same connection, as the sockets name it.
  var socket: ServerSockets.ConnectionID { ServerSockets.ConnectionID(number: number) }
}

extension SocketEnding {
  /// The close code of RFC 6455 section 7.1.5; 1006 where no close frame came.
  var code: UInt16 {
    switch self {
    case .peerClosed(let code, _), .closed(let code, _), .violation(let code, _): code
    case .ended, .reset, .dropped: 1006
    case .stopped: 1001
    }
  }

  var detail: String? {
    switch self {
    case .peerClosed: "by the client"
    case .closed: nil
    case .violation(_, let detail): detail
    case .ended: "ended without a close frame"
    case .reset(let detail): detail
    case .dropped: "dropped"
    case .stopped: "stopped"
    }
  }
}
