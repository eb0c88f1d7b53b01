import Foundation
public import HoldfastCore
public import HoldfastFeaturePorts
import HoldfastJSON
import HoldfastMessageServer
import HoldfastOwnerFiles
public import HoldfastPorts
import HoldfastPostgreSQLStores
import HoldfastProtocols
import HoldfastSQLiteStores
import HoldfastServerData
import HoldfastServerParts
import HoldfastServerSockets
import Synchronization

/// A backend in this process, which consists of its sockets and its services with their stores and
/// files.
///
/// A backend is started once and stopped once. To restart it, create a new value for the same
/// directory.
public actor Backend {
  enum State {
    case made
    case starting
    case running(Running)
    case stopped
  }

  struct Running {
    var sockets: SocketServer<BackendHandler>
    var services: [any Service]
    var access: BackendAccess
  }

  nonisolated let configuration: BackendConfiguration
  nonisolated let log: BackendLog
  private let stores: [any SuspendableStore]
  private let pushes: (any PushSender)?
  var state = State.made
  /// The watch over the files of the certificate; `nil` without TLS.
  var certificate: CertificateWatch?
  /// The period of a drain, if it was changed since the start.
  var changedDrainWindow: Duration?
  /// The part that several nodes over one database have; `nil` over SQLite files.
  var membership: NodeMembership?
  /// Whether a drain has begun, or an operator has asked for one. A second signal would cut it short.
  nonisolated let isEnding = Atomic(false)
  /// The erasures; `nil` if nobody can ask for them.
  var adminWork: AdminWork?
  /// The removal of old messages; `nil` if all are kept.
  private var keeper: MessageKeeper?

  /// Creates a backend. Nothing is opened before `start`.
  ///
  /// - Parameters:
  ///   - stores: The stores to use instead of the SQLite files. Each replaces the file of the
  ///     service whose port it implements.
  ///   - pushes: The sender that wakes phones in the background; `nil` for none.
  public init(
    _ configuration: BackendConfiguration, stores: [any SuspendableStore] = [],
    pushes: (any PushSender)? = nil
  ) {
    self.configuration = configuration
    log = BackendLog(
      format: configuration.logFormat, level: configuration.logLevel,
      view: LogView(
        addresses: configuration.logAddresses, sample: configuration.logSample,
        proxies: configuration.proxies),
      sink: configuration.log)
    (self.stores, self.pushes) = (stores, pushes)
  }

  /// Binds the port, opens the files and begins to listen.
  ///
  /// If this method throws an error, everything is closed again. Files are created only after the
  /// port is bound and the certificate has been checked.
  public func start() async throws(BackendError) -> BoundAddress {
    guard case .made = state else { throw .alreadyStarted }
    state = .starting
    do throws(BackendError) {
      return try await begin()
    } catch {
      await membership?.close()
      state = .stopped
      throw error
    }
  }

  /// Warns clients, closes their connections with code 1001 after the grace period, and then stops.
  ///
  /// The call returns when everything is closed, after at most about 11 seconds, or 13 if the
  /// operator's backend does not take the reports about ended sockets.
  public func drainAndStop() async {
    guard case .running(let running) = state else { return }
    state = .stopped
    isEnding.store(true, ordering: .relaxed)
    await certificate?.stop()
    // An erasure may wait for a disk or for another node, and clients are to be warned at once.
    let work = adminWork
    async let erasures: Void? = work?.stop()
    await keeper?.stop()
    await membership?.stopFollowing()
    log.note(.draining)
    let window = changedDrainWindow ?? configuration.drainWindow
    await withCheckedContinuation { (finished: CheckedContinuation<Void, Never>) in
      running.sockets.inject { handler, hub in
        handler.drain(within: window, on: hub) { finished.resume() }
      }
    }
    _ = await erasures
    await deliverReports(of: running.sockets)
    await end(running, within: .seconds(1))
  }

  /// Waits for a limited time until the operator's backend has got the reports about ended sockets.
  private func deliverReports(of sockets: SocketServer<BackendHandler>) async {
    let end = BootClock().now.advanced(by: configuration.reportLimit)
    while BootClock().now < end, await sockets.run({ handler, _ in handler.hasReports }) {
      try? await BootClock().wait(until: BootClock().now.advanced(by: .milliseconds(10)))
    }
  }

  /// Stops the backend as in a crash: every connection is cut without a close frame.
  public func kill() async {
    guard case .running(let running) = state else { return }
    state = .stopped
    await certificate?.stop()
    await adminWork?.stop()
    await keeper?.stop()
    await membership?.stopFollowing()
    await running.sockets.run { handler, hub in
      handler.dropSockets(on: hub)
    }
    await end(running, within: .zero)
  }

  /// Returns once the loop of the sockets has run a call, which shows that it still turns.
  ///
  /// - Throws: `.notRunning` if the backend is not running.
  public func turn() async throws(BackendError) {
    try await sockets().run { _, _ in }
  }

  /// Returns the sockets, on whose loop the services run.
  ///
  /// - Throws: `.notRunning` if the backend is not running.
  func sockets() throws(BackendError) -> SocketServer<BackendHandler> {
    guard case .running(let running) = state else { throw .notRunning }
    return running.sockets
  }

  /// Returns the counts of the loop's thread so far.
  ///
  /// - Throws: `.notRunning` if the backend is not running.
  package func threadCounters() throws(BackendError) -> ThreadCounters {
    try sockets().threadCounters
  }

  /// Returns what tells the users of the backend.
  ///
  /// - Throws: `.notRunning` if the backend is not running.
  func access() throws(BackendError) -> BackendAccess {
    guard case .running(let running) = state else { throw .notRunning }
    return running.access
  }

  private func begin() async throws(BackendError) -> BoundAddress {
    try demandDescriptors()
    if let files = configuration.certificate {
      certificate = try CertificateWatch(files, log: log)
    }
    try prepareAdminSocket()
    let port = try takePort()
    let nodes = port.endpoint(of: .nodes)
    let hooks = try configuration.hooks.open(configuration.hookClient)
    var address = BoundAddress(
      host: configuration.host, addresses: port.addresses, port: port.number,
      isSecure: configuration.certificate != nil, nodes: nodes?.description,
      metrics: configuration.metricsAddress.map {
        port.endpoint(of: .metrics).map { "http://\($0)/metrics" } ?? $0
      })
    address.admin = adminAddress(on: port)
    var setup = BackendSetup(
      configuration: configuration, log: log, stores: stores, pushes: pushes)
    try await openDatabase(for: &setup, nodes: nodes)
    let services = try await setup.open()
    do throws(BackendError) {
      // A move may have ended before the files were locked.
      if membership == nil { try demandFiles() }
      let sockets = try await openSockets(on: port, services, hooks, setup.access.tokens.value)
      state = .running(Running(sockets: sockets, services: services, access: setup.access))
      await follow(sockets, services, setup)
      log.note(.listening, address.listensOn)
      if !configuration.inherited.isEmpty { log.note(.inherited, configuration.inherited.summary) }
      if address.isExposed {
        log.note(.exposed, "other machines can connect, and nothing is encrypted without TLS")
      }
      noteDescriptors()
      return address
    } catch {
      for service in services { await service.close() }
      throw error
    }
  }

  /// Opens the stores in PostgreSQL, if the configuration names a database.
  ///
  /// - Parameter nodes: The address for other nodes.
  private func openDatabase(
    for setup: inout BackendSetup, nodes: SocketEndpoint?
  ) async throws(BackendError) {
    guard let url = configuration.databaseURL else { return try demandFiles() }
    let membership = try await NodeMembership.open(url, configuration, address: nodes)
    self.membership = membership
    let (stores, images) = try await membership.stores(
      newEpoch: configuration.beginsNewEpoch)
    setup.stores += stores
    setup.storedImages = images
    setup.nodes = membership.bus
    setup.runsServicesOfOneNode = membership.node.holdsRole
  }

  /// Throws an error if the files of the data directory are being moved, or were moved away.
  private func demandFiles() throws(BackendError) {
    let directory = configuration.dataDirectory
    let files = FileManager.default
    guard
      !files.fileExists(atPath: "\(directory)/node")
        || files.fileExists(atPath: "\(directory)/messages.sqlite")
    else {
      throw .store(
        .denied(
          detail: "\(directory) is the data directory of a node over PostgreSQL. Name the database "
            + "(--database), or remove its file node to serve files."))
    }
    do throws(StoreFailure) {
      guard let note = try SQLiteStores.note(in: directory) else { return }
      throw .denied(detail: note.refusal(of: directory))
    } catch {
      throw .store(error)
    }
  }

  /// Throws `.descriptors` if the backend cannot work with so few.
  private func demandDescriptors() throws(BackendError) {
    guard let limit = configuration.descriptorLimit,
      case .tooFew(let least) = configuration.descriptorVerdict
    else { return }
    throw .descriptors(limit: limit, least: least)
  }

  /// Logs that the ceilings need more descriptors than there are, or were lowered because of that.
  private func noteDescriptors() {
    if let lowered = configuration.loweredCeilings { log.note(.ceilingsLowered, lowered) }
    guard let limit = configuration.descriptorLimit,
      case .few(let need) = configuration.descriptorVerdict
    else { return }
    log.note(.fewDescriptors, "the limit is \(limit), and the ceilings need \(need)")
  }

  private func takePort() throws(BackendError) -> BoundPort {
    do {
      return try BoundPort(configuration.sockets)
    } catch {
      throw error.asBackendError
    }
  }

  private func openSockets(
    on port: consuming BoundPort, _ services: [any Service], _ hooks: HookCaller?,
    _ authority: TokenAuthority?
  ) async throws(BackendError) -> SocketServer<BackendHandler> {
    let admin = try openAdmin()
    keeper = try await openKeeper(services)
    do throws(SocketServerError) {
      let sockets = try SocketServer(
        configuration.sockets,
        handler: BackendHandler(
          places(of: services), log: log, checkLimit: configuration.checkLimit,
          passage: membership?.passage, figures: membership?.figures,
          reading: ProcessReading(configuration), certificate: certificate, hooks: hooks,
          admin: admin, authority: authority, keeper: keeper))
      await sockets.run { handler, hub in
        handler.begin(on: hub) { sockets.inject($0) }
      }
      do throws(SocketServerError) {
        try await sockets.start(on: port)
        return sockets
      } catch {
        await sockets.run { handler, _ in handler.end() }
        throw error
      }
    } catch {
      throw error.asBackendError
    }
  }

  /// Begins what goes on beside the services.
  private func follow(
    _ sockets: SocketServer<BackendHandler>, _ services: [any Service], _ setup: BackendSetup
  ) async {
    certificate?.follow(self, every: configuration.certificateInterval)
    await beginAdmin(sockets, services, setup)
    keeper?.follow()
    membership?.follow(self, setup)
  }

  /// Returns the places of all services, of which another node may run some.
  private func places(of services: [any Service]) -> [BackendHandler.Place] {
    backendServices.map { type in
      let service = services.first { Swift.type(of: $0) == type }
      return service.map { .service($0) } ?? .absent(type)
    }
  }

  private func end(_ running: Running, within grace: Duration) async {
    await running.sockets.stop(within: grace)
    await running.sockets.run { handler, _ in handler.end() }
    for service in running.services { await service.close() }
    await membership?.close()
    log.note(.stopped)
    await log.finish()
  }
}

extension BackendConfiguration {
  /// The further addresses, of which sockets of the service manager may replace some.
  var furtherListeners: [ListenerKind: ListenerAddress] {
    var all = inherited.others.mapValues { ListenerAddress.inherited(descriptor: $0) }
    all[.nodes] = nodeAddress.flatMap { SocketEndpoint($0) }.map { .tcp($0) }
    all[.metrics] = all[.metrics] ?? metricsAddress.flatMap { ListenerAddress(operators: $0) }
    all[.admin] = all[.admin] ?? admin?.listener
    return all
  }

  /// The configuration of the sockets.
  fileprivate var sockets: SocketServerConfiguration {
    var sockets = SocketServerConfiguration()
    sockets.host = host
    sockets.port = port
    (sockets.inherited, sockets.furtherListeners) = (inherited.clients, furtherListeners)
    sockets.tls = certificate?.files
    sockets.webSocket.maxMessageBytes = maxClientMessageBytes
    sockets.http.bodyBytesByPath = maxBodyBytes
    sockets.http.announcedPaths = announcedPaths
    sockets.maxQueuedBytes = maxQueuedBytes
    sockets.maxConnections = maxSockets
    sockets.maxConnectionsPerAddress = max(maxConnectionsPerAddress, 1)
    sockets.isUncounted = { [proxies] in proxies.contains($0) }
    sockets.closeTimeout = policy.closeWait
    if let stepLimit { sockets.limitSteps(to: stepLimit) }
    sockets.refusalBody = { status, detail in
      SocketServerConfiguration.RefusalBody(
        contentType: "application/json",
        bytes: Envelope.error(status: status, message: detail))
    }
    return sockets
  }
}

extension SocketServerError {
  var asBackendError: BackendError {
    switch self {
    case .address(let host, let detail): .listen(detail: "\(host): \(detail)")
    case .bind(let host, let port, let errno):
      // The path of a Unix domain socket has no port.
      .listen(
        detail: (host.contains("/") ? host : "\(host) port \(port)")
          + ": \(SystemCall.reason(of: errno))")
    case .tls(let detail): .certificate(detail: detail)
    case .system(let call, let errno):
      .listen(detail: "\(call): \(SystemCall.reason(of: errno))")
    case .alreadyStarted: .alreadyStarted
    }
  }
}

/// The reason why a backend could not start or could not store its files. It never contains a
/// secret.
public enum BackendError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The backend cannot listen on the address.
  case listen(detail: String)
  /// The certificate or its key cannot be used.
  case certificate(detail: String)
  /// A store cannot be opened.
  case store(StoreFailure)
  /// The sockets that the service manager has passed cannot be used.
  case inherited(detail: String)
  /// A file of the data directory cannot be read or written.
  case file(path: String, detail: String)
  /// A file with a secret can be read or written by users other than its owner.
  case openToOthers(path: String)
  /// A file does not contain a valid session key.
  case key(path: String, detail: String)
  /// The program that wakes phones cannot be executed.
  case hook(path: String, detail: String)
  /// The limit on open descriptors is below the smallest with which a backend works.
  case descriptors(limit: UInt64, least: Int)
  /// The backend has already been started. Each value can be started only once.
  case alreadyStarted
  /// The backend has not been started, or it has stopped.
  case notRunning

  /// A human-readable description of the cause.
  public var description: String {
    switch self {
    case .listen(let detail): "cannot listen: \(detail)"
    case .certificate(let detail): "the certificate cannot be used: \(detail)"
    case .inherited(let detail): "the service manager has passed \(detail)"
    case .store(let failure): "cannot open the store: \(failure)"
    case .file(let path, let detail): "\(path): \(detail)"
    case .openToOthers(let path):
      "\(path): users other than its owner can read or change this secret"
    case .key(let path, let detail): "\(path): \(detail)"
    case .hook(let path, let detail): "the push hook \(path) cannot be run: \(detail)"
    case .descriptors(let limit, let least):
      "the limit on open descriptors is \(limit), and a backend needs at least \(least)"
    case .alreadyStarted: "the backend has already been started"
    case .notRunning: "the backend is not running"
    }
  }
}
