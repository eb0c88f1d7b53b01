import HoldfastCore
import HoldfastMessageData
import HoldfastServerParts

// Other nodes that write the same log. Reports say only that something may lie behind the head of a
// room. What lies there is read from the log, and broadcast in its order.
extension ShopServer {
  mutating func heard(_ news: NodeNews) {
    switch news {
    case .told(let shop, let position): told(position, of: shop)
    case .connected: checks.connected(true, at: now)
    case .interrupted: checks.connected(false, at: now)
    case .cutOff:
      guard lease.end(leavingAt: now.advanced(by: policy.cutOffGrace)) else { return }
      for id in sockets.connections(where: \.isWaiting) {
        forget(id)
        refuse(id, cutOff)
      }
    case .admitted:
      guard lease.take() else { return }
      // Events of the meantime may not have been reported.
      checks.plan(at: now)
    }
  }

  /// The response to every request without a lease.
  var cutOff: Answer {
    .error(503, "this node cannot use its database", retryAfter: policy.busyRetry)
  }

  /// Handles a position that a room may not have broadcast yet.
  mutating func told(_ position: ShopPosition, of shop: ShopID) {
    guard policy.sharesLog, let room = rooms[shop] else { return }
    guard let head = room.head else {
      // The answer to the read of the head may be older.
      rooms[shop]?.hasNews = true
      return
    }
    guard position.epoch != head.epoch || position.offset > head.offset else { return }
    // Without listeners, the next socket reads the head.
    guard room.hasListeners else { return }
    rooms[shop]?.hasNews = true
    readTail(of: shop)
  }

  /// Handles an event that this node stored behind events of other nodes.
  ///
  /// The event is broadcast when the events before it have been read.
  mutating func storedAhead(_ position: ShopPosition, of shop: ShopID) {
    guard rooms[shop]?.hasListeners == true else {
      rooms[shop]?.head = position
      return
    }
    rooms[shop]?.hasNews = true
    readTail(of: shop)
  }

  /// Reads what lies behind the head of a room. At most one such read of a room is under way.
  mutating func readTail(of shop: ShopID) {
    guard let head = rooms[shop]?.head, rooms[shop]?.isReadingTail == false else { return }
    rooms[shop]?.beginTail(at: head)
    emit(.tail(ask(.tail(shop)), shop, .changes(after: head, limit: policy.backlogLimit)))
  }

  mutating func tailRead(_ page: Page, of shop: ShopID) {
    guard let from = rooms[shop]?.tailStart else { return }
    rooms[shop]?.tailStart = nil
    if let head = rooms[shop]?.head, head.epoch == from.epoch {
      if let end = page.end, page.recovered {
        broadcast(page, upTo: end, behind: head, to: shop)
      } else if let end = page.head {
        // The epoch has ended, so all subscribers must catch up.
        rooms[shop]?.head = end
        for id in rooms[shop]?.subscribers ?? [] { close(id, .discontinuity) }
      }
    }
    advance(shop)
    if rooms[shop]?.hasNews == true { readTail(of: shop) }
  }

  /// Broadcasts the events behind the head, at most as many bytes as one commit may have.
  private mutating func broadcast(
    _ page: Page, upTo end: ShopPosition, behind head: ShopPosition, to shop: ShopID
  ) {
    var total = 0
    for (event, isReplaced) in page.tail where event.offset > head.offset {
      let bytes = event.frame(events: true).payload.count
      guard total == 0 || total + bytes <= policy.maxCommitBytes else {
        rooms[shop]?.hasNews = true
        return
      }
      total += bytes
      if isReplaced { broadcastReplaced(event, to: shop) } else { broadcast(event, to: shop) }
      rooms[shop]?.head = event.position
    }
    if end.offset > head.offset { rooms[shop]?.head = end }
    if page.hasNext { rooms[shop]?.hasNews = true }
  }

  /// Broadcasts a post whose text was replaced before it was read. A socket that receives events gets
  /// the edit alone: no event has this position and this text.
  private mutating func broadcastReplaced(_ event: ShopEvent, to shop: ShopID) {
    guard case .posted(let message) = event, let room = rooms[shop] else { return }
    let others = Set(room.eventSubscribers)
    broadcast(
      .message(spoken(message)), to: room.subscribers.filter { !others.contains($0) })
  }

  /// Reads the log for the upgrades that may not be accepted at the head of their room.
  mutating func checkArrivals(of shop: ShopID) {
    guard let room = rooms[shop] else { return }
    guard room.subscribers.isEmpty, room.backlogs.isEmpty else { return readTail(of: shop) }
    // Nobody needs the events before the head.
    guard !room.isAsking, !room.isReadingTail else { return }
    rooms[shop]?.head = nil
    advance(shop)
  }

  /// Refuses the upgrades that waited for the read of a tail that failed. The next comparison of
  /// heads reads it again.
  mutating func tailFailed(of shop: ShopID) {
    guard let room = rooms[shop] else { return }
    rooms[shop]?.tailStart = nil
    rooms[shop]?.arrivals = []
    for arrival in room.arrivals {
      forget(arrival.id)
      refuse(
        arrival.id, .error(503, "the store failed", retryAfter: policy.busyRetry))
    }
    advance(shop)
  }

  /// Returns whether an upgrade may be accepted at the head of its room.
  ///
  /// Without subscribers nobody has noticed a report that was lost. A client may also come from a
  /// node that has broadcast more.
  func isCurrent(_ arrival: ShopRoom.Arrival, in room: ShopRoom, at head: ShopPosition) -> Bool {
    guard policy.sharesLog else { return true }
    // Until a read that has begun is answered, the head is an older one.
    guard !arrival.isChecked else { return !room.isReadingTail }
    guard !room.subscribers.isEmpty else { return false }
    guard let after = arrival.after else { return true }
    return after.epoch == head.epoch && after.offset <= head.offset
  }

  /// The time of the next comparison of heads; `nil` if none is needed.
  var checkDeadline: Instant? {
    policy.sharesLog && lease.isHeld && !sockets.isEmpty ? checks.deadline : nil
  }

  /// Compares the heads of all rooms with listeners with the log, if that is due.
  mutating func checkHeads() {
    guard checkDeadline != nil, checks.begin(at: now) else { return }
    let shops = rooms.filter { $0.value.hasListeners && $0.value.head != nil }.keys.sorted()
    guard !shops.isEmpty else { return }
    checks.ask()
    emit(.heads(ask(.heads(shops)), shops))
  }

  mutating func headsRead(_ heads: [ShopPosition], of shops: [ShopID]) {
    checks.end()
    for (shop, head) in zip(shops, heads) { told(head, of: shop) }
  }

  /// Closes all sockets once the node has had no lease for a while. Most failovers are shorter.
  mutating func leaveIfCutOff() {
    guard lease.leave(at: now) else { return }
    for id in sockets.connections(where: \.isOpen) { close(id, .cutOff) }
  }
}

extension Closure {
  /// The close frame of a node that cannot use its database.
  static let cutOff = Closure(1012, "this node has lost its database")
}

extension Page {
  /// The events of a page of changes, in order.
  ///
  /// An earlier version of a message is missing. Clients that count positions notice that, and catch
  /// up. A post that was edited is there nevertheless, with its last text, for clients that know no
  /// edits.
  fileprivate var tail: [(event: ShopEvent, isReplaced: Bool)] {
    let posts = messages.filter { $0.changed != nil }
      .map { (ShopEvent.posted($0.withoutVersion), true) }
    return (posts + versions.map { ($0, false) }).sorted { $0.0.offset < $1.0.offset }
  }
}
