import HoldfastCore
import HoldfastOwnerFiles
import HoldfastPorts
import HoldfastProtocols
import HoldfastServerParts
import HoldfastServerSockets

/// The requests, sockets and store of a service, and the operations on them.
///
/// A context is used on the loop of the sockets. It never calls the rules directly. Results reach
/// the rules later, as inputs.
struct ServiceContext<S: Service> {
  /// A request, an upgrade or a socket, with the line to log for it.
  struct Exchange {
    var request: RequestID
    /// The log line with the connection, the route and the facts about the client.
    var line: LogLine
    var since: Instant
    var bounds: SocketBounds
    /// Whether metrics have counted the request, before its end.
    var isCounted = false
    /// The client's `User-Agent` for operators; `nil` if the backend has no address for them.
    var agent: String?
  }

  /// The state of the queue of changes to the store.
  private enum WriteQueue {
    case idle
    /// The store is making changes durable. Changes that arrive in the meantime wait and are then
    /// written together.
    ///
    /// The rules limit the number of waiting changes: they accept nothing new while the store is
    /// far behind.
    case busy(waiting: [S.Write])
  }

  typealias Inject =
    @Sendable (@escaping @Sendable (ServiceRunner<S>) -> Void) -> Void

  let hub: SocketHub
  let log: BackendLog
  /// The questions to the operator's backend; `nil` if there are none.
  let hooks: HookDesk?
  /// The file that came with the result that the rules handle now.
  var file: FileBody?
  /// The requests that were answered.
  private(set) var answered = RequestCounts()
  /// The times of commits.
  private(set) var commits = Histogram(Histogram.commits)
  private let store: S.Store
  /// Whether operators can see the clients.
  private let keepsAgents: Bool
  /// The maximum length of `agent`, in Unicode scalars.
  private static var agentLimit: Int { 128 }
  /// A function that runs work on the loop; `nil` once the service has ended. Results that the
  /// store returns later are then dropped.
  private var inject: Inject?
  private var writeQueue = WriteQueue.idle
  private var inputs: [S.Rules.Input] = []
  private var requests: [RequestID: Exchange] = [:]
  private var upgrades: [ConnectionID: Exchange] = [:]
  private var sockets: [ConnectionID: Exchange] = [:]

  init(
    hub: SocketHub, log: BackendLog, hooks: HookDesk?, store: S.Store,
    keepsAgents: Bool = false, inject: @escaping Inject
  ) {
    (self.hub, self.log, self.hooks, self.keepsAgents) = (hub, log, hooks, keepsAgents)
    (self.store, self.inject) = (store, inject)
  }

  var now: Instant { hub.now }

  /// Returns the address of a connection's client, for limits by address; empty if the connection
  /// has ended.
  func client(
    of connection: ConnectionID?, _ head: HTTPRequestHead, through proxies: TrustedProxies
  ) -> String {
    connection.flatMap { hub.client(of: $0, head, through: proxies) }?.origin ?? ""
  }

  /// Queues an input, which is passed to the rules after the current effects have been carried out.
  mutating func feed(_ input: S.Rules.Input) {
    inputs.append(input)
  }

  mutating func takeInputs() -> [S.Rules.Input] {
    guard !inputs.isEmpty else { return [] }
    defer { inputs = [] }
    return inputs
  }

  /// Drops all results that arrive from now on.
  mutating func end() {
    inject = nil
  }

  /// Ends every request and socket, and drops all results that arrive from now on.
  mutating func leave() {
    end()
    for id in sockets.keys.sorted() { close(id, .elsewhere) }
    let waiting = Array(requests.values) + Array(upgrades.values)
    // A response may have begun, so its connection ends.
    for exchange in waiting {
      note(.abandoned, exchange)
      if let connection = hub.connection(of: exchange.request) { hub.drop(connection) }
    }
    (requests, upgrades, sockets) = ([:], [:], [:])
  }
}

extension SocketHub {
  /// Returns the address of a connection's client; `nil` if the connection has ended.
  func client(
    of connection: ConnectionID, _ head: HTTPRequestHead, through proxies: TrustedProxies
  ) -> NetworkAddress? {
    // The handler has checked that the request comes from a node.
    if isFromNode(connection) {
      return head.first("x-forwarded-for").flatMap { NetworkAddress($0) }
    }
    guard let peer = peerAddress(of: connection) else { return nil }
    return proxies.client(
      of: peer, forwarded: head.all("forwarded"), forwardedFor: head.all("x-forwarded-for"))
  }
}

// MARK: - Requests

extension ServiceContext {
  mutating func enter(
    _ request: RequestID, _ head: HTTPRequestHead, on connection: ConnectionID, _ route: S.Route
  ) {
    requests[request] = exchange(request, head, connection, route)
  }

  mutating func enter(
    upgrade request: RequestID, _ head: HTTPRequestHead, on connection: ConnectionID,
    _ route: S.Route
  ) {
    upgrades[connection] = exchange(request, head, connection, route)
  }

  /// Enters a request of an operator, whose line of the log has begun. It has no route, by which
  /// metrics count.
  mutating func enter(_ request: RequestID, _ line: LogLine) {
    requests[request] = Exchange(
      request: request, line: line, since: now, bounds: SocketBounds(), isCounted: true)
  }

  private func exchange(
    _ request: RequestID, _ head: HTTPRequestHead, _ connection: ConnectionID, _ route: S.Route
  ) -> Exchange {
    var line = log.line(of: head, on: connection, hub)
    line.route = route.name
    let agent = keepsAgents ? head.first("user-agent") : nil
    return Exchange(
      request: request, line: line, since: now, bounds: route.bounds,
      agent: agent.map { String($0.unicodeScalars.prefix(Self.agentLimit)) })
  }

  /// The open sockets, and the requests that have not been answered.
  var exchanges: (sockets: [ConnectionID: Exchange], requests: [RequestID: Exchange]) {
    (sockets, requests)
  }

  /// Sets the facts to log about the client of a request, and the route if its method decides that.
  mutating func describe(_ id: RequestID, route: String? = nil, _ names: LogLine.Names) {
    requests[id]?.line.names = names
    if let route { requests[id]?.line.route = route }
  }

  /// Sets the facts to log about the client of an upgrade, which also apply to its socket.
  mutating func describe(_ id: ConnectionID, _ names: LogLine.Names) {
    upgrades[id]?.line.names = names
  }

  /// Returns a request that has no answer yet.
  func exchange(of id: RequestID) -> Exchange? { requests[id] }

  /// Returns an upgrade that has no answer yet, or a socket.
  func exchange(of id: ConnectionID) -> Exchange? { upgrades[id] ?? sockets[id] }

  /// Refuses a request that the rules do not get.
  ///
  /// - Parameter outcome: The reason, for the log.
  mutating func refuse(_ id: RequestID, _ refusal: HTTPRefusal, outcome: String) {
    requests[id]?.line.outcome = outcome
    respond(id, refusal.status, refusal.headers, refusal.bytes)
  }

  /// Refuses an upgrade that the rules do not get.
  mutating func refuse(_ id: ConnectionID, _ refusal: HTTPRefusal, outcome: String) {
    upgrades[id]?.line.outcome = outcome
    refuse(id, refusal.status, refusal.headers, refusal.bytes)
  }

  /// Answers a request. If its client has left, nothing is sent. A file is the body in place of
  /// `body`.
  mutating func respond(
    _ id: RequestID, _ status: Int, _ headers: [(String, String)], _ body: [UInt8],
    file: FileBody? = nil
  ) {
    requests[id]?.line.bytes = file?.count ?? body.count
    guard finish(id, status: status) else { return }
    hub.respond(to: id, status: status, headers: headers, body: body, file: file)
  }

  /// Sends an interim response to a request that was announced.
  func inform(_ id: RequestID, _ status: Int, _ headers: [(String, String)]) {
    hub.inform(id, status: status, headers: headers)
  }

  /// Ends an announced request that is not complete yet. The event `cut` follows.
  func interrupt(_ id: RequestID) { hub.interrupt(id) }

  /// Requests an event for the case that the client leaves before this request is answered.
  func watch(_ id: RequestID) {
    if requests[id] != nil { hub.noticeEnd(of: id) }
  }

  /// Begins a response that is written in pieces.
  ///
  /// The time until its beginning is that of the request in metrics. It may last for hours.
  mutating func begin(_ id: RequestID, _ headers: [(String, String)]) {
    guard let exchange = requests[id] else { return }
    requests[id]?.isCounted = true
    count(exchange, status: 200)
    hub.begin(id, status: 200, headers: headers)
  }

  mutating func write(_ id: RequestID, _ bytes: [UInt8]) {
    guard let exchange = requests[id] else { return }
    requests[id]?.line.bytes = (exchange.line.bytes ?? 0) + bytes.count
    hub.write(bytes, to: id)
  }

  mutating func end(_ id: RequestID) {
    if finish(id, status: 200) { hub.end(id) }
  }

  private mutating func finish(_ id: RequestID, status: Int) -> Bool {
    guard let exchange = requests.removeValue(forKey: id) else { return false }
    note(.request, exchange, status: status)
    if !exchange.isCounted { count(exchange, status: status) }
    return true
  }

  private mutating func count(_ exchange: Exchange, status: Int) {
    let elapsed = exchange.since.duration(to: now)
    answered.answered(exchange.line.route ?? "", status: status, after: elapsed)
  }

  /// Removes a request whose client has left. Returns the event that reports this to the service.
  mutating func abandon(_ id: RequestID) -> ServiceEvent<S.Route>? {
    if let exchange = requests.removeValue(forKey: id) {
      note(.abandoned, exchange)
      return .abandoned(id)
    }
    guard let (connection, exchange) = upgrades.first(where: { $0.value.request == id }) else {
      return nil
    }
    upgrades[connection] = nil
    note(.abandoned, exchange)
    return .closed(connection, code: 1006)
  }

  private func note(_ event: LogLine.Event, _ exchange: Exchange, status: Int? = nil) {
    var line = exchange.line
    line.event = line.event == .admin ? .admin : event
    line.status = status
    if line.event == .admin { line.outcome = LogLine.outcome(of: status) }
    line.elapsed = exchange.since.duration(to: now)
    if line.method == "HEAD", status != nil { line.bytes = 0 }
    log.note(line)
  }
}

// MARK: - Sockets

extension ServiceContext {
  func owns(_ id: ConnectionID) -> Bool { sockets[id] != nil }

  /// Completes an upgrade. The header fields are added to the response.
  mutating func accept(_ id: ConnectionID, _ headers: [(String, String)] = []) {
    guard var exchange = upgrades.removeValue(forKey: id) else { return }
    note(.opened, exchange, status: 101)
    exchange.since = now
    sockets[id] = exchange
    hub.accept(exchange.request, headers: headers, bounds: exchange.bounds)
  }

  /// Answers an upgrade with a plain response.
  mutating func refuse(
    _ id: ConnectionID, _ status: Int, _ headers: [(String, String)], _ body: [UInt8]
  ) {
    guard var exchange = upgrades.removeValue(forKey: id) else { return }
    exchange.line.bytes = body.count
    note(.refused, exchange, status: status)
    count(exchange, status: status)
    hub.respond(to: exchange.request, status: status, headers: headers, body: body)
  }

  /// Sends a close frame after the queued messages, and logs the closure.
  func close(_ id: ConnectionID, _ closure: Closure) {
    var line = sockets[id]?.line ?? LogLine(.closing)
    line.event = .closing
    line.connection = id.number
    (line.code, line.detail) = (closure.code, closure.reason)
    log.note(line)
    hub.close(id, code: closure.code, reason: closure.reason)
  }

  /// Removes a socket that has ended. Returns its close code.
  mutating func closed(_ id: ConnectionID, _ ending: SocketEnding) -> UInt16 {
    let exchange = sockets.removeValue(forKey: id)
    var line = exchange?.line ?? LogLine(.closed)
    line.event = .closed
    line.connection = id.number
    (line.code, line.detail) = (ending.code, ending.detail)
    line.elapsed = exchange?.since.duration(to: now)
    log.note(line)
    return ending.code
  }
}

extension Closure {
  /// The close frame of a service that another node may run now (IANA registry of close codes).
  fileprivate static let elsewhere = Closure(1012, "this node no longer runs the service")
}

extension SocketEnding {
  /// The close code (RFC 6455 section 7.1.5). It is 1006 if no close frame was received.
  fileprivate var code: UInt16 {
    switch self {
    case .peerClosed(let code, _), .closed(let code, _), .violation(let code, _): code
    case .ended, .reset, .dropped: 1006
    case .stopped: 1001
    }
  }

  fileprivate var detail: String? {
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

// MARK: - The store, and other slow work

extension ServiceContext {
  /// Writes changes to the store at once or, if the store is busy, together with others afterwards.
  mutating func write(_ writes: [S.Write]) {
    switch writeQueue {
    case .idle: commit(writes)
    case .busy(var waiting):
      writeQueue = .idle
      waiting += writes
      writeQueue = .busy(waiting: waiting)
    }
  }

  private mutating func commit(_ writes: [S.Write]) {
    writeQueue = .busy(waiting: [])
    let store = store
    guard let inject else { return }
    let log = log
    hub.start {
      let began = BootClock().now
      let stored = await S.commit(writes, to: store)
      let elapsed = began.duration(to: BootClock().now)
      log.note(failuresOf: stored)
      inject { $0.committed(stored, after: elapsed) }
    }
  }

  /// Counts a commit for metrics.
  mutating func noteCommit(_ elapsed: Duration) { commits.add(elapsed) }

  /// Adds the counts of the service's requests and commits to the backend's page.
  func report(to page: inout MetricsPage) {
    page.requests.add(answered)
    if commits.count > 0 { page.commits[S.metricsName] = commits }
  }

  /// Writes the waiting changes. This happens before the rules receive the last results, so that
  /// the disk stays busy.
  mutating func commitNext() {
    guard case .busy(let waiting) = writeQueue else { return }
    writeQueue = .idle
    if !waiting.isEmpty { commit(waiting) }
  }

  /// Runs work outside the loop, on the shared threads or, if it waits for files, on a queue. Its
  /// result is passed to the rules as an input.
  func start(
    on queue: FileQueue? = nil, _ work: @escaping @Sendable () async -> Stored<S.Rules.Input>
  ) {
    guard let inject else { return }
    let log = log
    Task.detached(executorPreference: queue) {
      let stored = [await work()]
      log.note(failuresOf: stored)
      inject { $0.take(stored) }
    }
  }

  /// Returns a function that passes an input to the rules from any thread; `nil` if the service has
  /// ended.
  func entrance() -> (@Sendable (S.Rules.Input) -> Void)? {
    guard let inject else { return nil }
    return { input in inject { $0.feed(input) } }
  }
}

extension BackendLog {
  fileprivate func note<Input>(failuresOf stored: [Stored<Input>]) {
    for failure in stored.compactMap(\.failure) { note(.storeFailure, "\(failure)") }
  }
}
