import HoldfastProtocols

/// HTTP requests and responses. Each connection handles one request at a time.
extension SocketHub {
  /// Passes complete requests to the handler.
  func advance(_ connection: Connection, _ exchange: Exchange) {
    while case .reading(let part) = exchange.stage {
      switch exchange.reader.next() {
      case .request(let head, let body): deliver(head, body, connection, exchange)
      case .announced(let head): announce(head, connection, exchange)
      case .needsContinue(let head):
        if connection.kind == .clients, configuration.http.announcedPaths.contains(head.path) {
          announce(head, connection, exchange)
        }
        connection.outgoing.append(HTTPResponseWriter.continueBytes)
        touch(connection)
      case .failed(let error):
        noteCut(exchange, nil)
        refuse(connection, exchange, error)
      case nil: return follow(connection, exchange, from: part)
      }
    }
  }

  /// Sets separate deadlines for the head and the body. Further bytes do not extend them.
  private func follow(
    _ connection: Connection, _ exchange: Exchange, from part: Exchange.Part
  ) {
    let reached = exchange.reached
    switch (part, reached) {
    case (.nothing, .head): limit(connection, to: configuration.headTimeout)
    case (.nothing, .body), (.head, .body): limit(connection, to: configuration.bodyTimeout)
    case (_, .nothing), (.head, .head), (.body, .head), (.body, .body): return
    }
    exchange.stage = .reading(reached)
  }

  private func deliver(
    _ head: HTTPRequestHead, _ body: [UInt8], _ connection: Connection, _ exchange: Exchange
  ) {
    let request = exchange.announced?.request ?? nextRequest(on: connection.id)
    exchange.announced = nil
    exchange.request = request
    limit(connection, to: nil)
    let isUpgrade = head.asksForWebSocket
    exchange.stage = .answering(
      Exchange.Question(
        keepAlive: head.keepAlive && !isUpgrade, omitsBody: head.method == "HEAD",
        upgrade: isUpgrade ? head : nil, takesChunks: head.minorVersion >= 1))
    guard isUpgrade else { return emit(.request(request, head, body: body)) }
    switch ServerHandshake.refusal(of: head) {
    case .upgrade, nil: emit(.upgrade(request, head))
    case .refuse(let status, let headers, let reason):
      let refusal = configuration.refusalBody(status, reason)
      respond(
        to: request, status: status,
        headers: headers.map { ($0.name, $0.value) } + [("Content-Type", refusal.contentType)],
        body: refusal.bytes)
    }
  }

  private func announce(
    _ head: HTTPRequestHead, _ connection: Connection, _ exchange: Exchange
  ) {
    let request = nextRequest(on: connection.id)
    exchange.announced = Exchange.Announced(request: request, head: head)
    emit(.announced(request, head))
  }

  /// Reports an announced request that stayed incomplete, together with the part that arrived.
  func noteCut(_ exchange: Exchange, _ part: [UInt8]?) {
    guard let announced = exchange.announced else { return }
    exchange.announced = nil
    emit(.cut(announced.request, announced.head, body: part ?? []))
  }

  /// Responds to an invalid request and closes the connection, because it is unknown where the next
  /// request starts.
  private func refuse(_ connection: Connection, _ exchange: Exchange, _ error: HTTPError) {
    let refusal = configuration.refusalBody(error.status, error.detail)
    answer(
      connection, exchange, keepAlive: false,
      HTTPResponseWriter.bytes(
        status: error.status, headers: [("Content-Type", refusal.contentType)],
        body: refusal.bytes, keepAlive: false))
  }

  /// Queues a response, and limits the time in which the client must accept it.
  func answer(
    _ connection: Connection, _ exchange: Exchange, keepAlive: Bool, _ bytes: [UInt8]
  ) {
    connection.outgoing.append(bytes)
    exchange.stage = .sending(keepAlive: keepAlive)
    limit(connection, to: configuration.answerTimeout)
    touch(connection)
  }

  /// Handles a queue that became empty. After a complete response, the next request may be read.
  func sent(_ connection: Connection, _ exchange: Exchange) {
    switch exchange.stage {
    case .reading, .answering: return
    case .streaming: return limit(connection, to: nil)
    case .sending(let keepAlive):
      guard keepAlive, stopsAt == nil else { return leave(connection) }
      exchange.stage = .reading(.nothing)
      limit(connection, to: configuration.idleKeepAlive)
      advance(connection, exchange)
      rememberUnread(connection)
    }
  }

  /// Ends an exchange whose time is over. An incomplete request receives a 408 (RFC 9110 section
  /// 15.5.9).
  func expire(_ connection: Connection, _ exchange: Exchange) {
    switch exchange.stage {
    case .reading(.nothing): leave(connection)
    case .reading(.head), .reading(.body):
      noteCut(exchange, exchange.reader.takePart()?.body)
      refuse(connection, exchange, HTTPError(status: 408, detail: "request took too long"))
    case .answering, .streaming, .sending: destroy(connection, as: .ended)
    }
  }
}
