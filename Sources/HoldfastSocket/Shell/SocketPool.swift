package import HoldfastCore
package import HoldfastPorts
import Synchronization

/// The sockets of one effect handler, by attempt, from dialing to the end of the closing handshake.
package final class SocketPool: Sendable {
  fileprivate struct State {
    /// The attempts that are still dialing.
    var opening: Set<AttemptID> = []
    var open: [AttemptID: any SocketHandle] = [:]
    /// The closing handshakes in progress. `stop` waits for them.
    var closing: [UInt64: Task<Void, Never>] = [:]
    var lastClosing: UInt64 = 0
    var isStopped = false
  }

  private let network: any SocketDialer & HTTPClient
  private let policy: LinkPolicy
  private let credentials: RequestCredentials
  private let state = Mutex(State())

  /// Creates a pool without sockets.
  ///
  /// - Parameter policy: The policy that determines which failures mean that the token was refused.
  package init(
    _ network: any SocketDialer & HTTPClient, policy: LinkPolicy,
    credentials: RequestCredentials = .none
  ) {
    self.network = network
    self.policy = policy
    self.credentials = credentials
  }

  /// Opens a socket with the current token, unless the pool is stopped.
  ///
  /// The parameters are those of `open(_:_:with:hiding:deliver:)`.
  package func open(
    _ attempt: AttemptID, _ request: SocketRequest, hiding secrets: [String] = [],
    deliver: @escaping @Sendable ([SocketEvent], Redaction) async -> Void
  ) async {
    await open(
      attempt, request, with: await credentials.present, hiding: secrets, deliver: deliver)
  }

  /// Opens a socket with a token, unless the pool is stopped. A token that the server refused is
  /// not sent again: the attempt fails at once.
  ///
  /// - Parameters:
  ///   - request: The request, without the token.
  ///   - token: The token that was current when the attempt began.
  ///   - secrets: Strings, in addition to the token, that must not appear in a failure.
  ///   - deliver: A function that receives the events of `SocketDialer`, with redacted failures. It
  ///     also receives the redaction, to apply to texts inside messages.
  package func open(
    _ attempt: AttemptID, _ request: SocketRequest, with token: String?,
    hiding secrets: [String] = [],
    deliver: @escaping @Sendable ([SocketEvent], Redaction) async -> Void
  ) async {
    let redaction = Redaction([token].compactMap(\.self) + secrets)
    if await credentials.hasRefused(token) {
      let failure = LinkFailure.http(
        status: 401, retryAfter: nil, detail: "the token was refused before")
      // The caller does not wait: a delivery waits for room in the driver's inbox, and the driver
      // waits for this method.
      Task { await deliver([.failed(failure)], redaction) }
      return
    }
    let request = self.request(request, with: token)
    let isStopped = state.withLock { state in
      if !state.isStopped { state.opening.insert(attempt) }
      return state.isStopped
    }
    guard !isStopped else { return }
    let (credentials, policy) = (credentials, policy)
    let forget: @Sendable () -> Void = { [weak self] in self?.forget(attempt) }
    let socket = await network.openInTurns(request) { events in
      guard case .failed(let failure) = events.last else {
        return await deliver(events, redaction)
      }
      if policy.action(on: failure) == .refresh { await credentials.refused(token) }
      await deliver(events.dropLast() + [.failed(redaction.clean(failure))], redaction)
      forget()
    }
    state.withLock { state in
      // During the dial, the attempt may have failed or the pool may have been stopped. In both
      // cases the socket is dropped.
      if state.opening.remove(attempt) != nil { state.open[attempt] = socket }
    }
  }

  /// Returns a request with a token and a shorter time limit.
  ///
  /// The dialer's failure states which step timed out, and the link's own time limit does not. The
  /// dialer's limit is therefore slightly shorter.
  private func request(_ request: SocketRequest, with token: String?) -> SocketRequest {
    let fields = credentials.fields(token)
    var request = request
    request.headers = fields.headers + request.headers
    request.query = fields.query + request.query
    request.openTimeout -= min(request.openTimeout / 10, .milliseconds(250))
    return request
  }

  /// Closes the socket of an attempt in a separate task.
  ///
  /// With code 1001, the pool also closes idle REST connections. They share the network path of the
  /// socket, and that path has failed or disappeared.
  ///
  /// - Parameter then: A function that runs after the closing handshake, or at once if there is no
  ///   socket.
  package func close(
    _ attempt: AttemptID, code: UInt16, then: @escaping @Sendable () async -> Void = {}
  ) {
    state.withLock { state in
      let socket = state.take(attempt)
      state.lastClosing += 1
      let id = state.lastClosing
      state.closing[id] = Task { [network] in
        if let socket {
          if code == 1001 { await network.forgetConnections() }
          await socket.close(code: code, reason: "")
        }
        await then()
        self.state.withLock { $0.closing[id] = nil }
      }
    }
  }

  /// Sends a ping, unless the socket is closed.
  package func ping(_ attempt: AttemptID, id: UInt64) async { await socket(attempt)?.ping(id: id) }

  /// Sends a message, unless the socket is closed.
  ///
  /// If the socket is closed, the loss is reported after the events that arrived before it.
  ///
  /// - Parameter refused: A function that runs if the socket's queue is full or the message has no
  ///   content. This method does not wait for it: the function waits for room in the driver's
  ///   inbox, and the driver waits for this method.
  package func send(
    _ message: SocketMessage, on attempt: AttemptID,
    refused: @escaping @Sendable () async -> Void
  ) async {
    guard let socket = socket(attempt) else { return }
    var outcome = SocketSending.full
    if let bytes = message.bytes {
      outcome = await message.isText ? socket.send(text: bytes) : socket.send(binary: bytes)
    }
    if outcome == .full { Task { await refused() } }
  }

  /// Closes all sockets with code 1000, and waits for the closing handshakes. The pool opens no
  /// sockets afterwards.
  package func stop() async {
    let open = state.withLock { state in
      state.isStopped = true
      state.opening = []
      return state.open.keys.sorted()
    }
    for attempt in open { close(attempt, code: 1000) }
    for task in state.withLock({ Array($0.closing.values) }) { await task.value }
  }

  private func socket(_ attempt: AttemptID) -> (any SocketHandle)? {
    state.withLock { $0.open[attempt] }
  }

  private func forget(_ attempt: AttemptID) {
    _ = state.withLock { $0.take(attempt) }
  }
}

extension SocketPool.State {
  fileprivate mutating func take(_ attempt: AttemptID) -> (any SocketHandle)? {
    opening.remove(attempt)
    return open.removeValue(forKey: attempt)
  }
}

extension SocketEvent {
  /// Returns the model input for the event.
  ///
  /// - Parameters:
  ///   - opened: A function that returns the input for the response headers of the upgrade.
  ///   - message: A function that returns the input for a message.
  ///   - link: A function that returns the input for an event that any link can have.
  package func input<Input>(
    of attempt: AttemptID, opened: ([String: String]) -> Input,
    message: (SocketMessage) -> Input, link: (LinkEvent) -> Input
  ) -> Input {
    switch self {
    case .opened(let headers): opened(headers)
    case .text(let bytes): message(SocketMessage(text: bytes))
    case .binary(let bytes): message(SocketMessage(binary: bytes))
    case .ping: link(.ping(attempt))
    case .pong(let id): link(.pong(attempt, id))
    // The open connection must be verified, as after a sleep.
    case .stalled: link(.device(.woke))
    case .oversized(let bytes): link(.oversized(attempt, bytes: bytes))
    case .failed(let failure): link(.lost(attempt, failure))
    }
  }
}
