public import HoldfastCore
import HoldfastProtocols

extension SocketHub {
  /// Responds to a request or refuses an upgrade, immediately or later. Only the first response is
  /// sent. A file is the body in place of `body`.
  public func respond(
    to request: RequestID, status: Int, headers: [(String, String)], body: [UInt8],
    file: FileBody? = nil
  ) {
    guard let (connection, exchange, question) = unanswered(request) else { return }
    let keepAlive = question.keepAlive && stopsAt == nil
    if let file {
      answer(
        connection, exchange, keepAlive: keepAlive,
        HTTPResponseWriter.head(
          status: status, headers: headers, length: file.range.count, keepAlive: keepAlive))
      if !question.omitsBody { connection.outgoing.append(file) }
      return
    }
    answer(
      connection, exchange, keepAlive: keepAlive,
      HTTPResponseWriter.bytes(
        status: status, headers: headers, body: body, keepAlive: keepAlive,
        omitsBody: question.omitsBody))
  }

  /// Turns the connection of an upgrade into a WebSocket. `opened` follows in the same turn.
  ///
  /// The headers are added to the 101 response. The bounds replace the configured ones. The call
  /// has no effect if the request is not an upgrade.
  public func accept(
    _ request: RequestID, headers: [(String, String)] = [], bounds: SocketBounds = SocketBounds()
  ) {
    guard let (connection, exchange, question) = unanswered(request),
      let head = question.upgrade
    else { return }
    let outcome = ServerHandshake.accept(
      head, allowsDeflate: bounds.allowsDeflate ?? configuration.allowsDeflate,
      extraHeaders: headers)
    guard case .upgrade(let answer, let deflate) = outcome else { return }
    let early = exchange.reader.takeRest()
    var limits = configuration.webSocket
    if let bytes = bounds.maxMessageBytes { limits.maxMessageBytes = bytes }
    let session = Session(limits: limits, deflate: deflate)
    session.maxQueuedBytes = bounds.maxQueuedBytes
    connection.outgoing.append(answer)
    connection.phase = .open(session)
    leaveLimit(connection)
    emit(.opened(connection.id))
    touch(connection)
    if !early.isEmpty {
      emit(.received(connection.id))
      unsafe take(early.span.bytes, connection, session)
    }
    rememberUnread(connection)
  }

  /// Queues one unmasked frame for many WebSockets. They share its bytes.
  public func send(frame: [UInt8], to connections: [ConnectionID]) {
    for id in connections {
      guard let (connection, session) = open(id) else { continue }
      enqueue(frame, connection, session)
    }
  }

  /// Queues a text message for one WebSocket, compressed if this was negotiated. `text` must be
  /// valid UTF-8.
  public func send(text: [UInt8], to connection: ConnectionID) {
    queue(on: connection) { $0.send(text: text, into: &$1) }
  }

  /// Queues a binary message for one WebSocket, compressed if this was negotiated.
  public func send(binary: [UInt8], to connection: ConnectionID) {
    queue(on: connection) { $0.send(binary: binary, into: &$1) }
  }

  /// Queues a ping. Its payload has at most 125 bytes, and a `pong` returns it.
  public func ping(_ connection: ConnectionID, payload: [UInt8] = []) {
    queue(on: connection) { $0.ping(payload, into: &$1) }
  }

  private func queue(
    on connection: ConnectionID,
    _ write: (inout WebSocketConnection, inout [UInt8]) -> Bool
  ) {
    guard let (connection, session) = open(connection), session.takesFrames else { return }
    var frames: [UInt8] = []
    _ = write(&session.socket, &frames)
    enqueue(frames, connection, session)
  }

  /// Starts the closing handshake after the queued bytes. The only further event of this WebSocket
  /// is `closed`.
  public func close(_ connection: ConnectionID, code: UInt16, reason: String) {
    guard let (connection, session) = open(connection), !session.isClosing, !session.isOver
    else { return }
    var frames: [UInt8] = []
    session.socket.close(code: code, reason: reason, into: &frames)
    session.stage = .closing(code: code, reason: reason)
    connection.outgoing.append(frames)
    limit(connection, to: configuration.closeTimeout)
    touch(connection)
  }

  /// Closes a connection immediately, in any phase.
  public func drop(_ connection: ConnectionID) {
    guard let connection = self.connection(connection) else { return }
    destroy(connection, as: .dropped)
  }

  /// Sets the handler's only alarm in place of any earlier one. `woke` reports that the time was
  /// reached.
  public func wake(at instant: Instant?) {
    alarm = instant
  }

  /// Requests a `drained` event once the socket has accepted all queued bytes. The event is also
  /// sent if that is already the case.
  public func noticeDrain(of connection: ConnectionID) {
    guard let (connection, session) = open(connection) else { return }
    session.noticesDrain = true
    touch(connection)
  }

  /// Returns the number of queued bytes that the socket has not accepted.
  public func queuedBytes(of connection: ConnectionID) -> Int {
    self.connection(connection)?.outgoing.byteCount ?? 0
  }

  /// Returns the number of bytes that were sent on a connection, before TLS.
  public func sentBytes(of connection: ConnectionID) -> UInt64 {
    self.connection(connection)?.sentBytes ?? 0
  }

  /// Returns the user of the process at the other end of a Unix domain socket; `nil` for a TCP
  /// connection.
  public func peerUser(of connection: ConnectionID) -> UInt32? {
    self.connection(connection).flatMap { SocketAddress.user(atOtherEndOf: $0.descriptor) }
  }

  /// Returns the client's address, without its port; `nil` if the connection has ended.
  public func peerAddress(of connection: ConnectionID) -> NetworkAddress? {
    self.connection(connection).flatMap { SocketAddress.peer(of: $0.descriptor)?.address }
  }

  /// The number of connections of clients and nodes in all phases, and their maximum.
  public var clientConnections: (used: Int, limit: Int) {
    (connectionCount - operators.count, configuration.maxConnections)
  }

  /// The number of connections of the address that has most, without WebSockets, and the maximum.
  public var addressConnections: (used: Int, limit: Int) { (limit.most, limit.bound) }

  /// Returns the purpose of the address at which a request came in.
  public func listener(of request: RequestID) -> ListenerKind {
    exchange(of: request)?.0.kind ?? .clients
  }

  /// Returns whether the server has an address for a purpose.
  public func hasListener(for kind: ListenerKind) -> Bool {
    kind == .clients || configuration.furtherListeners[kind] != nil
  }

  /// Returns whether a connection came in at the address for nodes.
  public func isFromNode(_ connection: ConnectionID) -> Bool {
    self.connection(connection)?.kind == .nodes
  }

  /// Returns the connection of a request; `nil` once the request was answered. If the request is an
  /// upgrade, the WebSocket has the same connection.
  public func connection(of request: RequestID) -> ConnectionID? {
    exchange(of: request)?.0.id
  }

  private func open(_ id: ConnectionID) -> (Connection, Session)? {
    guard let connection = connection(id), case .open(let session) = connection.phase else {
      return nil
    }
    return (connection, session)
  }

  func unanswered(_ request: RequestID) -> (Connection, Exchange, Exchange.Question)? {
    guard let (connection, exchange) = exchange(of: request),
      case .answering(let question) = exchange.stage
    else { return nil }
    return (connection, exchange, question)
  }

  func exchange(of request: RequestID) -> (Connection, Exchange)? {
    guard let connection = connection(at: request.slot),
      case .exchange(let exchange) = connection.phase, exchange.request == request
    else { return nil }
    return (connection, exchange)
  }
}

/// The number of connections of each client address, without WebSockets.
///
/// WebSockets are not counted, because the handler accepts them and has its own limits for them.
struct ConnectionLimit {
  /// The maximum number of connections of an address. Further connections are closed.
  let bound: Int
  private var counts: [String: Int] = [:]

  init(bound: Int) {
    self.bound = bound
  }

  /// Counts a further connection. Returns false if the address already has the maximum number.
  mutating func enter(_ origin: String) -> Bool {
    let count = counts[origin, default: 0]
    guard count < bound else { return false }
    counts[origin] = count + 1
    return true
  }

  /// The number of connections of the address that has most.
  var most: Int { counts.values.max() ?? 0 }

  mutating func leave(_ origin: String) {
    let left = counts[origin, default: 1] - 1
    counts[origin] = left > 0 ? left : nil
  }
}
