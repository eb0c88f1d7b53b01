import LinkCore
import LinkProtocols

/// The end of the server.
extension SocketHub {
  /// Takes no more connections, asks those that are there to go, and gives them until `instant`.
  func beginStopping(until instant: Instant) {
    stopsAt = instant
    closeListeners()
    for connection in connections { dismiss(connection) }
  }

  /// Whether nobody is left, or nobody is waited for any more.
  var hasStopped: Bool {
    guard let stopsAt else { return false }
    return connectionCount == 0 || stopsAt <= now
  }

  /// Cuts who is left.
  func cutAll() {
    for connection in connections {
      connection.shutWriting()
      destroy(connection, as: .stopped)
    }
  }

  private func dismiss(_ connection: Connection) {
    switch connection.phase {
    case .handshake: destroy(connection, as: .stopped)
    case .exchange(let exchange):
      guard case .reading = exchange.stage else { return }
      if exchange.announced != nil { noteCut(exchange, exchange.reader.takePart()?.body) }
      leave(connection)
    case .open: close(connection.id, code: 1001, reason: "server stops")
    case .leaving, .lingering: break
    }
  }
}
