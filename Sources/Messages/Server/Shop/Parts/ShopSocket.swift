import HoldfastCore
import HoldfastMessageData
import HoldfastServerParts

/// One socket of a shop's stream, from the upgrade request to its end.
struct ShopSocket: Sendable {
  let membership: Membership
  /// The expiry of the token.
  ///
  /// It is computed once, at the upgrade, so that a jump of the wall clock does not close the
  /// socket.
  let expiresAt: Instant
  fileprivate(set) var phase = Phase.waiting

  enum Phase: Sendable {
    /// The upgrade waits for the head of its shop. Exits: accepted, refused, gone.
    case waiting
    /// The socket receives every message until it closes.
    case accepted(SocketLife)
  }

  var isWaiting: Bool {
    switch phase {
    case .waiting: true
    case .accepted: false
    }
  }

  var isOpen: Bool {
    switch phase {
    case .waiting: false
    case .accepted(let life): life.isOpen
    }
  }

  /// Whether the socket counts toward the limit of its user.
  var isLive: Bool { isWaiting || isOpen }

  /// Returns the next instant at which the alarm must fire, or `nil` if the socket waits.
  fileprivate func wake(_ timing: SocketLife.Timing) -> Instant? {
    switch phase {
    case .waiting: nil
    case .accepted(let life):
      life.isOpen ? min(expiresAt, life.wake(timing)) : life.wake(timing)
    }
  }
}

/// The sockets of all streams, whether waiting, open or closing.
struct ShopSockets: Sendable {
  private let timing: SocketLife.Timing
  private var all: [ConnectionID: ShopSocket] = [:]
  /// The number of waiting and open sockets of each user.
  private var users: [String: Int] = [:]
  private var alarms = AlarmQueue<ConnectionID>()

  init(_ timing: SocketLife.Timing) {
    self.timing = timing
  }

  var count: Int { all.count }
  var isEmpty: Bool { all.isEmpty }

  /// The ids of the connections, sorted.
  var connections: [ConnectionID] { all.keys.sorted() }

  subscript(id: ConnectionID) -> ShopSocket? { all[id] }

  func isOpen(_ id: ConnectionID) -> Bool { all[id]?.isOpen == true }

  /// Returns the ids of all connections whose sockets satisfy a condition, sorted.
  func connections(where matches: (ShopSocket) -> Bool) -> [ConnectionID] {
    all.filter { matches($0.value) }.keys.sorted()
  }

  /// Returns the number of waiting and open sockets of a user.
  func count(of user: String) -> Int { users[user, default: 0] }

  /// The number of waiting and open sockets of the user that has most.
  var mostOfUser: Int { users.values.max() ?? 0 }

  /// The time of the first alarm, or `nil` if no socket was accepted.
  var deadline: Instant? { alarms.first }

  /// Returns a connection whose alarm is due, and clears the alarm.
  mutating func takeAlarm(dueAt now: Instant) -> ConnectionID? { alarms.take(dueAt: now) }

  /// Sets the alarm of an accepted socket to the next time at which something is due.
  mutating func arm(_ id: ConnectionID) {
    if let instant = all[id]?.wake(timing) { alarms.set(id, at: instant) }
  }

  /// Adds a socket that waits for the head of its shop.
  mutating func add(_ id: ConnectionID, of membership: Membership, until expiresAt: Instant) {
    all[id] = ShopSocket(membership: membership, expiresAt: expiresAt)
    users[membership.user, default: 0] += 1
  }

  /// Opens a waiting socket and returns its shop.
  mutating func accept(_ id: ConnectionID, at now: Instant) -> ShopID? {
    all[id]?.phase = .accepted(SocketLife(at: now, timing))
    arm(id)
    return all[id]?.membership.shop
  }

  mutating func received(_ id: ConnectionID, at now: Instant) {
    change(id) { $0.received(at: now) }
  }

  /// Returns the action that is due on a socket, or `nil` if the socket waits or is unknown.
  mutating func alarm(_ id: ConnectionID, at now: Instant) -> SocketLife.Alarm? {
    let timing = timing
    return change(id) { $0.alarm(at: now, timing) }
  }

  /// Starts to close a socket, so that it no longer counts for its user. Returns false if it is not
  /// open.
  mutating func close(_ id: ConnectionID, at now: Instant) -> Bool {
    let timing = timing
    guard change(id, { $0.close(at: now, timing) }) == true else { return false }
    free(all[id]?.membership.user)
    arm(id)
    return true
  }

  /// Removes a socket and returns it.
  mutating func remove(_ id: ConnectionID) -> ShopSocket? {
    guard let socket = all.removeValue(forKey: id) else { return nil }
    alarms.clear(id)
    if socket.isLive { free(socket.membership.user) }
    return socket
  }

  private mutating func free(_ user: String?) {
    guard let user else { return }
    let left = users[user, default: 1] - 1
    users[user] = left > 0 ? left : nil
  }

  /// Changes an accepted socket. Returns `nil` if the socket waits or is unknown.
  @discardableResult
  private mutating func change<Result>(
    _ id: ConnectionID, _ change: (inout SocketLife) -> Result
  ) -> Result? {
    guard case .accepted(var life) = all[id]?.phase else { return nil }
    defer { all[id]?.phase = .accepted(life) }
    return change(&life)
  }
}

extension ShopSockets: SelfChecking {
  func check(_ check: inout InvariantCheck) {
    check.require(
      users.count <= all.count, "shop sockets: users are counted only while they have sockets")
    alarms.check(&check)
    guard check.isThorough else { return }
    check.require(
      all.allSatisfy { id, socket in
        socket.wake(timing).map { alarms.rings(id, by: $0) } ?? true
      }, "shop sockets: each accepted socket has an alarm")
    let counts = all.values.filter(\.isLive).reduce(into: [String: Int]()) {
      $0[$1.membership.user, default: 0] += 1
    }
    check.require(
      counts == users, "shop sockets: a user's count is that of waiting and open sockets")
  }

  /// Returns whether a condition holds for every socket.
  func allSatisfy(_ matches: (ConnectionID, ShopSocket) -> Bool) -> Bool {
    all.allSatisfy { matches($0.key, $0.value) }
  }
}
