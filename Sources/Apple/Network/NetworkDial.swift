#if canImport(Network)
  import Dispatch
  import HoldfastCore
  public import HoldfastPorts
  import HoldfastProtocols
  import HoldfastSocketEngine
  import Network

  /// An adapter that opens WebSockets over `NWConnection`.
  ///
  /// The same engine implements WebSocket here and over libcurl. TLS 1.2 or newer is required, and
  /// the system verifies certificates and names. A path that does not work yet is a failure, because
  /// the caller decides when to try again. Releasing a handle closes its socket with code 1001.
  ///
  /// On a watch, the system lets an app open connections only while it streams audio or during a
  /// CallKit call (Apple's technical note TN3135). At other times each attempt fails as unreachable.
  /// A simulator does not enforce this.
  public struct NetworkDial: SocketDialer {
    private let configuration: NetworkConfiguration
    private let clock: any LinkClock
    private let queue: DispatchQueue
    private let executor: QueueExecutor

    /// Creates a dialer, which opens nothing until it is asked to.
    ///
    /// - Parameter clock: The clock that measures time-outs.
    public init(
      _ configuration: NetworkConfiguration = NetworkConfiguration(),
      clock: any LinkClock = BootClock()
    ) {
      (self.configuration, self.clock) = (configuration, clock)
      queue = DispatchQueue(label: "holdfast.network")
      executor = QueueExecutor(queue)
    }

    /// Opens a WebSocket. Calling `close` on the handle before the socket is open ends the socket
    /// with one `.failed` event.
    public func open(
      _ request: SocketRequest, deliver: @escaping @Sendable (SocketEvent) async -> Void
    ) async -> any SocketHandle {
      await open(request, mostInTurn: 1) { turn in
        for event in turn { await deliver(event) }
      }
    }

    /// Opens a WebSocket that delivers all events of a read in one call.
    public func openInTurns(
      _ request: SocketRequest, deliver: @escaping @Sendable ([SocketEvent]) async -> Void
    ) async -> any SocketHandle {
      await open(request, mostInTurn: .max, deliver: deliver)
    }

    private func open(
      _ request: SocketRequest, mostInTurn: Int,
      deliver: @escaping @Sendable ([SocketEvent]) async -> Void
    ) async -> any SocketHandle {
      let limits = SocketLimits(
        maxQueuedBytes: configuration.maxQueuedBytes, maxFragments: configuration.maxFragments)
      return await TransportSocket.open(
        request, limits: limits, clock: clock, mostInTurn: mostInTurn, on: executor,
        deliver: deliver
      ) { () throws(LinkFailure) in
        try dial(request)
      }
    }

    private func dial(_ request: SocketRequest) throws(LinkFailure) -> TransportDial {
      let address = try WebAddress(
        request.url, query: request.query, schemes: ["ws": false, "wss": true])
      try address.demandPrivacy(allowsPlaintext: configuration.allowsPlaintext)
      let handshake = try ClientHandshake(
        request, authority: address.authority, target: address.target,
        offersDeflate: configuration.offersDeflate)
      guard let transport = ConnectionTransport(to: address, queue: queue) else {
        throw .local(detail: "The URL's port is invalid.")
      }
      return TransportDial(transport: transport, handshake: handshake, url: address.url)
    }
  }

  extension NetworkDial: ThreadedNetwork {
    package var eventThread: EventThread { EventThread(executor) }

    package var threadCounters: ThreadCounters { executor.counters }
  }

  /// The limits of a `NetworkDial`.
  public struct NetworkConfiguration: Sendable, Equatable {
    /// Whether `ws` connections may leave this device. They are always allowed to loopback.
    public var allowsPlaintext: Bool
    /// The maximum number of bytes of a socket that the system has not processed. Above it, `send`
    /// returns `.full`.
    public var maxQueuedBytes: Int
    /// The maximum number of frames in a message. A message with more frames is discarded unread.
    public var maxFragments: Int
    /// Whether the client offers `permessage-deflate` (RFC 7692).
    public var offersDeflate: Bool

    /// Creates a configuration. By default, plaintext is allowed only to loopback.
    public init(
      allowsPlaintext: Bool = false, maxQueuedBytes: Int = 1_048_576, maxFragments: Int = 262_144,
      offersDeflate: Bool = true
    ) {
      self.allowsPlaintext = allowsPlaintext
      self.maxQueuedBytes = maxQueuedBytes
      self.maxFragments = maxFragments
      self.offersDeflate = offersDeflate
    }
  }
#endif
