/// An HTTP and WebSocket server on one thread.
public actor SocketServer<Handler: SocketHandler> {
  private var handler: Handler
  private let hub = SocketHub()

  /// Makes a server that does not listen yet.
  public init(
    _ configuration: SocketServerConfiguration, handler: sending Handler
  ) throws(SocketServerError) {
    self.handler = handler
  }

  /// Listens; answers the port.
  public func start() throws(SocketServerError) -> UInt16 { 0 }

  /// Stops listening, waits up to `grace` for connections to go, closes the rest.
  public func stop(within grace: Duration = .zero) async {}

  /// Runs on the loop, in the order of the calls.
  public nonisolated func inject(
    _ input: @escaping @Sendable (inout Handler, SocketHub) -> Void
  ) {}

  /// Runs on the loop and answers.
  public func run<Result: Sendable>(
    _ body: @Sendable (inout Handler, SocketHub) -> Result
  ) -> Result {
    body(&handler, hub)
  }
}
