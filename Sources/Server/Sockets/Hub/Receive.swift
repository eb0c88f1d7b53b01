import HoldfastProtocols

/// Handling of received bytes, which depends on the phase of the connection.
extension SocketHub {
  /// The maximum number of bytes that are read from one client in a turn, so that the client does
  /// not delay others.
  private static let readBudget = 4 * scratchBytes

  func receive(on connection: Connection) {
    switch connection.phase {
    case .handshake: shakeHands(connection)
    case .exchange, .open, .passing: readAll(from: connection)
    case .leaving: break
    case .lingering: throwAway(from: connection)
    }
  }

  private func shakeHands(_ connection: Connection) {
    guard let tls = connection.tls else { return }
    switch tls.handshake() {
    case .done:
      begin(connection)
      readAll(from: connection)
    case .wants(let interest):
      connection.phase = .handshake(wants: interest)
    case .failed(let detail): destroy(connection, as: .reset(detail: detail))
    }
  }

  /// Starts HTTP on a connection.
  func begin(_ connection: Connection) {
    let limits = connection.kind == .clients ? configuration.http : configuration.http.forNodes
    connection.phase = .exchange(Exchange(limits: limits))
    limit(connection, to: configuration.headTimeout)
  }

  private func readAll(from connection: Connection) {
    var budget = Self.readBudget
    while budget > 0, connection.wanted.contains(.read) {
      switch unsafe connection.read(into: scratch) {
      case .bytes(let count):
        let isFirst = budget == Self.readBudget
        budget -= count
        unsafe take(UnsafeRawBufferPointer(rebasing: scratch[..<count]), connection, isFirst)
        if connection.tls == nil, count < Self.scratchBytes { return }
      case .wouldBlock: return
      case .end: return ended(connection)
      case .failed(let detail): return destroy(connection, as: .reset(detail: detail))
      }
    }
    rememberUnread(connection)
  }

  /// Makes the next turn handle bytes that OpenSSL has read from the socket but has not returned.
  func rememberUnread(_ connection: Connection) {
    guard let tls = connection.tls, connection.wanted.contains(.read), tls.hasPending else {
      return
    }
    unread.append(connection.id)
  }

  private func take(
    _ bytes: UnsafeRawBufferPointer, _ connection: Connection, _ isFirst: Bool
  ) {
    switch connection.phase {
    case .exchange(let exchange):
      unsafe exchange.reader.receive(bytes.bytes)
      advance(connection, exchange)
    case .open(let session):
      if isFirst, !session.isClosing { emit(.received(connection.id)) }
      unsafe take(bytes.bytes, connection, session)
    case .passing(let passage):
      forward(unsafe Array(bytes), connection, passage)
    case .handshake, .leaving, .lingering: break
    }
  }

  private func ended(_ connection: Connection) {
    guard case .passing(let passage) = connection.phase else {
      return destroy(connection, as: .ended)
    }
    finish(connection, passage)
  }

  /// Reads until the client closes the connection, so that the kernel does not respond to late
  /// bytes with a reset.
  private func throwAway(from connection: Connection) {
    switch unsafe connection.readPlain(into: scratch) {
    case .bytes, .wouldBlock: break
    case .end, .failed: destroy(connection, as: .ended)
    }
  }
}

extension HTTPLimits {
  /// The limits for requests that nodes pass on. Nodes add fields. A request is not announced
  /// before it was checked.
  fileprivate var forNodes: HTTPLimits {
    var limits = self
    limits.maxHeadBytes += 1_024
    limits.maxHeaderCount += 8
    limits.announcedPaths = []
    return limits
  }
}
