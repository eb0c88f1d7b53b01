import LinkCore
import LinkWire

extension ShopServer {
  mutating func upgrade(
    _ id: ConnectionID, to shop: ShopID, after: Position?, _ credential: Credential,
    wall: Timestamp
  ) {
    switch admit(credential, to: shop, wall: wall) {
    case .refused(let refused):
      refuse(id, refused)
    case .admitted(let claims):
      if let refused = noRoom(for: claims.user) { return refuse(id, refused) }
      connections[id] = Connection(
        membership: Membership(shop: shop, user: claims.user),
        expiresAt: now.advanced(by: wall.duration(to: claims.expiresAt)), phase: .waiting)
      sockets[claims.user, default: 0] += 1
      enter(shop) { $0.arrivals.append(Room.Arrival(id: id, after: after)) }
      advance(shop)
    }
  }

  private func noRoom(for user: String) -> Answer? {
    guard policy.offersStream else { return .error(503, "the stream is switched off") }
    guard connections.count < policy.maxConnections else { return busy }
    guard sockets[user, default: 0] < policy.socketsPerUser else {
      return .error(429, "too many sockets", retryAfter: policy.socketRetry)
    }
    return nil
  }

  mutating func refuse(_ id: ConnectionID, _ answer: Answer) {
    metrics.refusedUpgrade(status: answer.status)
    effects.append(.refuse(id, answer))
  }

  /// Opens a socket whose room knows its head; what lies after `after` follows at once.
  mutating func open(_ id: ConnectionID, head: Position, after: Position? = nil) {
    guard var connection = connections[id] else { return }
    connection.phase = .open(
      lastHeard: now, nextPing: now.advanced(by: policy.pingInterval))
    connections[id] = connection
    rooms[connection.membership.shop]?.subscribe(id)
    arm(id, connection)
    metrics.acceptedUpgrades += 1
    switch policy.dialect {
    case .positions: effects.append(.accept(id, head: head, after: after))
    case .plain: effects.append(.accept(id, head: nil))
    }
  }

  mutating func heard(_ id: ConnectionID) {
    guard var connection = connections[id] else { return }
    switch connection.phase {
    case .open(_, let nextPing):
      // The alarm stays: it rings early, finds this, and is set anew.
      connection.phase = .open(lastHeard: now, nextPing: nextPing)
      connections[id] = connection
    case .waiting, .closing:
      return
    }
  }

  mutating func overflowed(_ id: ConnectionID) {
    guard case .open = connections[id]?.phase else { return }
    metrics.slowReaders += 1
    close(id, .slowReader)
  }

  mutating func gone(_ id: ConnectionID, code: UInt16) {
    guard let connection = connections[id] else { return }
    switch connection.phase {
    case .open: metrics.closed(code: code)
    case .waiting, .closing: break
    }
    forget(id)
  }

  /// The alarm of a connection rang.
  mutating func wake(_ id: ConnectionID) {
    guard var connection = connections[id] else { return }
    switch connection.phase {
    case .waiting:
      return
    case .closing:
      drop(id)
    case .open(let lastHeard, let nextPing):
      if now >= connection.expiresAt {
        return close(id, .expired)
      }
      if now >= lastHeard.advanced(by: policy.pongWait) {
        metrics.silent += 1
        metrics.closed(code: 1006)
        return drop(id)
      }
      if now >= nextPing {
        metrics.pings += 1
        effects.append(.ping(id))
        connection.phase = .open(
          lastHeard: lastHeard, nextPing: now.advanced(by: policy.pingInterval))
        connections[id] = connection
      }
      arm(id, connection)
    }
  }

  /// Sends a close frame; from then on the socket is sent nothing and counts for nobody.
  mutating func close(_ id: ConnectionID, _ closure: Closure) {
    guard var connection = connections[id], case .open = connection.phase else { return }
    leave(id, connection.membership)
    connection.phase = .closing(dropAt: now.advanced(by: policy.closeWait))
    connections[id] = connection
    arm(id, connection)
    metrics.closed(code: closure.code)
    effects.append(.close(id, closure))
  }

  mutating func drop(_ id: ConnectionID) {
    forget(id)
    effects.append(.drop(id))
  }

  mutating func forget(_ id: ConnectionID) {
    guard let connection = connections.removeValue(forKey: id) else { return }
    alarms.clear(id)
    switch connection.phase {
    case .waiting, .open: leave(id, connection.membership)
    case .closing: break
    }
  }

  private mutating func leave(_ id: ConnectionID, _ membership: Membership) {
    rooms[membership.shop]?.leave(id)
    let left = sockets[membership.user, default: 1] - 1
    sockets[membership.user] = left > 0 ? left : nil
  }

  private mutating func arm(_ id: ConnectionID, _ connection: Connection) {
    if let instant = connection.wake(policy) { alarms.set(id, at: instant) }
  }

  mutating func remove(_ membership: Membership) {
    removed.insert(membership)
    cut([membership])
  }

  mutating func replaceRemovals(with memberships: [Membership]) {
    removed = Set(memberships)
    cut(removed)
  }

  private mutating func cut(_ cut: Set<Membership>) {
    for (id, connection) in connections.sorted(by: { $0.key < $1.key })
    where cut.contains(connection.membership) {
      switch connection.phase {
      case .open: close(id, .removed)
      case .waiting:
        forget(id)
        refuse(id, .notAMember)
      case .closing: break
      }
    }
  }
}
