import Glibc
import HoldfastCore

/// Acceptance of connections.
extension SocketHub {
  /// Accepts connections on a port, at each address that the port is bound to.
  func listen(on port: borrowing BoundPort) throws(SocketServerError) {
    for listener in port.listeners {
      listeners.append(listener)
      if let cause = poller.add(listener.descriptor, .read, token: UInt64(listeners.count)) {
        throw .system(call: "epoll_ctl", errno: cause)
      }
    }
  }

  func closeListeners() {
    for listener in listeners { poller.remove(listener.descriptor) }
    listeners = []
  }

  /// Stops accepting connections of clients at sockets that another program has passed.
  ///
  /// They wait until the server that is started next accepts them. Without the call, a server that
  /// is about to stop would refuse their requests.
  public func leaveInheritedSockets() {
    for listener in listeners where listener.isInherited && listener.kind == .clients {
      poller.remove(listener.descriptor)
    }
  }

  /// Accepts at most 64 connections in a turn, so that existing connections are also served.
  func acceptAll(from listener: Listener) {
    for _ in 0..<64 {
      guard !listener.kind.isLimited || !isFull else { return pauseAccepting(nil) }
      switch listener.accept() {
      case .connection(let descriptor): admit(descriptor, listener.kind)
      case .nothing: return
      case .aborted: continue
      case .exhausted(let cause):
        emit(.starved(errno: cause))
        return pauseAccepting(now.advanced(by: .seconds(1)))
      }
    }
  }

  /// Whether the server has the maximum number of connections of clients and nodes.
  private var isFull: Bool {
    connectionCount - operators.count >= configuration.maxConnections
  }

  private func admit(_ descriptor: Int32, _ kind: ListenerKind) {
    guard kind.isLimited || makePlaceForOperator() else {
      Glibc.close(descriptor)
      return
    }
    let peer = kind == .clients ? SocketAddress.peer(of: descriptor) : nil
    let counted = peer?.address.flatMap { configuration.isUncounted($0) ? nil : $0.origin }
    if let peer, let counted, !limit.enter(counted) {
      emit(.crowded(address: peer.text ?? ""))
      Glibc.close(descriptor)
      return
    }
    let id = nextID()
    let tls = kind == .clients ? tls : nil
    let stream = tls?.makeStream(on: descriptor)
    guard tls == nil || stream != nil,
      poller.add(descriptor, .read, token: id.number) == nil
    else {
      if let counted { limit.leave(counted) }
      discard(id)
      Glibc.close(descriptor)
      return
    }
    let connection = Connection(
      id: id, descriptor: descriptor, tls: stream, phase: .handshake(wants: .read),
      origin: counted, kind: kind)
    insert(connection)
    if stream == nil {
      begin(connection)
    } else {
      limit(connection, to: configuration.handshakeTimeout)
    }
  }

  /// Returns whether there is a place for one more connection of an operator.
  ///
  /// If all are taken, the connection ends that has waited for a request longest, first among those
  /// that have never completed one. One that was accepted in this turn stays, since its request may
  /// have arrived without being read yet.
  private func makePlaceForOperator() -> Bool {
    guard operators.count >= Self.maxOperatorConnections else { return true }
    let waiting = operators.compactMap { id -> (connection: Connection, wait: OperatorWait)? in
      guard let connection = connection(id), let wait = wait(of: connection) else { return nil }
      return wait.since < now ? (connection, wait) : nil
    }
    guard let longest = waiting.min(by: { $0.wait < $1.wait }) else { return false }
    destroy(longest.connection, as: .ended)
    return true
  }

  /// Returns the wait of a connection for a request or the rest of one; `nil` if it does not wait.
  private func wait(of connection: Connection) -> OperatorWait? {
    guard case .exchange(let exchange) = connection.phase, case .reading(let part) = exchange.stage,
      let deadline = connection.deadline
    else { return nil }
    let limit =
      switch part {
      case .nothing: configuration.idleKeepAlive
      case .head: configuration.headTimeout
      case .body: configuration.bodyTimeout
      }
    return OperatorWait(
      hasAsked: exchange.request != nil, since: deadline.advanced(by: .zero - limit))
  }

  /// Stops counting a connection for its address, because it has become a WebSocket or has ended.
  func leaveLimit(_ connection: Connection) {
    guard let origin = connection.origin else { return }
    connection.origin = nil
    limit.leave(origin)
  }

  /// Leaves new connections in the kernel's backlog. Otherwise, the listener would be ready all the
  /// time, and the loop would not wait.
  ///
  /// Operators can still connect, unless there are no more descriptors.
  private func pauseAccepting(_ retry: Instant?) {
    acceptance = .paused(retry: retry)
    watchListeners([]) { retry != nil || $0.isLimited }
  }

  func resumeAccepting() {
    guard case .paused = acceptance, !isFull else { return }
    acceptance = .open
    watchListeners(.read) { _ in true }
  }

  private func watchListeners(_ interest: Interest, _ isMeant: (ListenerKind) -> Bool) {
    for (index, listener) in listeners.enumerated() where isMeant(listener.kind) {
      poller.change(listener.descriptor, interest, token: UInt64(index + 1))
    }
  }
}

/// The wait of an operator's connection for a request. The least one is that which ends first.
private struct OperatorWait: Comparable {
  /// Whether the connection has completed a request before.
  var hasAsked: Bool
  var since: Instant

  static func < (left: OperatorWait, right: OperatorWait) -> Bool {
    left.hasAsked == right.hasAsked ? left.since < right.since : right.hasAsked
  }
}
