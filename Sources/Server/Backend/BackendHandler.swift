import HoldfastAssistants
import HoldfastCore
import HoldfastOwnerFiles
import HoldfastProtocols
import HoldfastServerParts
import HoldfastServerSockets

/// A handler that owns the services, routes each event to a service and sets the alarm of the
/// sockets.
///
/// The handler itself answers the routes that belong to no service: `/`, `/healthz`, `/livez`,
/// `/readyz`, `/metrics` and unknown routes.
struct BackendHandler: SocketHandler {
  typealias Inject =
    @Sendable (@escaping @Sendable (inout BackendHandler, SocketHub) -> Void) -> Void

  /// A place for a service, which another node may run.
  enum Place {
    case service(any Service)
    case absent(any Service.Type)

    /// The service, unless another node runs it.
    var service: (any Service)? {
      guard case .service(let service) = self else { return nil }
      return service
    }

    /// Whether one node of several runs the service.
    var isOfOneNode: Bool {
      switch self {
      case .service(let service): type(of: service).runsAtOneNode
      case .absent(let type): type.runsAtOneNode
      }
    }
  }

  private var places: [Place]
  let log: BackendLog
  /// The parts that serve operators; `nil` if there is no address for them, and no other node.
  let admin: AdminDesk?
  /// The way to the node that runs the absent services; `nil` if there is none.
  private let passage: NodePassage?
  /// A function that returns the state of the node; `nil` if there are no nodes.
  private let figures: (@Sendable () -> NodeFigures)?
  /// The watch over the files of the certificate; `nil` without TLS.
  private let certificate: CertificateWatch?
  /// The removal of old messages; `nil` if all are kept.
  private let keeper: MessageKeeper?
  /// The caller of the operator's backend; `nil` for none.
  private let hookCaller: HookCaller?
  /// The questions to the operator's backend; `nil` before the start, or if there are none.
  private var hooks: HookDesk?
  /// The numbers of requests that were passed on, at their end.
  private var passed: (answered: UInt64, unanswered: UInt64) = (0, 0)
  private(set) var runners: [any RunningService] = []
  /// The number of services that have had each place. Results for earlier ones are dropped.
  private var generations: [Int]
  /// The deadline of each service. It is updated only after the service has run.
  private var deadlines: [Instant?] = []
  /// The index of the service that owns each open socket.
  private var owners: [ConnectionID: Int] = [:]
  /// The numbers of requests on the handler's own routes.
  private var requests = RequestCounts()
  /// The requests that wait for the checks of the stores, at most one for each connection.
  private var checking: [Asked] = []
  private var checks: StoreChecks
  /// The requests that wait for checks and figures, at most one for each connection.
  private var waits: OperatorWaits<Asked>
  private let reading: ProcessReading
  /// The last figures of the process.
  private var process = ProcessFigures()
  /// The refusals of connections.
  private var refusals = RefusalCounts()
  private var gate: TokenGate
  /// A function that runs work on the loop; `nil` before the start and after the end.
  private(set) var inject: Inject?
  /// A function that is called once, when all services have drained.
  private var whenFinished: (@Sendable () -> Void)?

  /// A request on one of the handler's own routes.
  private struct Asked {
    var request: RequestID
    var route: OwnRoute
    var since: Instant
    /// The facts about the request for the log.
    var line: LogLine
  }

  /// Creates a handler for services that have not started.
  ///
  /// The first service with a matching route receives a request.
  ///
  /// - Parameter checkLimit: The maximum time that `/healthz` waits for the checks of the stores. Other
  ///   requests of operators wait a tenth of it.
  init(
    _ services: [any Service], log: BackendLog, checkLimit: Duration = StoreChecks.limit
  ) {
    self.init(services.map { .service($0) }, log: log, checkLimit: checkLimit)
  }

  /// Creates a handler for places, some of which may be without a service.
  init(
    _ places: [Place], log: BackendLog, checkLimit: Duration, passage: NodePassage? = nil,
    figures: (@Sendable () -> NodeFigures)? = nil, reading: ProcessReading = ProcessReading(),
    certificate: CertificateWatch? = nil, hooks: HookCaller? = nil, admin: AdminDesk? = nil,
    authority: TokenAuthority? = nil, keeper: MessageKeeper? = nil
  ) {
    self.keeper = keeper
    (self.places, self.log, self.reading, self.admin) = (places, log, reading, admin)
    gate = TokenGate(authority)
    (self.passage, self.figures) = (passage, figures)
    (self.certificate, hookCaller) = (certificate, hooks)
    generations = places.map { _ in 0 }
    checks = StoreChecks(of: places.count, limit: checkLimit)
    waits = OperatorWaits(limit: checkLimit / 10)
  }

  /// Starts the services. This method is called once, before the first event.
  mutating func begin(on hub: SocketHub, inject: @escaping Inject) {
    self.inject = inject
    hooks = hookCaller.map { caller in
      HookDesk(caller, log: log) { ticket, outcome in
        inject { handler, hub in
          handler.turn(on: hub) { $0.hooks?.ended(ticket, outcome, at: hub.now) }
        }
      }
    }
    runners = places.indices.map { runner(at: $0, on: hub, inject) }
    deadlines = runners.map { _ in nil }
    for index in runners.indices { work(on: index) { $0.begin() } }
    fetchKeys(on: hub)
    updateAlarm(on: hub)
  }

  private func runner(
    at index: Int, on hub: SocketHub, _ inject: @escaping Inject
  ) -> any RunningService {
    switch places[index] {
    case .service(let service): return runner(of: service, at: index, on: hub, inject)
    case .absent(let type): return absence(of: type, on: hub)
    }
  }

  private func absence<S: Service>(of service: S.Type, on hub: SocketHub) -> any RunningService {
    AbsentRunner(service, hub: hub, log: log, passage: passage)
  }

  private func runner<S: Service>(
    of service: S, at index: Int, on hub: SocketHub, _ inject: @escaping Inject
  ) -> any RunningService {
    let generation = generations[index]
    let context = ServiceContext<S>(
      hub: hub, log: log, hooks: hooks, store: service.store, keepsAgents: admin?.hasAddress == true
    ) { body in
      inject { handler, hub in
        handler.turn(on: hub) { handler in
          guard handler.generations[index] == generation else { return }
          handler.work(on: S.self, body)
        }
      }
    }
    return ServiceRunner(service, context)
  }

  // MARK: - Services of one node

  /// Puts a service into the place that was without one.
  mutating func install(_ service: any Service, on hub: SocketHub) {
    guard let inject, let index = place(of: type(of: service)) else { return }
    places[index] = .service(service)
    generations[index] += 1
    runners[index].leave()
    runners[index] = runner(at: index, on: hub, inject)
    work(on: index) { $0.begin() }
  }

  /// Removes the services that another node may run now, and ends their requests and sockets.
  mutating func removeServicesOfOneNode(on hub: SocketHub) {
    guard let inject else { return }
    for index in places.indices where places[index].isOfOneNode {
      guard let service = places[index].service else { continue }
      runners[index].leave()
      for (socket, owner) in owners where owner == index { owners[socket] = nil }
      places[index] = .absent(type(of: service))
      generations[index] += 1
      runners[index] = runner(at: index, on: hub, inject)
      deadlines[index] = nil
    }
  }

  private func place(of service: any Service.Type) -> Int? {
    places.firstIndex { place in
      guard case .absent(let type) = place else { return false }
      return type == service
    }
  }

  /// Ends the services. Results that stores return later are dropped.
  mutating func end() {
    inject = nil
    for runner in runners { runner.end() }
  }

  /// Begins to drain all services, and calls `finished` once all have drained.
  mutating func drain(
    within window: Duration, on hub: SocketHub, _ finished: @escaping @Sendable () -> Void
  ) {
    whenFinished = finished
    hub.leaveInheritedSockets()
    turn(on: hub) { handler in
      handler.takeHeld(on: hub)
      for index in handler.runners.indices {
        handler.work(on: index) { $0.drain(within: window) }
      }
    }
  }

  /// Whether the operator's backend has not yet got all reports about ended sockets.
  var hasReports: Bool { hooks?.hasReports ?? false }

  /// Cuts every open socket without a close frame.
  func dropSockets(on hub: SocketHub) {
    for id in owners.keys.sorted() { hub.drop(id) }
  }

  mutating func handle(_ event: SocketEvent, on hub: SocketHub) {
    turn(on: hub) { $0.give(event, on: hub) }
  }

  /// Runs `body`, then continues with what the operator's backend has decided, updates the alarm and
  /// checks whether all services have drained.
  mutating func turn(on hub: SocketHub, _ body: (inout BackendHandler) -> Void) {
    body(&self)
    for (ticket, verdict) in hooks?.takeDecisions() ?? [] {
      _ = first { $0.decided(ticket, verdict) }
    }
    updateAlarm(on: hub)
  }

  /// Runs `body` on one service and updates its deadline. Returns false if another node runs the
  /// service.
  @discardableResult
  mutating func work<S: Service>(
    on service: S.Type, _ body: (ServiceRunner<S>) -> Void
  ) -> Bool {
    for index in runners.indices {
      guard let runner = runners[index] as? ServiceRunner<S> else { continue }
      work(on: index) { _ in body(runner) }
      return true
    }
    return false
  }

  private mutating func work(on index: Int, _ body: (any RunningService) -> Void) {
    body(runners[index])
    deadlines[index] = runners[index].deadline
  }

  /// Sets the alarm, and calls `whenFinished` once all services have drained.
  private mutating func updateAlarm(on hub: SocketHub) {
    var earliest = [checks.deadline, waits.deadline, hooks?.deadline, gate.deadline]
      .compactMap(\.self).min()
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
    case .announced(let id, let head): _ = first { $0.announce(id, head, head.wholePath) }
    case .cut(let id, let head, let body):
      _ = first { $0.cut(id, head, head.wholePath, body: body) }
    case .passed(let id, let wasAnswered):
      if wasAnswered { passed.answered += 1 } else { passed.unanswered += 1 }
      _ = first { $0.passed(id, wasAnswered: wasAnswered) }
    case .upgrade(let id, let head): take(id, head, body: nil, on: hub)
    case .abandoned(let id):
      checking.removeAll { $0.request == id }
      waits.remove { $0.request == id }
      guard !gate.forget(id) else { return }
      _ = first { $0.abandon(id) }
    case .opened(let id):
      owners[id] = runners.firstIndex { $0.owns(id) }
    case .received(let id), .text(let id, _), .binary(let id, _), .pong(let id, _),
      .overflow(let id), .drained(let id):
      guard let owner = owners[id] else { return }
      work(on: owner) { $0.handle(event, on: id) }
    case .closed(let id, _):
      guard let owner = owners.removeValue(forKey: id) else { return }
      work(on: owner) { $0.handle(event, on: id) }
    case .starved(let cause):
      refusals.add(.descriptors)
      log.note(.starved, SystemCall.reason(of: cause))
    case .crowded(let address):
      refusals.add(.ceiling(.addressConnections))
      var line = LogLine(.crowded)
      line.address = NetworkAddress(address)
      log.note(line)
    case .woke: woke(on: hub)
    }
  }

  /// Does what is due at this time.
  private mutating func woke(on hub: SocketHub) {
    hooks?.tick(at: hub.now)
    if let outcomes = checks.tick(at: hub.now) { answerHealth(outcomes, on: hub) }
    answerWaiting(on: hub)
    fetchKeys(on: hub)
    for (index, deadline) in deadlines.enumerated() {
      guard let deadline, deadline <= hub.now else { continue }
      work(on: index) { $0.tick() }
    }
  }

  private mutating func take(
    _ request: RequestID, _ head: HTTPRequestHead, body: [UInt8]?, on hub: SocketHub
  ) {
    if hub.listener(of: request) == .nodes {
      switch passage?.origin(head, body) ?? .unknown {
      case .node: break
      case .otherTime:
        let detail = "the clocks of two nodes differ by more than a minute"
        return refuse(request, head, HTTPRefusal(503, detail), on: hub)
      case .unknown:
        let detail = "this address is for the nodes of one backend"
        return refuse(request, head, HTTPRefusal(403, detail), on: hub)
      }
    }
    if serveOperator(request, head, body: body ?? [], on: hub) { return }
    guard !gate.holds(request, head, body, at: hub.now) else { return fetchKeys(on: hub) }
    route(request, head, body: body, on: hub)
  }

  /// Passes a request to its service, or answers it.
  private mutating func route(
    _ request: RequestID, _ head: HTTPRequestHead, body: [UInt8]?, on hub: SocketHub
  ) {
    let (path, listener) = (head.wholePath, hub.listener(of: request))
    let isForOperators = listener == .metrics
    guard isForOperators || !first({ $0.take(request, head, path, body: body) }) else { return }
    let route = OwnRoute(path: path).restricted(
      isForOperators: isForOperators, hasOperators: hub.hasListener(for: .metrics))
    let line = log.line(of: head, on: hub.connection(of: request), hub)
    let asked = Asked(request: request, route: route, since: hub.now, line: line)
    if let refusal = route.refusal(of: head) {
      answer(asked, refusal.status, refusal.headers, refusal.bytes, on: hub)
      return
    }
    switch route {
    case .home: answer(asked, 200, WebPage.home.headers, WebPage.home.bytes, on: hub)
    case .live: answer(asked, 200, HTTPFields.json, ServiceHealth.ok.bytes, on: hub)
    case .metrics, .ready: look(for: asked, at: hub.now)
    case .health, .session, .unknown: checkStores(for: asked, at: hub.now)
    }
  }

  /// Begins a fetch of the identity provider's keys if one is due.
  mutating func fetchKeys(on hub: SocketHub) {
    guard let inject, let fetch = gate.fetchIfDue(at: hub.now) else { return }
    Task.detached {
      let result = await fetch()
      inject { handler, hub in
        handler.turn(on: hub) { handler in
          handler.gate.take(result, at: hub.now, handler.log)
          handler.takeHeld(on: hub)
        }
      }
    }
  }

  /// Passes on the requests that have waited for keys.
  private mutating func takeHeld(on hub: SocketHub) {
    for held in gate.release() { route(held.request, held.head, body: held.body, on: hub) }
  }

  /// Refuses what comes in at the address for nodes, and not from a node.
  private func refuse(
    _ request: RequestID, _ head: HTTPRequestHead, _ refusal: HTTPRefusal, on hub: SocketHub
  ) {
    var line = log.line(of: head, on: hub.connection(of: request), hub)
    line.event = .refused
    // The fields of a request that no node has signed prove nothing about its client.
    line.address = hub.connection(of: request).flatMap { hub.peerAddress(of: $0) }
    (line.status, line.detail) = (refusal.status, refusal.message)
    log.note(line)
    hub.respond(
      to: request, status: refusal.status, headers: refusal.headers, body: refusal.bytes)
  }

  private mutating func answer(
    _ asked: Asked, _ status: Int, _ headers: [(String, String)], _ body: [UInt8],
    on hub: SocketHub
  ) {
    let elapsed = asked.since.duration(to: hub.now)
    requests.answered(asked.route.rawValue, status: status, after: elapsed)
    var line = asked.line
    (line.route, line.status, line.elapsed) = (asked.route.rawValue, status, elapsed)
    line.bytes = line.method == "HEAD" ? 0 : body.count
    log.note(line)
    hub.respond(to: asked.request, status: status, headers: headers, body: body)
  }

  /// Answers with the health of all services once every store has been checked, or after 5 s.
  ///
  /// Requests that arrive during a check are answered with the result of that check.
  private mutating func checkStores(for asked: Asked, at now: Instant) {
    checking.append(asked)
    beginChecks(at: now)
  }

  private mutating func beginChecks(at now: Instant) {
    guard let inject else { return }
    for index in checks.begin(at: now) {
      let (service, generation) = (places[index].service, generations[index])
      Task.detached {
        let failure = await service?.storeFailure()
        inject { handler, hub in
          handler.turn(on: hub) { handler in
            // The store of a service that was removed is closed.
            let isPresent = handler.generations[index] == generation
            handler.checked(index, isPresent ? failure : nil, on: hub)
          }
        }
      }
    }
  }

  private mutating func checked(_ index: Int, _ failure: StoreFailure?, on hub: SocketHub) {
    guard let outcomes = checks.answered(index, failure) else { return }
    answerHealth(outcomes, on: hub)
    answerWaiting(on: hub)
  }

  /// Answers once the stores have been checked and figures have been read, or after half a second
  /// with what is known then.
  private mutating func look(for asked: Asked, at now: Instant) {
    let mustRead = waits.add(asked, at: now)
    beginChecks(at: now)
    guard mustRead, let inject else { return }
    Task.detached(executorPreference: reading.queue) { [reading] in
      let figures = reading.figures()
      inject { handler, hub in
        handler.turn(on: hub) { handler in
          handler.process = figures
          handler.waits.read()
          handler.answerWaiting(on: hub)
        }
      }
    }
  }

  private mutating func answerWaiting(on hub: SocketHub) {
    let due = waits.due(at: hub.now, isChecking: checks.deadline != nil)
    guard !due.isEmpty else { return }
    let ready = ServiceHealth.overall(zip(runners, checks.known(at: hub.now)).map { $0.health($1) })
    for asked in due {
      switch asked.route {
      case .metrics:
        let page = [UInt8](metrics(ready, on: hub).utf8)
        answer(asked, 200, MetricsPage.headers, page, on: hub)
      case .ready, .live, .home, .health, .session, .unknown:
        answer(asked, ready.status, HTTPFields.json, ready.bytes, on: hub)
      }
    }
  }

  private mutating func answerHealth(_ outcomes: [StoreChecks.Outcome], on hub: SocketHub) {
    let all = zip(runners, outcomes).map { $0.health($1) }
    let waiting = checking
    checking = []
    for asked in waiting {
      let health = ServiceHealth.overall(asked.route == .session ? ofOneNode(all) : all)
      answer(asked, health.status, HTTPFields.json, health.bytes, on: hub)
    }
  }

  /// Returns the health of the services that one node of several runs.
  private func ofOneNode(_ all: [ServiceHealth]) -> [ServiceHealth] {
    let found = zip(places, all).filter { $0.0.isOfOneNode }
    guard found.allSatisfy({ $0.0.service != nil }) else {
      return [.failing(reason: "this node does not run these services")]
    }
    return found.map(\.1)
  }

  /// Offers work to each service until one accepts it. Returns whether a service accepted it.
  private mutating func first(_ body: (any RunningService) -> Bool) -> Bool {
    for index in runners.indices where body(runners[index]) {
      deadlines[index] = runners[index].deadline
      return true
    }
    return false
  }

  // MARK: - Its own routes

  /// Returns the metrics of all services and of the process.
  func metrics(_ ready: ServiceHealth, on hub: SocketHub) -> String {
    var page = MetricsPage()
    page.describe(version: MCPResult.serverVersion, isReady: ready == .ok)
    process.report(to: &page)
    page.requests.add(requests)
    page.refusals.add(refusals)
    let (all, ofAddress) = (hub.clientConnections, hub.addressConnections)
    page.use(of: .connections, all.used, of: all.limit)
    page.use(of: .addressConnections, ofAddress.used, of: ofAddress.limit)
    for runner in runners { runner.report(to: &page) }
    hooks?.report(to: &page)
    gate.report(to: &page)
    if var figures = figures?() {
      (figures.passed, figures.unanswered) = passed
      figures.report(to: &page)
    }
    certificate?.report(to: &page)
    keeper?.report(to: &page)
    return page.text
  }
}

extension MetricsPage {
  fileprivate static let headers = [
    ("Content-Type", "text/plain; version=0.0.4; charset=utf-8"), ("Cache-Control", "no-store"),
  ]
}

/// The routes that belong to the backend itself.
private enum OwnRoute: String {
  case home, health, session = "health_session", live, ready, metrics, unknown

  init(path: String) {
    switch path {
    case "/": self = .home
    case "/healthz": self = .health
    // The services that one node of several runs. Balancers find that node so.
    case "/healthz/session": self = .session
    case "/livez": self = .live
    case "/readyz": self = .ready
    case "/metrics": self = .metrics
    case _: self = .unknown
    }
  }

  /// Returns the route at an address, or `unknown` if the address does not have it.
  ///
  /// - Parameters:
  ///   - isForOperators: Whether it is the address for metrics.
  ///   - hasOperators: Whether there is such an address.
  func restricted(isForOperators: Bool, hasOperators: Bool) -> OwnRoute {
    switch self {
    case .metrics: isForOperators == hasOperators ? self : .unknown
    case .home: isForOperators ? .unknown : self
    case .health, .session, .live, .ready, .unknown: self
    }
  }

  /// Returns the refusal for a request that this route does not answer; `nil` if the route answers
  /// it.
  func refusal(of head: HTTPRequestHead) -> HTTPRefusal? {
    guard self != .unknown else { return HTTPRefusal(404, "no such route") }
    let methods = "GET, HEAD"
    guard ["GET", "HEAD"].contains(head.method) else {
      return HTTPRefusal(405, "this route takes \(methods)", allow: methods)
    }
    return nil
  }
}
