import HoldfastCore
import HoldfastWire

extension ShopServer {
  mutating func upgrade(
    _ id: ConnectionID, to shop: ShopID, after: ShopPosition?, _ credential: Credential,
    wall: Timestamp
  ) {
    switch admit(credential, to: shop, wall: wall) {
    case .refused(let refused):
      refuse(id, refused)
    case .admitted(let claims):
      if let refused = noRoom(for: claims.user) { return refuse(id, refused) }
      sockets.add(
        id, of: Membership(shop: shop, user: claims.user),
        until: now.advanced(by: wall.duration(to: claims.expiresAt)))
      enter(shop) { $0.arrivals.append(ShopRoom.Arrival(id: id, after: after)) }
      advance(shop)
    }
  }

  private func noRoom(for user: String) -> Answer? {
    guard policy.offersStream else { return .error(503, "the stream is switched off") }
    guard sockets.count < policy.maxConnections else { return busy }
    guard sockets.count(of: user) < policy.socketsPerUser else {
      return .error(429, "too many sockets", retryAfter: policy.socketRetry)
    }
    return nil
  }

  mutating func refuse(_ id: ConnectionID, _ answer: Answer) {
    metrics.refusedUpgrade(status: answer.status)
    emit(.refuse(id, answer))
  }

  /// Opens a socket of a room whose head is known. The caller then sends the messages after
  /// `after`.
  mutating func open(_ id: ConnectionID, head: ShopPosition, after: ShopPosition? = nil) {
    guard let shop = sockets.accept(id, at: now) else { return }
    rooms[shop]?.subscribe(id)
    arm(id)
    metrics.acceptedUpgrades += 1
    switch policy.dialect {
    case .positions: emit(.accept(id, head: head, after: after))
    case .plain: emit(.accept(id, head: nil))
    }
  }

  mutating func received(_ id: ConnectionID) {
    sockets.received(id, at: now)
  }

  mutating func overflowed(_ id: ConnectionID) {
    guard sockets.isOpen(id) else { return }
    metrics.slowReaders += 1
    close(id, .slowReader)
  }

  mutating func gone(_ id: ConnectionID, code: UInt16) {
    if sockets.isOpen(id) { metrics.closed(code: code) }
    forget(id)
  }

  /// Handles the alarm of a connection.
  mutating func wake(_ id: ConnectionID) {
    guard let socket = sockets[id] else { return }
    if socket.isOpen, now >= socket.expiresAt { return close(id, .expired) }
    switch sockets.alarm(id, at: now) {
    case nil: return
    case .unanswered: return drop(id)
    case .silent:
      metrics.silent += 1
      metrics.closed(code: 1006)
      return drop(id)
    case .ping:
      metrics.pings += 1
      emit(.ping(id))
    case .early: break
    }
    arm(id)
  }

  /// Sends a close frame. Nothing more is sent on the socket, and it no longer counts for its user.
  mutating func close(_ id: ConnectionID, _ closure: Closure) {
    guard sockets.close(id, at: now), let socket = sockets[id] else { return }
    rooms[socket.membership.shop]?.leave(id)
    arm(id)
    metrics.closed(code: closure.code)
    emit(.close(id, closure))
  }

  mutating func drop(_ id: ConnectionID) {
    forget(id)
    emit(.drop(id))
  }

  mutating func forget(_ id: ConnectionID) {
    guard let socket = sockets.remove(id) else { return }
    alarms.clear(id)
    if socket.isLive { rooms[socket.membership.shop]?.leave(id) }
  }

  private mutating func arm(_ id: ConnectionID) {
    if let instant = sockets.wake(id) { alarms.set(id, at: instant) }
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
    for id in sockets.connections(where: { cut.contains($0.membership) }) {
      guard sockets[id]?.isWaiting == true else {
        close(id, .removed)
        continue
      }
      forget(id)
      refuse(id, .notAMember)
    }
  }
}

// The backlog of a client. It is sent on the client's new socket before any newer message.
extension ShopServer {
  /// Opens a socket, or first requests its backlog.
  ///
  /// If the backlog cannot be sent as a whole, the socket opens immediately. The response shows
  /// that no backlog follows, and the client fetches pages.
  mutating func letIn(_ arrival: ShopRoom.Arrival, to shop: ShopID, head: ShopPosition) {
    guard let after = arrival.after, policy.dialect == .positions, after.epoch == head.epoch,
      after.offset < head.offset, head.offset - after.offset <= UInt64(policy.backlogLimit),
      questions.count < policy.maxRequests
    else { return open(arrival.id, head: head) }
    rooms[shop]?.backlogWaiters.insert(arrival.id)
    let token = ask(.backlog(arrival.id, shop, after: after))
    emit(.page(token, shop, .after(after, limit: policy.backlogLimit)))
  }

  /// Subscribes a socket at the current head, and sends it all messages up to that position.
  ///
  /// These messages are those of the page, and those that were broadcast while the store read it.
  mutating func sendBacklog(
    _ page: Page, after: ShopPosition, to id: ConnectionID, in shop: ShopID
  ) {
    guard let room = rooms[shop], room.backlogWaiters.contains(id), let head = room.head else {
      return
    }
    // Messages that the store has stored but not reported yet are broadcast later.
    var missed = page.messages.filter { $0.offset <= head.offset }
    let end = missed.last?.offset ?? after.offset
    missed += room.recent.filter { $0.offset > end }
    rooms[shop]?.finishedBacklog(id)
    let frames = missed.map { Frame.message(spoken($0)) }
    guard page.recovered, missed.leads(from: after, to: head),
      frames.reduce(0, { $0 + $1.payload.count }) <= policy.maxBacklogBytes
    else { return open(id, head: head) }
    open(id, head: head, after: after)
    metrics.frames += UInt64(frames.count)
    for frame in frames { emit(.send(frame, to: [id])) }
  }
}

extension ShopMessage {
  fileprivate var offset: UInt64 { position?.offset ?? 0 }
}

extension [ShopMessage] {
  /// Returns whether these are all messages between two positions, in order.
  fileprivate func leads(from start: ShopPosition, to end: ShopPosition) -> Bool {
    guard start.epoch == end.epoch else { return false }
    var offset = start.offset
    for message in self {
      offset += 1
      guard message.position == ShopPosition(epoch: end.epoch, offset: offset) else { return false }
    }
    return offset == end.offset
  }
}
