import Glibc
public import LinkCore
import Synchronization

/// An HTTP and WebSocket server on one thread, which is also the executor of this actor.
///
/// Once started it keeps itself alive until `stop`.
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

  /// Makes a server that does not listen yet: starts its thread, reads its certificate.
  public init(
    _ configuration: SocketServerConfiguration, handler: sending Handler
  ) throws(SocketServerError) {
    loop = try EventLoop()
    hub = try SocketHub(configuration, wakeDescriptor: loop.wakeDescriptor)
    self.handler = handler
  }

  /// The loop's thread.
  public nonisolated var unownedExecutor: UnownedSerialExecutor {
    unsafe loop.asUnownedSerialExecutor()
  }

  /// Serves who connects to a port that was taken for it.
  public func start(on port: consuming BoundPort) throws(SocketServerError) {
    guard case .made = state else { throw .alreadyStarted }
    hub.now = Clock.now
    try hub.listen(on: port)
    state = .running
    loop.drive(with: { self.assumeIsolated { $0.turn() } })
  }

  /// Stops listening, closes WebSockets with 1001, lets answers go out; cuts who is left at
  /// `grace`.
  ///
  /// When it returns every connection is closed, and the handler has been told.
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

  /// Has `input` run on the loop, in the order of the calls.
  ///
  /// Before `start` it waits for it; once the server has stopped it is thrown away.
  public nonisolated func inject(
    _ input: @escaping @Sendable (inout Handler, SocketHub) -> Void
  ) {
    inputs.withLock { $0?.append(input) }
    loop.wake()
  }

  /// Runs `body` on the loop and answers what it answers.
  public func run<Result: Sendable>(
    _ body: @Sendable (inout Handler, SocketHub) -> Result
  ) -> Result {
    hub.now = Clock.now
    return body(&handler, hub)
  }

  private func turn() {
    settle()
    hub.wait()
    settle()
    guard case .stopping(let waiters) = state, hub.hasStopped else { return }
    hub.cutAll()
    settle()
    state = .stopped
    inputs.withLock { $0 = nil }
    loop.drive(with: nil)
    for waiter in waiters { waiter.resume() }
  }

  /// Tells the handler what happened and writes what it answered, until nothing more follows.
  private func settle() {
    for input in takeInputs() { input(&handler, hub) }
    repeat {
      for event in hub.takeEvents() { handler.handle(event, on: hub) }
      hub.flush()
    } while hub.hasEvents
  }

  private func takeInputs() -> [Input] {
    inputs.withLock { inputs in
      guard let taken = inputs else { return [] }
      inputs = []
      return taken
    }
  }
}

/// A port that is taken. A client that connects to it waits until a server starts on it.
///
/// Made before anything else that a server needs, so that nothing is begun if it cannot listen.
public struct BoundPort: ~Copyable, Sendable {
  let listeners: [Listener]

  /// Reads the certificate, if there is one, and takes the port; it is free again when this goes.
  ///
  /// Blocks while a host name is resolved.
  public init(_ configuration: SocketServerConfiguration) throws(SocketServerError) {
    if let files = configuration.tls { _ = try TLSContext(files) }
    listeners = try Self.listen(configuration)
  }

  /// The port, also when the kernel picked it.
  public var number: UInt16 { listeners.first?.port ?? 0 }

  /// The addresses that it listens on.
  public var addresses: [NetworkAddress] {
    listeners.compactMap { SocketAddress.local(of: $0.descriptor)?.address }
  }

  /// A port that the kernel picked for one family may be taken in the other: then it picks again.
  private static func listen(
    _ configuration: SocketServerConfiguration
  ) throws(SocketServerError) -> [Listener] {
    let host = configuration.host
    let addresses = try SocketAddress.resolve(host, port: configuration.port)
    for _ in 0..<8 where configuration.port == 0 {
      do throws(SocketServerError) { return try Listener.all(addresses, host: host) } catch {
        guard case .bind(_, _, EADDRINUSE) = error else { throw error }
      }
    }
    return try Listener.all(addresses, host: host)
  }
}

/// Why a server could not be made or started.
public enum SocketServerError: Error, Sendable, Equatable {
  /// The host is not an address of this machine; the resolver's words.
  case address(host: String, detail: String)
  /// The port could not be had; `errno` of bind or listen.
  case bind(host: String, port: UInt16, errno: Int32)
  /// The certificate or key was refused; OpenSSL's words.
  case tls(detail: String)
  /// A system call failed.
  case system(call: String, errno: Int32)
  /// `start` was called before, or the server has been stopped.
  case alreadyStarted
}
