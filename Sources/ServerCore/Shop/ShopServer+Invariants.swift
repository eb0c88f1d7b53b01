public import LinkCore
import LinkWire

// What always holds between the tables of the shops.
extension ShopServer {
  /// Notes each invariant that does not hold now.
  public func check(_ check: inout InvariantCheck) {
    check.require(effects.isEmpty, "shop: nothing is asked for between two inputs")
    check.require(
      connections.count <= policy.maxConnections && requests.count <= policy.maxRequests,
      "shop: connections and requests are bounded")
    check.require(
      sockets.count <= connections.count, "shop: users are counted only while they have sockets")
    check.require(
      mode != .finished || (connections.isEmpty && requests.isEmpty && questions.isEmpty),
      "shop: a drain ends when nothing is left to wait for")
    alarms.check(&check)
    guard check.isThorough else { return }
    checkConnections(&check)
    checkRooms(&check)
    checkRequests(&check)
  }

  private func checkConnections(_ check: inout InvariantCheck) {
    let live = connections.filter { $0.value.isWaiting || $0.value.isOpen }
    let counts = live.values.reduce(into: [String: Int]()) {
      $0[$1.membership.user, default: 0] += 1
    }
    check.require(counts == sockets, "shop: a user's count is that of waiting and open sockets")
    check.require(
      connections.allSatisfy { id, connection in
        connection.wake(policy.timing).map { alarms.rings(id, by: $0) } ?? true
      }, "shop: each accepted socket has an alarm")
    check.require(
      live.allSatisfy { id, connection in
        guard let room = rooms[connection.membership.shop] else { return false }
        return connection.isOpen
          ? room.subscribers.contains(id)
          : room.creditors.contains(id) || room.arrivals.contains { $0.id == id }
      }, "shop: a socket is in the room of its shop")
    switch mode {
    case .serving, .finished: break
    case .draining:
      check.require(
        live.values.allSatisfy(\.isOpen), "shop: nothing new is let in during a drain")
    case .leaving:
      check.require(live.isEmpty, "shop: a server that leaves has closed its sockets")
    }
  }

  private func checkRooms(_ check: inout InvariantCheck) {
    let places = rooms.values.reduce(0) {
      $0 + $1.subscribers.count + $1.creditors.count + $1.arrivals.count
    }
    check.require(
      places == connections.values.count { $0.isWaiting || $0.isOpen },
      "shop: a socket is in one place of one room")
    check.require(
      rooms.values.allSatisfy { room in
        zip(room.subscribers, room.subscribers.dropFirst()).allSatisfy { $0 < $1 }
      }, "shop: the sockets of a room are in order")
    check.require(
      rooms.values.allSatisfy { room in
        room.posts.count <= policy.maxPostsPerShop
          && room.recent.count <= (room.creditors.isEmpty ? 0 : policy.arrearsLimit)
      }, "shop: what a room keeps is bounded")
    guard mode != .finished else { return }
    let owed = questions.values.reduce(into: [ShopID: Int]()) { owed, question in
      switch question {
      case .head(let shop), .append(let shop, _): owed[shop, default: 0] += 1
      case .all, .page, .arrears, .newestSince: break
      }
    }
    check.require(
      rooms.allSatisfy { $0.value.owed == owed[$0.key, default: 0] },
      "shop: a room is owed an answer for each of its questions")
  }

  private func checkRequests(_ check: inout InvariantCheck) {
    var waiting = Set(rooms.values.flatMap { $0.posts.map(\.request) })
    for question in questions.values {
      switch question {
      case .append(_, let id), .all(let id), .page(let id, _), .newestSince(let id, _, _):
        waiting.insert(id)
      case .head, .arrears: break
      }
    }
    check.require(
      waiting.isSuperset(of: requests.keys), "shop: a request waits for the store or its turn")
    check.require(
      questions.keys.allSatisfy { $0.number <= lastToken },
      "shop: each question to the store was numbered")
  }
}
