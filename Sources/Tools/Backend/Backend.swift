import LinkProtocols
public import LinkRuntime
public import LinkServerCore
public import LinkWire
import ServerSockets

/// A backend within the process: the sockets, the services with their stores, tokens, its files.
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
    var tokens: Tokens
    var services: [any Service]
    var removed: Set<Membership>
  }

  private let configuration: BackendConfiguration
  private let removals: RemovalsFile
  private let log: BackendLog
  private let messages: (any MessageLog)?
  private let relay: (any RelayStore)?
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
    messages = store
    self.relay = relay
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

  /// Calls the relay as an assistant at `address` does, without a socket.
  public func ask(
    _ ask: RelayAsk, bearer: String? = nil, from address: String = "process"
  ) async throws(BackendError) -> RelayOutcome {
    let sockets = try running().sockets
    return await withCheckedContinuation { caller in
      sockets.inject { handler, hub in
        let question = RelayService.Question(
          ask: ask, bearer: bearer.map(RelaySecrets.hash), address: address)
        handler.turn(on: hub) {
          $0.call(RelayService.self, question) { caller.resume(returning: $0) }
        }
      }
    }
  }

  /// Drains and stops: warns clients, closes with 1001 after the grace, then stops.
  ///
  /// Returns when nothing is open any more, after about 11 seconds at the latest.
  public func drainAndStop() async {
    guard case .running(let running) = state else { return }
    state = .stopped
    log.note(LogLine(.draining))
    let window = configuration.drainWindow
    await withCheckedContinuation { (finished: CheckedContinuation<Void, Never>) in
      running.sockets.inject { handler, hub in
        handler.drain(within: window, on: hub) { finished.resume() }
      }
    }
    await end(running, within: .seconds(1))
  }

  /// Stops as a crash would: every connection is cut without a word.
  public func kill() async {
    guard case .running(let running) = state else { return }
    state = .stopped
    await running.sockets.run { handler, hub in
      handler.dropSockets(on: hub)
    }
    await end(running, within: .zero)
  }

  private func begin() async throws(BackendError) -> BoundAddress {
    let port = try takePort()
    let number = port.number
    let tokens = try openTokens()
    let removed = Set(try removals.read())
    let setup = BackendSetup(
      configuration: configuration, tokens: tokens, log: log, messages: messages, relay: relay,
      pushes: pushes)
    let services = try await setup.open()
    do throws(BackendError) {
      let sockets = try await openSockets(on: port, services, removed: removed)
      let address = BoundAddress(
        host: configuration.host, port: number, isSecure: configuration.certificate != nil)
      state = .running(
        Running(sockets: sockets, tokens: tokens, services: services, removed: removed))
      var line = LogLine(.listening)
      line.detail = address.url
      log.note(line)
      return address
    } catch {
      await close(services)
      throw error
    }
  }

  private func close(_ services: [any Service]) async {
    for service in services { await service.close() }
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

  private func openSockets(
    on port: consuming BoundPort, _ services: [any Service], removed: Set<Membership>
  ) async throws(BackendError) -> SocketServer<BackendHandler> {
    do throws(SocketServerError) {
      let sockets = try SocketServer(
        configuration.sockets, handler: BackendHandler(services, log: log))
      await sockets.run { handler, hub in
        handler.begin(on: hub) { sockets.inject($0) }
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
    await close(running.services)
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
      handler.turn(on: hub) { $0.work(on: ShopService.self) { $0.feed(input) } }
    }
  }
}

extension BackendConfiguration {
  /// The configuration of the sockets.
  fileprivate var sockets: SocketServerConfiguration {
    var sockets = SocketServerConfiguration()
    sockets.host = host
    sockets.port = port
    sockets.tls = certificate.map {
      TLSFiles(certificatePath: $0.chainPath, keyPath: $0.keyPath)
    }
    sockets.webSocket.maxMessageBytes = maxClientMessageBytes
    sockets.http.bodyBytesByPath = maxBodyBytes
    sockets.maxQueuedBytes = maxQueuedBytes
    sockets.maxConnections = maxSockets
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
