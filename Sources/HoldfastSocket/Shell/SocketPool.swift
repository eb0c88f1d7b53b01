package import LinkCore
package import LinkDriver
import Synchronization

/// The sockets of one shell, by attempt, from the dial to the end of the closing handshake.
package final class SocketPool: Sendable {
  fileprivate struct State {
    /// Attempts whose handle has not been returned yet.
    var opening: Set<AttemptID> = []
    var open: [AttemptID: any SocketHandle] = [:]
    /// Closing handshakes in progress; `stop` waits for them.
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
  /// - Parameter policy: Determines which failures mean that the token was refused.
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
  /// - Parameters:
  ///   - request: The request without the token.
  ///   - secrets: Texts that must not appear in a failure, in addition to the token.
  ///   - deliver: Receives the events of `SocketDialer` with redacted failures, and the redaction
  ///     for texts inside messages.
  package func open(
    _ attempt: AttemptID, _ request: SocketRequest, hiding secrets: [String] = [],
    deliver: @escaping @Sendable ([SocketEvent], Redaction) async -> Void
  ) async {
    let token = await credentials.present
    let redaction = Redaction([token].compactMap(\.self) + secrets)
    let fields = credentials.fields(token)
    var request = request
    request.headers = fields.headers + request.headers
    request.query = fields.query + request.query
    // The dialer reports what it waited for. The link's own limit cannot, so it expires slightly
    // later.
    request.openTimeout -= min(request.openTimeout / 10, .milliseconds(250))
    let isStopped = state.withLock { state in
      if !state.isStopped { state.opening.insert(attempt) }
      return state.isStopped
    }
    guard !isStopped else { return }
    let socket = await network.openInTurns(request) { [credentials, policy, weak self] events in
      guard case .failed(let failure) = events.last else {
        return await deliver(events, redaction)
      }
      if policy.action(on: failure) == .refresh { await credentials.refused(token) }
      await deliver(events.dropLast() + [.failed(redaction.clean(failure))], redaction)
      self?.forget(attempt)
    }
    state.withLock { state in
      // The attempt may have failed, or the pool stopped, during the dial. Then the socket is
      // dropped.
      if state.opening.remove(attempt) != nil { state.open[attempt] = socket }
    }
  }

  /// Closes the socket of an attempt in a task of its own.
  ///
  /// With code 1001 it also forgets idle REST connections, since they share the network path of the
  /// socket, which fell silent or disappeared.
  ///
  /// - Parameter then: Runs after the closing handshake, or at once if there is no socket.
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

  /// Sends a ping; does nothing if the socket is gone.
  package func ping(_ attempt: AttemptID, id: UInt64) async { await socket(attempt)?.ping(id: id) }

  /// Sends a message, unless the socket is closed.
  ///
  /// The report of the loss then follows after the events that arrived before it.
  ///
  /// - Parameter refused: Runs if the socket's queue is full or the message has no content. The
  ///   caller does not wait for it, because only the driver can make room in its inbox, and the
  ///   driver waits for the caller.
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

  /// Closes all sockets with 1000, waits for the closing handshakes, and opens no more sockets.
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
  /// Returns the model's input for the event.
  ///
  /// - Parameters:
  ///   - opened: Returns the input for the headers of the upgrade.
  ///   - message: Returns the input for a message.
  ///   - link: Returns the input for an event that any link can have.
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
    // As after a sleep, the open connection has to be verified.
    case .stalled: link(.device(.woke))
    case .oversized(let bytes): link(.oversized(attempt, bytes: bytes))
    case .failed(let failure): link(.lost(attempt, failure))
    }
  }
}
