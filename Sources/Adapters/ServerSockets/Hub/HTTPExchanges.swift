import LinkProtocols

/// Requests in, answers out; one at a time on each connection.
extension SocketHub {
  /// Hands over the next whole request, if there is one.
  func advance(_ connection: Connection, _ exchange: Exchange) {
    while case .reading(let stage) = exchange.stage {
      switch exchange.reader.next() {
      case .request(let head, let body): hand(head, body, connection, exchange)
      case .needsContinue:
        connection.outgoing.append(Array("HTTP/1.1 100 Continue\r\n\r\n".utf8))
        touch(connection)
      case .failed(let error): refuse(connection, exchange, error)
      case nil: return follow(connection, exchange, from: stage)
      }
    }
  }

  /// Gives head and body their own deadlines; neither is moved by a further byte.
  private func follow(
    _ connection: Connection, _ exchange: Exchange, from stage: HTTPRequestReader.Stage
  ) {
    let reached = exchange.reader.stage
    switch (stage, reached) {
    case (.between, .head): limit(connection, to: configuration.headTimeout)
    case (.between, .body), (.head, .body): limit(connection, to: configuration.bodyTimeout)
    case (_, .between), (.head, .head), (.body, .head), (.body, .body): return
    }
    exchange.stage = .reading(reached)
  }

  private func hand(
    _ head: HTTPRequestHead, _ body: [UInt8], _ connection: Connection, _ exchange: Exchange
  ) {
    exchange.number += 1
    limit(connection, to: nil)
    let isUpgrade = asksForWebSocket(head)
    exchange.stage = .answering(
      Exchange.Question(
        keepAlive: head.keepAlive && !isUpgrade, omitsBody: head.method == "HEAD",
        upgrade: isUpgrade ? head : nil))
    let request = RequestID(connection: connection.id, number: exchange.number)
    guard isUpgrade else { return emit(.request(request, head, body: body)) }
    switch ServerHandshake.accept(head, allowsDeflate: false, extraHeaders: []) {
    case .upgrade: emit(.upgrade(request, head))
    case .refuse(let status, let headers, let reason):
      respond(to: request, status: status, headers: headers, body: Array(reason.utf8))
    }
  }

  /// RFC 9110 section 7.8: a list of protocols, told apart without regard to case.
  private func asksForWebSocket(_ head: HTTPRequestHead) -> Bool {
    guard let value = head.first("upgrade") else { return false }
    return value.lowercased().split(separator: ",").contains { protocolName in
      protocolName.drop { $0 == " " || $0 == "\t" }.hasPrefix("websocket")
    }
  }

  /// Answers what cannot be read, and closes: where the next request begins is unknown.
  private func refuse(_ connection: Connection, _ exchange: Exchange, _ error: HTTPError) {
    answer(
      connection, exchange, keepAlive: false,
      HTTPResponseWriter.bytes(
        status: error.status, headers: [("Content-Type", "text/plain")],
        body: Array((error.detail + "\n").utf8), keepAlive: false))
  }

  /// Queues an answer and starts the time the client has to take it.
  func answer(
    _ connection: Connection, _ exchange: Exchange, keepAlive: Bool, _ bytes: [UInt8]
  ) {
    connection.outgoing.append(bytes)
    exchange.stage = .sending(keepAlive: keepAlive)
    limit(connection, to: configuration.answerTimeout)
    touch(connection)
  }

  /// The answer is out: the next request may be read.
  func sent(_ connection: Connection, _ exchange: Exchange) {
    guard case .sending(let keepAlive) = exchange.stage else { return }
    guard keepAlive, stopsAt == nil else { return leave(connection) }
    exchange.stage = .reading(.between)
    limit(connection, to: configuration.idleKeepAlive)
    advance(connection, exchange)
    rememberUnread(connection)
  }

  /// A request that never comes whole is answered 408 (RFC 9110 section 15.5.9).
  func expire(_ connection: Connection, _ exchange: Exchange) {
    switch exchange.stage {
    case .reading(.between): leave(connection)
    case .reading(.head), .reading(.body):
      refuse(connection, exchange, HTTPError(status: 408, detail: "request took too long"))
    case .answering, .sending: destroy(connection, as: .ended)
    }
  }
}
