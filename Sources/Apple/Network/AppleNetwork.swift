#if canImport(Network)
  public import HoldfastCore
  public import HoldfastPorts

  /// The network of Apple's platforms: sockets over `NWConnection`, and HTTP requests over
  /// `URLSession`.
  ///
  /// On a watch, only HTTP requests work at all times; see `NetworkDial`.
  public struct AppleNetwork: SocketDialer, HTTPClient {
    private let dial: NetworkDial
    private let client: URLSessionClient

    /// Creates a network, which opens nothing until it is asked to.
    ///
    /// - Parameter clock: The clock that measures time-outs.
    public init(
      _ configuration: NetworkConfiguration = NetworkConfiguration(),
      clock: any LinkClock = BootClock()
    ) {
      dial = NetworkDial(configuration, clock: clock)
      client = URLSessionClient(clock: clock, allowsPlaintext: configuration.allowsPlaintext)
    }

    /// Returns the reason why a URL can never be used for WebSocket or HTTP; `nil` if it can be used.
    public static func problem(ofURL url: String) -> String? {
      do throws(LinkFailure) {
        _ = try WebAddress(
          url, query: [], schemes: ["ws": false, "wss": true, "http": false, "https": true])
        return nil
      } catch {
        guard case .local(let detail) = error else { return nil }
        return detail
      }
    }

    /// Opens a WebSocket that delivers one event at a time.
    public func open(
      _ request: SocketRequest, deliver: @escaping @Sendable (SocketEvent) async -> Void
    ) async -> any SocketHandle {
      await dial.open(request, deliver: deliver)
    }

    /// Opens a WebSocket that delivers all events of a read in one call.
    public func openInTurns(
      _ request: SocketRequest, deliver: @escaping @Sendable ([SocketEvent]) async -> Void
    ) async -> any SocketHandle {
      await dial.openInTurns(request, deliver: deliver)
    }

    /// Performs one HTTP exchange.
    public func send(_ request: HTTPCall) async throws(LinkFailure) -> HTTPAnswer {
      try await client.send(request)
    }

    /// Makes later requests open new connections.
    public func forgetConnections() async { await client.forgetConnections() }
  }

  extension AppleNetwork: ThreadedNetwork {
    package var eventThread: EventThread { dial.eventThread }

    package var threadCounters: ThreadCounters { dial.threadCounters }
  }
#endif
