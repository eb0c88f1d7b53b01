import HoldfastCore
import HoldfastIdentity
import HoldfastMessageData
import HoldfastServerParts

extension ShopServer {
  mutating func upgrade(
    _ id: ConnectionID, to shop: ShopID, after: ShopPosition?, events: Bool,
    _ credential: Credential, wall: Timestamp
  ) {
    switch admit(credential, to: shop, wall: wall) {
    case .refused(let refused):
      refuse(id, refused)
    case .admitted(let claims):
      if let (refused, ceiling) = noRoom(for: claims.user) {
        if let ceiling { metrics.refusals.add(.ceiling(ceiling)) }
        return refuse(id, refused)
      }
      sockets.add(
        id, of: Membership(shop: shop, user: claims.user),
        until: now.advanced(by: wall.duration(to: claims.expiresAt)))
      let arrival = ShopRoom.Arrival(id: id, after: after, events: events && offersEvents)
      enter(shop) { $0.arrivals.append(arrival) }
      advance(shop)
    }
  }

  /// Returns the refusal of an upgrade for which there is no room, with the maximum that is reached;
  /// `nil` if there is room.
  func noRoom(for user: String) -> (answer: Answer, ceiling: Ceiling?)? {
    guard policy.offersStream else { return (.error(503, "the stream is switched off"), nil) }
    guard sockets.count < policy.maxConnections else { return (busy, .streams) }
    guard sockets.count(of: user) < policy.socketsPerUser else {
      return (.error(429, "too many sockets", retryAfter: policy.socketRetry), .userSockets)
    }
    return nil
  }

  mutating func refuse(_ id: ConnectionID, _ answer: Answer) {
    metrics.refusedUpgrade(status: answer.status)
    if answer.status == 503 { countDeparture() }
    emit(.refuse(id, answer))
  }

  /// Opens a socket of a room whose head is known. The caller then sends the events after `after`.
  mutating func open(
    _ id: ConnectionID, head: ShopPosition, after: ShopPosition? = nil, events: Bool
  ) {
    guard let shop = sockets.accept(id, at: now) else { return }
    rooms[shop]?.subscribe(id, events: events)
    metrics.acceptedUpgrades += 1
    switch policy.dialect {
    case .positions: emit(.accept(id, head: head, after: after, events: events))
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
    sockets.arm(id)
  }

  /// Sends a close frame. Nothing more is sent on the socket, and it no longer counts for its user.
  mutating func close(_ id: ConnectionID, _ closure: Closure) {
    guard sockets.close(id, at: now), let socket = sockets[id] else { return }
    rooms[socket.membership.shop]?.leave(id)
    metrics.closed(code: closure.code)
    emit(.close(id, closure))
  }

  mutating func drop(_ id: ConnectionID) {
    forget(id)
    emit(.drop(id))
  }

  mutating func forget(_ id: ConnectionID) {
    guard let socket = sockets.remove(id) else { return }
    if socket.isLive { rooms[socket.membership.shop]?.leave(id) }
  }

  /// Closes the sockets of users who were removed from their shops.
  mutating func cut(_ cut: Set<Membership>) {
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

// The backlog of a client. It is sent on the client's new socket before any newer event.
extension ShopServer {
  /// Whether clients can ask for edits and deletions.
  var offersEvents: Bool {
    switch policy.dialect {
    case .positions: true
    case .plain: false
    }
  }

  /// Opens a socket, or first requests its backlog.
  ///
  /// If the backlog cannot be sent as a whole, the socket opens immediately. The response shows
  /// that no backlog follows, and the client fetches pages.
  mutating func letIn(_ arrival: ShopRoom.Arrival, to shop: ShopID, head: ShopPosition) {
    guard let after = arrival.after, policy.dialect == .positions, after.offset != head.offset,
      isWithinBacklog(after, head), questions.count < policy.maxRequests
    else { return open(arrival.id, head: head, events: arrival.events) }
    rooms[shop]?.backlogs[arrival.id] = ShopRoom.Backlog(after: after, events: arrival.events)
    let token = ask(.backlog(arrival.id, shop))
    let limit = policy.backlogLimit
    emit(
      .page(
        token, shop,
        arrival.events ? .changes(after: after, limit: limit) : .after(after, limit: limit)))
  }

  /// Returns whether few enough events lie between a position and the head.
  private func isWithinBacklog(_ after: ShopPosition, _ head: ShopPosition) -> Bool {
    after.epoch == head.epoch && after.offset <= head.offset
      && head.offset - after.offset <= UInt64(policy.backlogLimit)
  }

  /// Stores the events that the store has read for a socket, and opens the sockets that can open.
  mutating func backlogRead(_ page: Page, for id: ConnectionID, in shop: ShopID) {
    guard rooms[shop]?.backlogs[id] != nil else { return }
    rooms[shop]?.backlogs[id]?.page = page
    if let end = page.end { told(end, of: shop) }
    sendBacklogs(of: shop)
  }

  /// Opens the sockets whose backlog has been read.
  ///
  /// The store may have read changes that have not been broadcast yet. The newest version of a
  /// message then hides the earlier event that a client must not miss. So a socket that receives
  /// events waits for the broadcast of everything in its backlog.
  mutating func sendBacklogs(of shop: ShopID) {
    guard let room = rooms[shop], let head = room.head else { return }
    for (id, backlog) in room.backlogs.sorted(by: { $0.key < $1.key }) {
      guard let page = backlog.page else { continue }
      let isAhead = page.end.map { $0.epoch != head.epoch || $0.offset > head.offset } ?? false
      if isAhead, backlog.events, room.isAsking || room.isReadingTail { continue }
      rooms[shop]?.finishedBacklog(id)
      send(backlog, page, missed: room.recent, to: id, head: head)
    }
  }

  /// Subscribes a socket at the current head, and sends it all events up to that position.
  ///
  /// These events are those of the page, and those that were broadcast since the store read it.
  private mutating func send(
    _ backlog: ShopRoom.Backlog, _ page: Page, missed recent: [ShopEvent], to id: ConnectionID,
    head: ShopPosition
  ) {
    let frames = page.events(backlog, recent, upTo: head)?.map { $0.frame(events: backlog.events) }
    // The head may have moved while the store read.
    guard let frames, isWithinBacklog(backlog.after, head),
      frames.reduce(0, { $0 + $1.payload.count }) <= policy.maxBacklogBytes
    else { return open(id, head: head, events: backlog.events) }
    open(id, head: head, after: backlog.after, events: backlog.events)
    metrics.frames += UInt64(frames.count)
    for frame in frames { emit(.send(frame, to: [id])) }
  }
}

extension Page {
  /// The position up to which a backlog's page is complete, or `nil` if it is unknown.
  var end: ShopPosition? { through ?? head }

  /// Returns all events that a client missed, in order; `nil` if they are not known to be complete.
  ///
  /// A client without events counts positions to find out whether it misses something. So it gets
  /// nothing if an edit or a deletion lies between its messages, and fetches a page.
  fileprivate func events(
    _ backlog: ShopRoom.Backlog, _ recent: [ShopEvent], upTo head: ShopPosition
  ) -> [ShopEvent]? {
    guard recovered, !hasNext, let end, end.epoch == head.epoch,
      end.offset >= backlog.after.offset, !backlog.events || end.offset <= head.offset
    else { return nil }
    let later = recent.filter { $0.position?.epoch == end.epoch && $0.offset > end.offset }
    // Offsets are dense, so their number shows whether all later events are known.
    guard UInt64(later.count) == head.offset - min(end.offset, head.offset) else { return nil }
    let read = backlog.events ? versions : messages.map(ShopEvent.posted)
    // Messages that the store has stored but not reported yet are broadcast later.
    let due = read.filter { $0.offset <= head.offset }
    let all = due + later
    let offsets = [backlog.after.offset] + all.map(\.offset)
    let steps = zip(offsets, offsets.dropFirst())
    let isWhole =
      backlog.events
      ? steps.allSatisfy(<) && due.last?.offset ?? backlog.after.offset == end.offset
      : steps.allSatisfy { $1 == $0 + 1 } && all.allSatisfy(\.isPost)
    return isWhole && offsets.last == head.offset ? all : nil
  }

  /// The newest event of each message on a page of changes, in order.
  var versions: [ShopEvent] {
    let changed = messages.map { $0.changed == nil ? ShopEvent.posted($0) : .edited($0) }
    return (changed + deleted.map(ShopEvent.deleted)).sorted { $0.offset < $1.offset }
  }
}

extension ShopEvent {
  var offset: UInt64 { position?.offset ?? 0 }

  var isPost: Bool {
    switch self {
    case .posted: true
    case .edited, .deleted: false
    }
  }

  /// Returns the frame of the event. Only sockets that receive events know versions of messages.
  func frame(events: Bool) -> Frame {
    switch self {
    case .edited(let message) where events: .edited(message)
    case .posted(let message), .edited(let message): .message(message.withoutVersion)
    case .deleted(let deletion): .deleted(deletion)
    }
  }
}

extension ShopMessage {
  /// The message without the position of its newest edit.
  var withoutVersion: ShopMessage {
    var message = self
    message.changed = nil
    return message
  }
}
