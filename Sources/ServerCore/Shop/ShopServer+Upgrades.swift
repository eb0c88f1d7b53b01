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

// What a client missed, sent on its new socket before anything newer.
extension ShopServer {
  /// Opens a socket, or asks for what it wants first.
  ///
  /// Whoever wants what cannot be had in one piece is not kept waiting: it sees by the answer that
  /// nothing is sent first, and asks for pages.
  mutating func letIn(_ arrival: ShopRoom.Arrival, to shop: ShopID, head: Position) {
    guard let after = arrival.after, policy.dialect == .positions, after.epoch == head.epoch,
      after.offset < head.offset, head.offset - after.offset <= UInt64(policy.backlogLimit),
      questions.count < policy.maxRequests
    else { return open(arrival.id, head: head) }
    rooms[shop]?.creditors.insert(arrival.id)
    let token = ask(.backlog(arrival.id, shop, after: after))
    effects.append(.page(token, shop, .after(after, limit: policy.backlogLimit)))
  }

  /// Subscribes a socket at the present head and sends it all up to there: the page, and what was
  /// broadcast while the store read it.
  mutating func settle(
    _ page: Page, after: Position, to id: ConnectionID, in shop: ShopID
  ) {
    guard let room = rooms[shop], room.creditors.contains(id), let head = room.head else { return }
    // What the store has and has not answered for yet is sent to everybody when it does.
    var missed = page.messages.filter { $0.offset <= head.offset }
    let end = missed.last?.offset ?? after.offset
    missed += room.recent.filter { $0.offset > end }
    rooms[shop]?.settled(id)
    let frames = missed.map { Frame.message(spoken($0)) }
    guard page.recovered, missed.leads(from: after, to: head),
      frames.reduce(0, { $0 + $1.payload.count }) <= policy.maxBacklogBytes
    else { return open(id, head: head) }
    open(id, head: head, after: after)
    metrics.frames += UInt64(frames.count)
    for frame in frames { effects.append(.send(frame, to: [id])) }
  }
}

extension Message {
  fileprivate var offset: UInt64 { position?.offset ?? 0 }
}

extension [Message] {
  /// Whether they are all that lies between two positions, in order.
  fileprivate func leads(from start: Position, to end: Position) -> Bool {
    guard start.epoch == end.epoch else { return false }
    var offset = start.offset
    for message in self {
      offset += 1
      guard message.position == Position(epoch: end.epoch, offset: offset) else { return false }
    }
    return offset == end.offset
  }
}
