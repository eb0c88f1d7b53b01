import HoldfastCore
import HoldfastMessageServer
import HoldfastOperators
import HoldfastProtocols
import HoldfastServerParts
import HoldfastServerSockets

/// A running service whose types are erased. It is used on the loop of the sockets.
protocol RunningService: AnyObject {
  /// The time at which the rules must be called next; `nil` for none.
  var deadline: Instant? { get }
  /// Returns the health of the service, based on its rules and a check of the store.
  func health(_ check: StoreChecks.Outcome) -> ServiceHealth
  /// Whether the drain is complete.
  var isFinished: Bool { get }

  /// Passes the first input to the rules. This method is called once, before the first event.
  func begin()
  /// Ends the service. Results that its store returns later are dropped.
  func end()
  /// Ends the service, with its requests and sockets, while the backend goes on.
  func leave()
  func drain(within window: Duration)
  func tick()
  func report(to page: inout MetricsPage)

  /// Accepts a request or an upgrade. Returns `false` if the path is not a route of the service.
  func take(_ request: RequestID, _ head: HTTPRequestHead, _ path: String, body: [UInt8]?) -> Bool
  /// Accepts the head of a request whose body is incomplete. Returns `false` if the path is not a
  /// route of the service.
  func announce(_ request: RequestID, _ head: HTTPRequestHead, _ path: String) -> Bool
  /// Accepts an announced request that was cut off. Returns `false` if the path is not a route of
  /// the service.
  func cut(
    _ request: RequestID, _ head: HTTPRequestHead, _ path: String, body: [UInt8]
  ) -> Bool
  /// Removes a request whose client has left. Returns `false` if the request belongs to another
  /// service.
  func abandon(_ request: RequestID) -> Bool
  /// Handles the end of a request that was passed on to another node. Returns `false` if the request
  /// belongs to another service.
  func passed(_ request: RequestID, wasAnswered: Bool) -> Bool
  /// Returns whether a socket belongs to the service.
  func owns(_ socket: ConnectionID) -> Bool
  /// Continues with what the operator's backend has decided. Returns `false` if the question is that
  /// of another service.
  func decided(_ ticket: HookTicket, _ verdict: HookVerdict) -> Bool
  /// Handles an event of one of the service's sockets.
  func handle(_ event: SocketEvent, on socket: ConnectionID)

  /// Returns the connections that operators see.
  func connections() -> [AdminConnection]
  /// Closes a connection that operators see. Returns `false` if the service has none with this ID.
  func disconnect(_ connection: ConnectionID, _ closure: Closure) -> Bool
}

/// The runner of one service. It passes events to the service and inputs to the service's rules.
final class ServiceRunner<S: Service>: RunningService {
  private var service: S
  private var context: ServiceContext<S>
  /// The inputs that wait for the operator's backend.
  private var held = HeldInputs<S.Rules.Input>()
  private var isDraining = false

  init(_ service: S, _ context: ServiceContext<S>) {
    (self.service, self.context) = (service, context)
  }

  var deadline: Instant? { service.rules.deadline }
  var isFinished: Bool { service.rules.isFinished }

  func health(_ check: StoreChecks.Outcome) -> ServiceHealth {
    let health = service.rules.serviceHealth
    return switch check {
    case .checked(let failure): health.checked(failure, of: S.Rules.storeName)
    case .unanswered: health.unanswered(by: S.Rules.storeName)
    }
  }

  func begin() {
    if let first = service.first { feed(first) }
  }

  func end() {
    service.end()
    context.end()
  }

  func leave() {
    service.end()
    for ticket in held.removeAll() { context.hooks?.withdraw(ticket, at: context.now) }
    context.leave()
  }

  func drain(within window: Duration) {
    isDraining = true
    feed(S.Rules.drain(within: window))
    // A decision may come after the end of the drain.
    for ticket in held.tickets {
      context.hooks?.withdraw(ticket, at: context.now)
      _ = decided(ticket, .unanswered)
    }
  }

  func tick() {
    service.tick(&context)
  }

  func report(to page: inout MetricsPage) {
    service.rules.report(to: &page)
    context.report(to: &page)
    guard let times = service.commitTimes?.histogram, times.count > 0 else { return }
    page.commits[S.metricsName] = times
  }

  func feed(_ input: S.Rules.Input) {
    if !hold(input) { service.feed(input, &context) }
  }

  /// Keeps an input if the operator's backend has to decide about it, and asks. Returns whether it was
  /// kept.
  private func hold(_ input: S.Rules.Input) -> Bool {
    guard let hooks = context.hooks, !isDraining,
      let request = service.guarded(input, fresh: UUID128.random),
      hooks.concerns(request.event), let exchange = request.exchange(in: context)
    else { return false }
    let question = request.question(exchange.line)
    held.add(input, of: request, as: hooks.ask(question, at: context.now))
    return true
  }

  func decided(_ ticket: HookTicket, _ verdict: HookVerdict) -> Bool {
    guard let (input, request) = held.remove(ticket) else { return false }
    guard let refusal = verdict.refusal else {
      guard case .allowed(let id) = verdict else { return true }
      service.feed(service.allowed(input, as: id, wall: HookRequest.wall), &context)
      return true
    }
    switch request {
    case .connect(let id): context.refuse(id, refusal, outcome: verdict.name)
    case .post(let id, _): context.refuse(id, refusal, outcome: verdict.name)
    }
    return true
  }

  func take(
    _ request: RequestID, _ head: HTTPRequestHead, _ path: String, body: [UInt8]?
  ) -> Bool {
    guard let route = S.Route(path: path) else { return false }
    guard let connection = context.hub.connection(of: request) else { return true }
    if body == nil, route.opensSocket {
      context.enter(upgrade: request, head, on: connection, route)
      read(.upgrade(connection, route, head))
    } else {
      context.enter(request, head, on: connection, route)
      let body = body ?? []
      guard body.isEmpty || route.takesCompressed || head.isPlain else {
        refuseCoding(request)
        return true
      }
      var head = head
      if head.method == "HEAD", !route.takesHead { head.method = "GET" }
      read(.request(request, route, head, body: body))
    }
    return true
  }

  /// Refuses a body that has a content coding, and names the accepted coding (RFC 9110 section
  /// 15.5.16).
  private func refuseCoding(_ request: RequestID) {
    let refusal = HTTPRefusal(415, "bodies of this route must not be compressed")
    context.respond(
      request, refusal.status, refusal.headers + [("Accept-Encoding", "identity")], refusal.bytes)
  }

  func announce(_ request: RequestID, _ head: HTTPRequestHead, _ path: String) -> Bool {
    guard let route = S.Route(path: path) else { return false }
    read(.announced(request, route, head))
    return true
  }

  func cut(
    _ request: RequestID, _ head: HTTPRequestHead, _ path: String, body: [UInt8]
  ) -> Bool {
    guard let route = S.Route(path: path) else { return false }
    read(.cut(request, route, head, body: body))
    return true
  }

  func abandon(_ request: RequestID) -> Bool {
    guard let event = context.abandon(request) else { return false }
    if let ticket = held.ticket(endedBy: event) {
      context.hooks?.withdraw(ticket, at: context.now)
      _ = held.remove(ticket)
    } else {
      read(event)
    }
    return true
  }

  func passed(_ request: RequestID, wasAnswered: Bool) -> Bool { false }

  func owns(_ socket: ConnectionID) -> Bool { context.owns(socket) }

  func handle(_ event: SocketEvent, on socket: ConnectionID) {
    switch event {
    case .received: read(.received(socket))
    case .text(_, let bytes): read(.text(socket, bytes))
    case .binary: read(.binary(socket))
    case .overflow: read(.overflow(socket))
    case .drained: read(.drained(socket))
    case .closed(_, let ending):
      let exchange = context.exchange(of: socket)
      let code = context.closed(socket, ending)
      if let exchange { context.hooks?.tell(exchange, code: code, at: context.now) }
      read(.closed(socket, code: code))
    case .opened, .pong, .request, .upgrade, .abandoned, .starved, .crowded, .woke,
      .announced, .cut, .passed:
      // The rules count a socket as open after `accept`. The bytes of a pong were already reported
      // by `received`.
      break
    }
  }

  private func read(_ event: ServiceEvent<S.Route>) {
    if let input = service.read(event, &context) { feed(input) }
  }

  /// Begins the next commit, then passes the results of the last commit, which took `elapsed`, to
  /// the rules.
  func committed(_ stored: [Stored<S.Rules.Input>], after elapsed: Duration) {
    context.noteCommit(elapsed)
    context.commitNext()
    take(stored)
  }

  func take(_ stored: [Stored<S.Rules.Input>]) {
    for stored in stored {
      context.file = stored.file
      feed(stored.input)
    }
    context.file = nil
  }

  var store: S.Store { service.store }

  func connections() -> [AdminConnection] { context.connections(service.owner) }

  func disconnect(_ connection: ConnectionID, _ closure: Closure) -> Bool {
    context.disconnect(connection, closure)
  }

  /// Runs `body` with the service, and passes the input that it returns to the rules.
  func enter(_ body: (inout S, inout ServiceContext<S>) -> S.Rules.Input?) {
    if let input = body(&service, &context) { feed(input) }
  }

  /// Passes the input that `make` returns to the rules.
  func feed(_ make: (inout S, Instant) -> S.Rules.Input) {
    feed(make(&service, context.now))
  }
}
