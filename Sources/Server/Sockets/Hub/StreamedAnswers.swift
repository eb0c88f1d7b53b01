public import HoldfastCore
import HoldfastProtocols

/// Streamed responses, and requests whose client leaves before the response.
extension SocketHub {
  /// Requests an immediate `abandoned` event if the client leaves before the response to this
  /// request.
  ///
  /// A client that shuts down only its writing side is also considered gone.
  public func noticeEnd(of request: RequestID) {
    guard let (connection, exchange, pending) = unanswered(request) else { return }
    var question = pending
    question.noticesEnd = true
    exchange.stage = .answering(question)
    touch(connection)
  }

  /// Begins a response of unknown length. `write` adds to the response, and `end` completes it.
  ///
  /// Until `end`, an `abandoned` event reports that the client has left. A HEAD request is
  /// completely answered by this call.
  public func begin(_ request: RequestID, status: Int, headers: [(String, String)]) {
    guard let (connection, exchange, question) = unanswered(request) else { return }
    let isChunked = question.takesChunks
    let keepAlive = question.keepAlive && isChunked && stopsAt == nil
    let head = HTTPResponseWriter.streamHead(
      status: status, headers: headers, isChunked: isChunked, keepAlive: keepAlive)
    guard !question.omitsBody else {
      return answer(connection, exchange, keepAlive: keepAlive, head)
    }
    connection.outgoing.append(head)
    exchange.stage = .streaming(
      Exchange.StreamedAnswer(keepAlive: keepAlive, isChunked: isChunked))
    limit(connection, to: configuration.answerTimeout)
    touch(connection)
  }

  /// Adds bytes to a streamed response. They may have any number while the client reads fast
  /// enough.
  ///
  /// If the socket is backed up and the queue would exceed its bound, the client is disconnected
  /// and reported as `abandoned`.
  public func write(_ bytes: [UInt8], to request: RequestID) {
    guard let (connection, _, stream) = streaming(request), !bytes.isEmpty else { return }
    let total = connection.outgoing.byteCount + bytes.count
    guard !connection.isBackedUp || total <= configuration.maxQueuedBytes else {
      return destroy(connection, as: .dropped)
    }
    connection.outgoing.append(stream.isChunked ? HTTPResponseWriter.chunk(bytes) : bytes)
    if connection.deadline == nil { limit(connection, to: configuration.answerTimeout) }
    touch(connection)
  }

  /// Completes a streamed response. The connection may then carry the next request.
  public func end(_ request: RequestID) {
    guard let (connection, exchange, stream) = streaming(request) else { return }
    answer(
      connection, exchange, keepAlive: stream.keepAlive,
      stream.isChunked ? HTTPResponseWriter.lastChunk : [])
  }

  /// Sends an interim response to an announced request that is incomplete.
  public func inform(_ request: RequestID, status: Int, headers: [(String, String)]) {
    guard let connection = announcing(request) else { return }
    connection.outgoing.append(HTTPResponseWriter.interim(status: status, headers: headers))
    touch(connection)
  }

  /// Ends the connection of an announced request that is incomplete. A `cut` event follows.
  public func interrupt(_ request: RequestID) {
    guard let connection = announcing(request) else { return }
    destroy(connection, as: .dropped)
  }

  private func announcing(_ request: RequestID) -> Connection? {
    guard let connection = connection(at: request.slot),
      case .exchange(let exchange) = connection.phase, exchange.announced?.request == request
    else { return nil }
    return connection
  }

  private func streaming(
    _ request: RequestID
  ) -> (Connection, Exchange, Exchange.StreamedAnswer)? {
    guard let (connection, exchange) = exchange(of: request),
      case .streaming(let stream) = exchange.stage
    else { return nil }
    return (connection, exchange, stream)
  }
}
