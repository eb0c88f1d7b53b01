import LinkCore
import LinkProtocols
import LinkServerCore
import LinkWire
import ServerSockets

/// Owns the services, gives each event to the one that it belongs to, and sets the one alarm of the
/// sockets. The routes of no service are its own: `/healthz`, `/metrics`, and what is unknown.
struct BackendHandler: SocketHandler {
  typealias Inject =
    @Sendable (@escaping @Sendable (inout BackendHandler, SocketHub) -> Void) -> Void

  private let services: [any Service]
  private let log: BackendLog
  private let mailbox = Mailbox()
  private var runners: [any RunningService] = []
  /// When each service is to be woken. Asked of a service only after it did something.
  private var deadlines: [Instant?] = []
  /// The service of every open socket.
  private var owners: [ConnectionID: Int] = [:]
  /// The requests on its own routes.
  private var requests = RequestCounts()
  /// Called once when all services have drained.
  private var whenFinished: (@Sendable () -> Void)?

  /// A handler of services to which nothing has happened yet.
  ///
  /// A request goes to the first service that has its route.
  init(_ services: [any Service], log: BackendLog) {
    (self.services, self.log) = (services, log)
  }

  /// Starts the services; called once, before the first event.
  mutating func begin(on hub: SocketHub, inject: @escaping Inject) {
    runners = services.map { runner(of: $0, on: hub, inject) }
    deadlines = runners.map { _ in nil }
    for index in runners.indices { work(on: index) { $0.begin() } }
    settle(on: hub)
  }

  private func runner<S: Service>(
    of service: S, on hub: SocketHub, _ inject: @escaping Inject
  ) -> any RunningService {
    let desk = ServiceDesk<S>(
      hub: hub, log: log, mailbox: mailbox, store: service.store
    ) { body in
      inject { handler, hub in handler.turn(on: hub) { $0.work(on: S.self, body) } }
    }
    return ServiceRunner(service, desk)
  }

  /// Lets go of the server; late answers of stores are dropped.
  mutating func end() {
    for runner in runners { runner.end() }
  }

  /// Begins to drain all services; `finished` is called once they have.
  mutating func drain(
    within window: Duration, on hub: SocketHub, _ finished: @escaping @Sendable () -> Void
  ) {
    whenFinished = finished
    turn(on: hub) { handler in
      for index in handler.runners.indices {
        handler.work(on: index) { $0.drain(within: window) }
      }
    }
  }

  /// Cuts every open socket without a word.
  func dropSockets(on hub: SocketHub) {
    for id in owners.keys.sorted() { hub.drop(id) }
  }

  mutating func handle(_ event: SocketEvent, on hub: SocketHub) {
    turn(on: hub) { $0.give(event, on: hub) }
  }

  /// Lets `body` work with the services, then does what follows from it.
  mutating func turn(on hub: SocketHub, _ body: (inout BackendHandler) -> Void) {
    body(&self)
    settle(on: hub)
  }

  /// Lets `body` work with one service.
  mutating func work<S: Service>(on service: S.Type, _ body: (ServiceRunner<S>) -> Void) {
    for index in runners.indices {
      guard let runner = runners[index] as? ServiceRunner<S> else { continue }
      return work(on: index) { _ in body(runner) }
    }
  }

  private mutating func work(on index: Int, _ body: (any RunningService) -> Void) {
    body(runners[index])
    deadlines[index] = runners[index].deadline
  }

  /// Delivers what services have for each other until nothing follows, and sets the alarm.
  private mutating func settle(on hub: SocketHub) {
    while !mailbox.isEmpty {
      for letter in mailbox.take() { letter(&self) }
    }
    var earliest: Instant?
    for deadline in deadlines {
      guard let deadline else { continue }
      earliest = earliest.map { min($0, deadline) } ?? deadline
    }
    hub.wake(at: earliest)
    guard let whenFinished, runners.allSatisfy(\.isFinished) else { return }
    self.whenFinished = nil
    whenFinished()
  }

  // MARK: - Events

  private mutating func give(_ event: SocketEvent, on hub: SocketHub) {
    switch event {
    case .request(let id, let head, let body): take(id, head, body: body, on: hub)
    case .upgrade(let id, let head): take(id, head, body: nil, on: hub)
    case .abandoned(let id):
      _ = first { $0.abandon(id) }
    case .opened(let id):
      owners[id] = runners.firstIndex { $0.owns(id) }
    case .heard(let id), .text(let id, _), .binary(let id, _), .pong(let id, _),
      .overflow(let id), .drained(let id):
      guard let owner = owners[id] else { return }
      work(on: owner) { $0.handle(event, on: id) }
    case .closed(let id, _):
      guard let owner = owners.removeValue(forKey: id) else { return }
      work(on: owner) { $0.handle(event, on: id) }
    case .starved(let cause): note(.starved, PrivateFile.reason(of: cause))
    case .crowded(let address): note(.crowded, address)
    case .woke:
      for (index, deadline) in deadlines.enumerated() {
        guard let deadline, deadline <= hub.now else { continue }
        work(on: index) { $0.tick() }
      }
    }
  }

  private mutating func take(
    _ request: RequestID, _ head: HTTPRequestHead, body: [UInt8]?, on hub: SocketHub
  ) {
    let path = head.wholePath
    guard !first({ $0.take(request, head, path, body: body) }) else { return }
    let answer = OwnRoute(path: path).answer(head, self)
    requests.answered(answer.route, status: answer.status, after: .zero)
    var line = LogLine(.request)
    line.connection = hub.connection(of: request)?.number
    (line.route, line.status, line.took) = (answer.route, answer.status, .zero)
    log.note(line)
    hub.respond(to: request, status: answer.status, headers: answer.headers, body: answer.body)
  }

  /// Asks the services in turn until one does the work; returns whether one did.
  private mutating func first(_ body: (any RunningService) -> Bool) -> Bool {
    for index in runners.indices where body(runners[index]) {
      deadlines[index] = runners[index].deadline
      return true
    }
    return false
  }

  private func note(_ event: LogLine.Event, _ detail: String) {
    var line = LogLine(event)
    line.detail = detail
    log.note(line)
  }

  // MARK: - Its own routes

  /// The health of all services.
  var health: ServiceHealth {
    .overall(runners.map(\.health))
  }

  /// The metrics of all services.
  var metrics: String {
    var page = MetricsPage()
    page.requests.add(requests)
    for runner in runners { runner.report(to: &page) }
    return page.text
  }
}

/// The routes that belong to the backend as a whole.
private enum OwnRoute: String {
  case health, metrics, unknown

  struct Answer {
    var route: String
    var status: Int
    var headers: [(String, String)]
    var body: [UInt8]
  }

  init(path: String) {
    switch path {
    case "/healthz": self = .health
    case "/metrics": self = .metrics
    case _: self = .unknown
    }
  }

  func answer(_ head: HTTPRequestHead, _ handler: BackendHandler) -> Answer {
    switch self {
    case .unknown: return refused(HTTPRefusal(404, "no such route"))
    case .health, .metrics:
      let methods = "GET, HEAD"
      guard ["GET", "HEAD"].contains(head.method) else {
        return refused(HTTPRefusal(405, "this route takes \(methods)", allow: methods))
      }
    }
    guard self == .metrics else {
      let health = handler.health
      return Answer(
        route: rawValue, status: health.status, headers: HTTPFields.json, body: health.bytes)
    }
    let headers = [
      ("Content-Type", "text/plain; version=0.0.4; charset=utf-8"), ("Cache-Control", "no-store"),
    ]
    return Answer(
      route: rawValue, status: 200, headers: headers, body: [UInt8](handler.metrics.utf8))
  }

  private func refused(_ refusal: HTTPRefusal) -> Answer {
    Answer(
      route: rawValue, status: refusal.status, headers: refusal.headers, body: refusal.bytes)
  }
}
