import LinkProtocols
public import LinkRuntime
public import LinkServerCore
public import LinkWire
import ServerSockets
import StoreSQLite

/// The backend as one process part: sockets, the rules of shop messages and of the relay, their
/// stores, tokens, its files.
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
    var sockets: SocketServer<BackendHandler>
    var parts: Parts
    var removed: Set<Membership>
  }

  /// What is opened before it listens.
  private struct Parts {
    var tokens: Tokens
    var store: any MessageLog
    var relay: any RelayStore

    func close() async {
      await store.close()
      await relay.close()
    }
  }

  private let configuration: BackendConfiguration
  private let removals: RemovalsFile
  private let log: BackendLog
  private let givenStore: (any MessageLog)?
  private let givenRelay: (any RelayStore)?
  private let pushes: (any PushSender)?
  private var state = State.made

  /// Prepares a backend; nothing is opened before `start`.
  ///
  /// Keeps its messages in `store`, and what the relay needs in `relay`, when they are given, else
  /// where the configuration says. Phones in background are woken through `pushes`, if at all.
  public init(
    _ configuration: BackendConfiguration, store: (any MessageLog)? = nil,
    relay: (any RelayStore)? = nil, pushes: (any PushSender)? = nil
  ) {
    self.configuration = configuration
    removals = RemovalsFile(directory: configuration.dataDirectory)
    log = BackendLog(sink: configuration.log)
    givenStore = store
    givenRelay = relay
    self.pushes = pushes
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
    try running().parts.tokens.issue(user: user, name: name, shops: shops, ttl: ttl)
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

  /// Calls the relay as an assistant at `address` does, without a socket.
  public func ask(
    _ ask: RelayAsk, bearer: String? = nil, from address: String = "process"
  ) async throws(BackendError) -> RelayOutcome {
    let sockets = try running().sockets
    return await withCheckedContinuation { caller in
      sockets.inject { handler, hub in
        handler.turn(on: hub) {
          $0.ask(ask, bearer: bearer, from: address, on: hub) { caller.resume(returning: $0) }
        }
      }
    }
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
        handler.turn(on: hub) {
          $0.shop.feed(.drain(within: window), on: hub)
          $0.relay.feed(.drain(within: window), on: hub)
          $0.assistants.feed(.drain, on: hub)
        }
      }
    }
    await end(running, within: .seconds(1))
  }

  /// Stops as a crash would: every connection is cut without a word.
  public func kill() async {
    guard case .running(let running) = state else { return }
    state = .stopped
    await running.sockets.run { handler, hub in
      for id in handler.sockets { hub.drop(id.socket) }
    }
    await end(running, within: .zero)
  }

  private func begin() async throws(BackendError) -> BoundAddress {
    let port = try takePort()
    let tokens = try openTokens()
    let removed = Set(try removals.read())
    let store = try await openStore()
    let relay: any RelayStore
    do throws(BackendError) {
      relay = try await openRelay()
    } catch {
      await store.close()
      throw error
    }
    let parts = Parts(tokens: tokens, store: store, relay: relay)
    do throws(BackendError) {
      return try await listen(on: port, parts, removed: removed)
    } catch {
      await parts.close()
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

  private func openRelay() async throws(BackendError) -> any RelayStore {
    if let givenRelay { return givenRelay }
    do {
      return try await SQLiteRelayStore.open(in: configuration.dataDirectory)
    } catch {
      throw .store(error)
    }
  }

  private func listen(
    on port: consuming BoundPort, _ parts: Parts, removed: Set<Membership>
  ) async throws(BackendError) -> BoundAddress {
    let number = port.number
    let sockets = try await openSockets(on: port, parts, removed: removed)
    state = .running(Running(sockets: sockets, parts: parts, removed: removed))
    let address = BoundAddress(
      host: configuration.host, port: number, isSecure: configuration.certificate != nil)
    var line = LogLine(.listening)
    line.detail = address.url
    log.note(line)
    return address
  }

  private func openSockets(
    on port: consuming BoundPort, _ parts: Parts, removed: Set<Membership>
  ) async throws(BackendError) -> SocketServer<BackendHandler> {
    let kept: RelayKept
    do {
      kept = try await parts.relay.kept()
    } catch {
      throw .store(error)
    }
    do throws(SocketServerError) {
      let sockets = try SocketServer(configuration.sockets, handler: handler(parts))
      await sockets.run { handler, hub in
        handler.begin(with: kept, on: hub) { sockets.inject($0) }
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

  private func handler(_ parts: Parts) -> BackendHandler {
    let assistants = configuration.assistantsHere
    return BackendHandler(
      shop: ShopHandler(
        configuration.rules, tokens: parts.tokens, store: parts.store, log: log),
      relay: RelayHandler(
        configuration.relay, doors: assistants.doors, store: parts.relay, pushes: pushes, log: log),
      assistants: MCPHandler(assistants, log: log))
  }

  private func end(_ running: Running, within grace: Duration) async {
    await running.sockets.stop(within: grace)
    await running.sockets.run { handler, _ in handler.end() }
    await running.parts.close()
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

  private func inject(_ input: ShopServer.Input, into sockets: SocketServer<BackendHandler>) {
    sockets.inject { handler, hub in
      handler.turn(on: hub) { $0.shop.feed(input, on: hub) }
    }
  }
}

extension BackendConfiguration {
  /// The same for the rules: what goes to a socket in one go leaves room in its queue.
  fileprivate var rules: ShopServerPolicy {
    var rules = policy
    rules.maxArrearsBytes = min(rules.maxArrearsBytes, maxQueuedBytes / 2)
    rules.maxCommitBytes = min(rules.maxCommitBytes, maxQueuedBytes / 4)
    return rules
  }

  /// The same for the sockets.
  fileprivate var sockets: SocketServerConfiguration {
    var sockets = SocketServerConfiguration()
    sockets.host = host
    sockets.port = port
    sockets.tls = certificate.map {
      TLSFiles(certificatePath: $0.chainPath, keyPath: $0.keyPath)
    }
    sockets.webSocket.maxMessageBytes = maxClientMessageBytes
    sockets.http.bodyBytesByPath = [RelayRoute.results.path: RelayRoute.maxResultBytes]
    sockets.maxQueuedBytes = maxQueuedBytes
    // One more than the rules allow, so that they can answer the next one.
    sockets.maxConnections = policy.maxConnections + policy.maxRequests + relay.maxSockets
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
