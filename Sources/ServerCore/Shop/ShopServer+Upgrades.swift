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
      connections[id] = ShopSocket(
        membership: Membership(shop: shop, user: claims.user),
        expiresAt: now.advanced(by: wall.duration(to: claims.expiresAt)), phase: .waiting)
      sockets[claims.user, default: 0] += 1
      enter(shop) { $0.arrivals.append(ShopRoom.Arrival(id: id, after: after)) }
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
    connection.phase = .accepted(SocketLife(at: now, policy.timing))
    connections[id] = connection
    rooms[connection.membership.shop]?.subscribe(id)
    arm(id)
    metrics.acceptedUpgrades += 1
    switch policy.dialect {
    case .positions: effects.append(.accept(id, head: head, after: after))
    case .plain: effects.append(.accept(id, head: nil))
    }
  }

  mutating func heard(_ id: ConnectionID) {
    change(id) { life, now, _ in life.heard(at: now) }
  }

  mutating func overflowed(_ id: ConnectionID) {
    guard connections[id]?.isOpen == true else { return }
    metrics.slowReaders += 1
    close(id, .slowReader)
  }

  mutating func gone(_ id: ConnectionID, code: UInt16) {
    if connections[id]?.isOpen == true { metrics.closed(code: code) }
    forget(id)
  }

  /// Handles the alarm of a connection.
  mutating func wake(_ id: ConnectionID) {
    guard let connection = connections[id] else { return }
    if connection.isOpen, now >= connection.expiresAt { return close(id, .expired) }
    switch change(id, { life, now, timing in life.alarm(at: now, timing) }) {
    case nil: return
    case .unanswered: return drop(id)
    case .silent:
      metrics.silent += 1
      metrics.closed(code: 1006)
      return drop(id)
    case .ping:
      metrics.pings += 1
      effects.append(.ping(id))
    case .early: break
    }
    arm(id)
  }

  /// Sends a close frame; from then on the socket is sent nothing and frees its user's place.
  mutating func close(_ id: ConnectionID, _ closure: Closure) {
    guard change(id, { life, now, timing in life.close(at: now, timing) }) == true else {
      return
    }
    if let connection = connections[id] { leave(id, connection.membership) }
    arm(id)
    metrics.closed(code: closure.code)
    effects.append(.close(id, closure))
  }

  /// Changes an accepted socket; returns `nil` for one that waits or is not known.
  @discardableResult
  private mutating func change<Result>(
    _ id: ConnectionID, _ change: (inout SocketLife, Instant, SocketLife.Timing) -> Result
  ) -> Result? {
    guard case .accepted(var life) = connections[id]?.phase else { return nil }
    defer { connections[id]?.phase = .accepted(life) }
    return change(&life, now, policy.timing)
  }

  mutating func drop(_ id: ConnectionID) {
    forget(id)
    effects.append(.drop(id))
  }

  mutating func forget(_ id: ConnectionID) {
    guard let connection = connections.removeValue(forKey: id) else { return }
    alarms.clear(id)
    if connection.isWaiting || connection.isOpen { leave(id, connection.membership) }
  }

  private mutating func leave(_ id: ConnectionID, _ membership: Membership) {
    rooms[membership.shop]?.leave(id)
    let left = sockets[membership.user, default: 1] - 1
    sockets[membership.user] = left > 0 ? left : nil
  }

  private mutating func arm(_ id: ConnectionID) {
    if let instant = connections[id]?.wake(policy.timing) { alarms.set(id, at: instant) }
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
      guard connection.isWaiting else {
        close(id, .removed)
        continue
      }
      forget(id)
      refuse(id, .notAMember)
    }
  }
}
