import Glibc
public import HoldfastCore
import Synchronization

/// An HTTP and WebSocket server on one thread, which is also the executor of this actor.
///
/// A server that was started stays in memory until `stop`.
public actor SocketServer<Handler: SocketHandler> {
  private typealias Input = @Sendable (inout Handler, SocketHub) -> Void

  private enum State {
    case made
    case running
    case stopping([CheckedContinuation<Void, Never>])
    case stopped
  }

  private nonisolated let loop: EventLoop
  private nonisolated let inputs = Mutex<[Input]?>([])
  private let hub: SocketHub
  private var handler: Handler
  private var state = State.made

  /// Creates a server that does not listen yet. Starts its thread and reads its certificate.
  public init(
    _ configuration: SocketServerConfiguration, handler: sending Handler
  ) throws(SocketServerError) {
    loop = try EventLoop()
    hub = try SocketHub(configuration, on: loop)
    self.handler = handler
  }

  /// The counts of the loop's thread so far.
  package nonisolated var threadCounters: ThreadCounters { loop.counters }

  /// The executor that runs the actor on the loop's thread.
  public nonisolated var unownedExecutor: UnownedSerialExecutor {
    unsafe loop.asUnownedSerialExecutor()
  }

  /// Starts serving clients that connect to a bound port.
  public func start(on port: consuming BoundPort) throws(SocketServerError) {
    guard case .made = state else { throw .alreadyStarted }
    hub.now = Clock.now
    try hub.listen(on: port)
    state = .running
    loop.drive(with: { self.assumeIsolated { $0.turn() } })
  }

  /// Uses another certificate for connections that are accepted from now on.
  ///
  /// Open connections keep theirs. Sessions of the former certificate are not resumed. The call has
  /// no effect on a server without TLS.
  public func replaceTLS(with context: sending TLSContext) {
    guard hub.tls != nil else { return }
    hub.tls = context
  }

  /// Stops listening, closes WebSockets with code 1001, and sends pending responses.
  ///
  /// Connections that remain after `grace` are closed. When the method returns, all connections are
  /// closed and the handler has received their events.
  public func stop(within grace: Duration = .zero) async {
    switch state {
    case .made:
      state = .stopped
      return
    case .stopped: return
    case .running:
      hub.now = Clock.now
      hub.beginStopping(until: hub.now.advanced(by: grace))
      state = .stopping([])
    case .stopping: break
    }
    await withCheckedContinuation { waiter in
      guard case .stopping(let waiters) = state else { return waiter.resume() }
      state = .stopping(waiters + [waiter])
    }
  }

  /// Runs `input` on the loop, in the order of the calls.
  ///
  /// Inputs wait until `start` is called. After the server has stopped, they are discarded.
  public nonisolated func inject(
    _ input: @escaping @Sendable (inout Handler, SocketHub) -> Void
  ) {
    inputs.withLock { $0?.append(input) }
    // The loop looks for inputs before it waits.
    if loop.isIsolatingCurrentContext() != true { loop.wake() }
  }

  /// Runs `body` on the loop and returns its result.
  public func run<Result: Sendable>(
    _ body: @Sendable (inout Handler, SocketHub) -> Result
  ) -> Result {
    hub.now = Clock.now
    return body(&handler, hub)
  }

  private func turn() {
    drain()
    hub.wait(mayWait: !hasInputs && !loop.hasNews)
    drain()
    guard case .stopping(let waiters) = state, hub.hasStopped else { return }
    hub.cutAll()
    drain()
    state = .stopped
    inputs.withLock { $0 = nil }
    loop.drive(with: nil)
    for waiter in waiters { waiter.resume() }
  }

  /// The maximum number of times that inputs follow inputs before responses are written. Without it,
  /// inputs that arrive as fast as they are handled would keep the sockets from their turn.
  private static var mostRounds: Int { 32 }

  /// Delivers inputs and events to the handler, and then writes its responses, until no events
  /// remain.
  private func drain() {
    repeat {
      for _ in 0..<Self.mostRounds {
        let (inputs, events) = (takeInputs(), hub.takeEvents())
        if inputs.isEmpty, events.isEmpty { break }
        for input in inputs { input(&handler, hub) }
        for event in events { handler.handle(event, on: hub) }
      }
      hub.flush()
    } while hub.hasEvents
  }

  private var hasInputs: Bool { inputs.withLock { $0?.isEmpty == false } }

  private func takeInputs() -> [Input] {
    inputs.withLock { inputs in
      guard let taken = inputs else { return [] }
      inputs = []
      return taken
    }
  }
}

/// A port that is bound for a server. Clients that connect to it wait until a server is started on
/// it.
///
/// The port is created before the other resources of a server, so that nothing else starts if the
/// server cannot listen.
public struct BoundPort: ~Copyable, Sendable {
  let listeners: [Listener]

  /// Reads the certificate, if there is one, and binds the port. The port is released together with
  /// this value.
  ///
  /// The call blocks while a host name is resolved.
  public init(_ configuration: SocketServerConfiguration) throws(SocketServerError) {
    if let files = configuration.tls { _ = try TLSContext(files) }
    var listeners = try Self.listen(configuration)
    for kind in ListenerKind.allCases {
      guard let address = configuration.furtherListeners[kind] else { continue }
      listeners += try Self.listen(address, kind)
    }
    self.listeners = listeners
  }

  /// The port number, even if the kernel selected it.
  public var number: UInt16 { listeners.first?.port ?? 0 }

  /// Returns the TCP address for a purpose, with the port even if the kernel selected it; `nil` for
  /// none.
  public func endpoint(of kind: ListenerKind) -> SocketEndpoint? {
    listeners.first { $0.kind == kind }.flatMap { Self.endpoint(of: $0.descriptor) }
  }

  /// Returns the TCP address that a socket is bound to; `nil` for a socket of another kind.
  public static func endpoint(of descriptor: Int32) -> SocketEndpoint? {
    guard let local = SocketAddress.local(of: descriptor), local.address != nil,
      let host = local.text
    else { return nil }
    return SocketEndpoint(host: host, port: local.port)
  }

  /// The addresses that the port listens on.
  public var addresses: [NetworkAddress] {
    listeners.filter { $0.kind == .clients }.compactMap {
      SocketAddress.local(of: $0.descriptor)?.address
    }
  }

  /// Listens on all addresses. A port that the kernel selected for one address family may be in use
  /// in the other. The kernel then selects another port.
  private static func listen(
    _ configuration: SocketServerConfiguration
  ) throws(SocketServerError) -> [Listener] {
    guard configuration.inherited.isEmpty else {
      var listeners: [Listener] = []
      for descriptor in configuration.inherited {
        listeners.append(try Listener(inherited: descriptor, .clients))
      }
      return listeners
    }
    let host = configuration.host
    let addresses = try SocketAddress.resolve(host, port: configuration.port)
    for _ in 0..<8 where configuration.port == 0 {
      do throws(SocketServerError) { return try Listener.all(addresses, host: host) } catch {
        guard case .bind(_, _, EADDRINUSE) = error else { throw error }
      }
    }
    return try Listener.all(addresses, host: host)
  }

  private static func listen(
    _ address: ListenerAddress, _ kind: ListenerKind
  ) throws(SocketServerError) -> [Listener] {
    switch address {
    case .tcp(let endpoint):
      let addresses = try SocketAddress.resolve(endpoint.host, port: endpoint.port)
      return try Listener.all(addresses, host: endpoint.host, kind)
    case .unix(let path): return [try Listener(path: path, kind)]
    case .inherited(let descriptor): return [try Listener(inherited: descriptor, kind)]
    }
  }
}

/// The reason why a server could not be created or started.
public enum SocketServerError: Error, Sendable, Equatable {
  /// The host is not an address of this machine. `detail` is the resolver's message.
  case address(host: String, detail: String)
  /// The port could not be bound. `errno` is that of bind(2) or listen(2).
  case bind(host: String, port: UInt16, errno: Int32)
  /// OpenSSL refused the certificate or key. `detail` is its message.
  case tls(detail: String)
  /// A system call failed.
  case system(call: String, errno: Int32)
  /// `start` was called before, or the server has stopped.
  case alreadyStarted
}
