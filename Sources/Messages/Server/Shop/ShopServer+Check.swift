public import HoldfastCore
import HoldfastMessageData
import HoldfastServerParts

// The invariants between the tables of the server.
extension ShopServer {
  /// Records each invariant that does not hold.
  public func check(_ check: inout InvariantCheck) {
    frame.check(&check)
    check.require(
      sockets.count <= policy.maxConnections && requests.count <= policy.maxRequests,
      "shop: connections and requests are bounded")
    check.require(
      !frame.isFinished || (sockets.isEmpty && requests.isEmpty && questions.isEmpty),
      "shop: a drain ends when nothing is left to wait for")
    sockets.check(&check)
    rate.check(&check)
    guard check.isThorough else { return }
    checkConnections(&check)
    checkRooms(&check)
    checkRequests(&check)
  }

  private func checkConnections(_ check: inout InvariantCheck) {
    check.require(
      sockets.allSatisfy { id, socket in
        guard socket.isLive else { return true }
        guard let room = rooms[socket.membership.shop] else { return false }
        return socket.isOpen
          ? room.subscribers.contains(id)
          : room.backlogs[id] != nil || room.arrivals.contains { $0.id == id }
      }, "shop: a socket is in the room of its shop")
    switch frame.mode {
    case .serving, .finished: break
    case .draining:
      check.require(
        sockets.allSatisfy { !$1.isWaiting }, "shop: nothing new is let in during a drain")
    case .leaving:
      check.require(
        sockets.allSatisfy { !$1.isLive }, "shop: a server that leaves has closed its sockets")
    }
  }

  private func checkRooms(_ check: inout InvariantCheck) {
    let count = rooms.values.reduce(0) {
      $0 + $1.subscribers.count + $1.backlogs.count + $1.arrivals.count
    }
    check.require(
      count == sockets.connections(where: \.isLive).count,
      "shop: a socket is in one place of one room")
    check.require(
      rooms.values.allSatisfy { room in
        zip(room.subscribers, room.subscribers.dropFirst()).allSatisfy { $0 < $1 }
      }, "shop: the sockets of a room are in order")
    check.require(
      rooms.values.allSatisfy { room in
        room.eventSubscribers == room.subscribers.filter(Set(room.eventSubscribers).contains)
      }, "shop: sockets with events are sockets of the room")
    check.require(
      rooms.values.allSatisfy { room in
        room.changes.count <= policy.maxPostsPerShop
          && room.recent.count <= (room.backlogs.isEmpty ? 0 : policy.backlogLimit)
      }, "shop: what a room keeps is bounded")
    guard !frame.isFinished else { return }
    let pending = questions.all.reduce(into: [ShopID: Int]()) { pending, question in
      switch question {
      case .head(let shop), .append(let shop, _): pending[shop, default: 0] += 1
      case .heads, .tail, .shop, .all, .page, .backlog, .newestSince, .forget: break
      }
    }
    check.require(
      rooms.allSatisfy { $0.value.pendingAnswers == pending[$0.key, default: 0] },
      "shop: a room waits for an answer for each of its questions")
  }

  private func checkRequests(_ check: inout InvariantCheck) {
    var waiting = Set(rooms.values.flatMap { $0.changes.map(\.request) })
    for question in questions.all {
      switch question {
      case .append(_, let id), .shop(let id, _), .all(let id), .page(let id, _, _),
        .newestSince(let id, _, _):
        waiting.insert(id)
      case .head, .heads, .tail, .backlog, .forget: break
      }
    }
    check.require(
      waiting.isSuperset(of: requests.keys), "shop: a request waits for the store or its turn")
  }
}
