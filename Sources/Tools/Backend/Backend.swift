import LinkProtocols
public import LinkRuntime
import LinkServerCore
public import LinkWire
import ServerSockets
import StoreSQLite

/// The backend of shop messages as one process part: sockets, rules, message log, tokens, its
/// files.
///
/// Started once and stopped once; a second life is a second value over the same directory.
public actor Backend {
  private enum State {
    case made
    case starting
    case running(Running)
    case stopped
  }

  private struct Running {
    var sockets: SocketServer<ShopHandler>
    var store: any MessageLog
    var tokens: Tokens
    var removed: Set<Membership>
  }

  private let configuration: BackendConfiguration
  private let removals: RemovalsFile
  private let log: BackendLog
  private let givenStore: (any MessageLog)?
  private var state = State.made

  /// Prepares a backend; nothing is opened before `start`.
  ///
  /// Keeps its messages in `store` when one is given, else where the configuration says.
  public init(_ configuration: BackendConfiguration, store: (any MessageLog)? = nil) {
    self.configuration = configuration
    removals = RemovalsFile(directory: configuration.dataDirectory)
    log = BackendLog(sink: configuration.log)
    givenStore = store
  }

  /// Takes its port, opens its files and listens.
  ///
  /// Throws what kept it from doing so; then nothing stays open, and without a port or a usable
  /// certificate no file was made.
  public func start() async throws(BackendError) -> BoundAddress {
    guard case .made = state else { throw .alreadyStarted }
    state = .starting
    do throws(BackendError) {
      return try await begin()
    } catch {
      state = .stopped
      throw error
    }
  }

  /// Signs a token for this backend; throws `.notRunning` before `start`.
  public func issueToken(
    user: String, name: String, shops: [ShopID], ttl: Duration
  ) throws(BackendError) -> String {
    try running().tokens.issue(user: user, name: name, shops: shops, ttl: ttl)
  }

  /// Takes a user out of a shop, whatever the user's tokens say, and remembers it on disk.
  public func removeMember(_ user: String, of shop: ShopID) throws(BackendError) {
    let membership = Membership(shop: shop, user: user)
    let removed = try running().removed.union([membership])
    try removals.write(removed.sorted())
    try adopt(removed)
  }

  /// Lets a removed user in again.
  public func readmitMember(_ user: String, to shop: ShopID) throws(BackendError) {
    let removed = try running().removed.subtracting([Membership(shop: shop, user: user)])
    try removals.write(removed.sorted())
    try adopt(removed)
  }

  /// Reads the list of removed members again.
  ///
  /// Throws `.file` if it is bad; then the old list stays in force, and the log says so too.
  public func reload() throws(BackendError) {
    _ = try running()
    let removed: [Membership]
    do {
      removed = try removals.read()
    } catch {
      var line = LogLine(.reloadFailed)
      line.detail = error.description
      log.note(line)
      throw error
    }
    try adopt(Set(removed))
  }

  /// Goes away politely: warns, closes with 1001 after the grace, then stops.
  ///
  /// Returns when nothing is open any more, after about 11 seconds at the latest.
  public func drainAndStop() async {
    guard case .running(let running) = state else { return }
    state = .stopped
    log.note(LogLine(.draining))
    let window = configuration.drainWindow
    await withCheckedContinuation { (finished: CheckedContinuation<Void, Never>) in
      running.sockets.inject { handler, hub in
        handler.whenFinished = { finished.resume() }
        handler.feed(.drain(within: window), on: hub)
      }
    }
    await end(running, within: .seconds(1))
  }

  /// Stops as a crash would: every connection is cut without a word.
  public func kill() async {
    guard case .running(let running) = state else { return }
    state = .stopped
    await running.sockets.run { handler, hub in
      for id in handler.listeners.keys.sorted() { hub.drop(id.socket) }
    }
    await end(running, within: .zero)
  }

  private func begin() async throws(BackendError) -> BoundAddress {
    let port = try takePort()
    let tokens = try openTokens()
    let removed = Set(try removals.read())
    let store = try await openStore()
    do throws(BackendError) {
      return try await listen(on: port, tokens: tokens, removed: removed, store: store)
    } catch {
      await store.close()
      throw error
    }
  }

  private func takePort() throws(BackendError) -> BoundPort {
    do {
      return try BoundPort(configuration.sockets)
    } catch {
      throw error.asBackendError
    }
  }

  private func openTokens() throws(BackendError) -> Tokens {
    guard let secret = configuration.secret else {
      return try Tokens.open(in: configuration.dataDirectory)
    }
    guard let tokens = Tokens(secret: secret) else {
      throw .file(path: "the given secret", detail: "has less than 32 bytes")
    }
    return tokens
  }

  private func openStore() async throws(BackendError) -> any MessageLog {
    if let givenStore { return givenStore }
    let database =
      configuration.database
      ?? BackendConfiguration.Database(directory: configuration.dataDirectory, name: "messages")
    do {
      return try await SQLiteMessageLog.open(
        in: database.directory, named: database.name, newEpoch: configuration.beginsNewEpoch)
    } catch {
      throw .store(error)
    }
  }

  private func listen(
    on port: consuming BoundPort, tokens: Tokens, removed: Set<Membership>,
    store: any MessageLog
  ) async throws(BackendError) -> BoundAddress {
    let number = port.number
    let sockets = try await openSockets(on: port, tokens: tokens, removed: removed, store: store)
    state = .running(Running(sockets: sockets, store: store, tokens: tokens, removed: removed))
    let address = BoundAddress(
      host: configuration.host, port: number, isSecure: configuration.certificate != nil)
    var line = LogLine(.listening)
    line.detail = address.url
    log.note(line)
    return address
  }

  private func openSockets(
    on port: consuming BoundPort, tokens: Tokens, removed: Set<Membership>,
    store: any MessageLog
  ) async throws(BackendError) -> SocketServer<ShopHandler> {
    do throws(SocketServerError) {
      let sockets = try SocketServer(
        configuration.sockets,
        handler: ShopHandler(configuration.policy, tokens: tokens, store: store, log: log))
      await sockets.run { handler, hub in
        handler.begin(at: hub.now) { sockets.inject($0) }
      }
      // Before it listens, so that no removed member slips in first.
      inject(.removals(removed.sorted()), into: sockets)
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

  private func end(_ running: Running, within grace: Duration) async {
    await running.sockets.stop(within: grace)
    await running.sockets.run { handler, _ in handler.end() }
    await running.store.close()
    log.note(LogLine(.stopped))
    await log.finish()
  }

  private func running() throws(BackendError) -> Running {
    guard case .running(let running) = state else { throw .notRunning }
    return running
  }

  private func adopt(_ removed: Set<Membership>) throws(BackendError) {
    var running = try running()
    running.removed = removed
    state = .running(running)
    var line = LogLine(.removed)
    line.count = UInt64(removed.count)
    log.note(line)
    inject(.removals(removed.sorted()), into: running.sockets)
  }

  private func inject(_ input: ShopServer.Input, into sockets: SocketServer<ShopHandler>) {
    sockets.inject { handler, hub in handler.feed(input, on: hub) }
  }
}

extension BackendConfiguration {
  /// The same for the sockets.
  fileprivate var sockets: SocketServerConfiguration {
    var sockets = SocketServerConfiguration()
    sockets.host = host
    sockets.port = port
    sockets.tls = certificate.map {
      TLSFiles(certificatePath: $0.chainPath, keyPath: $0.keyPath)
    }
    sockets.webSocket.maxMessageBytes = maxClientMessageBytes
    sockets.maxQueuedBytes = maxQueuedBytes
    // One more than the rules allow, so that they can answer the next one.
    sockets.maxConnections = policy.maxConnections + policy.maxRequests
    sockets.maxConnectionsPerAddress = max(maxConnectionsPerAddress, 1)
    sockets.closeTimeout = policy.closeWait
    sockets.refusalBody = { status, detail in
      SocketServerConfiguration.RefusalBody(
        contentType: "application/json",
        bytes: Envelope.error(status: status, message: detail))
    }
    return sockets
  }
}

extension SocketServerError {
  fileprivate var asBackendError: BackendError {
    switch self {
    case .address(let host, let detail): .listen(detail: "\(host): \(detail)")
    case .bind(let host, let port, let errno):
      .listen(detail: "\(host) port \(port): \(PrivateFile.reason(of: errno))")
    case .tls(let detail): .certificate(detail: detail)
    case .system(let call, let errno):
      .listen(detail: "\(call): \(PrivateFile.reason(of: errno))")
    case .alreadyStarted: .alreadyStarted
    }
  }
}
