import LinkCore
import LinkWire

/// The server's state of one shop: its sockets, its pending work, and the known end of its log.
///
/// Apart from pages, at most one request for a shop is outstanding at the store: to read its head,
/// or to append the posts that arrived meanwhile. Appends therefore keep their order and share a
/// commit. A subscription that starts at `head` misses nothing, since every message with a higher
/// position is sent later.
struct ShopRoom: Sendable {
  /// The newest position that was broadcast; `nil` until the store has reported it.
  var head: Position?
  /// The open sockets, sorted by id.
  var subscribers: [ConnectionID] = []
  /// Upgrades that wait for the head, in order of arrival.
  var arrivals: [Arrival] = []
  /// Upgrades that wait for their backlog.
  var backlogWaiters: Set<ConnectionID> = []
  /// The newest messages broadcast since the first of these upgrades started to wait.
  var recent: [Message] = []
  /// Posts that wait to be stored, in order of arrival.
  var posts: [Post] = []
  /// The number of outstanding store responses: one for the head, or one for each appended post.
  var pendingAnswers = 0
  /// The `created_at` of the newest message; no later message gets an earlier one.
  var lastStamp: Timestamp?

  struct Arrival: Sendable {
    var id: ConnectionID
    /// The position after which the backlog starts.
    var after: Position?
  }

  struct Post: Sendable {
    var request: RequestID
    /// The message as its author sent it, with the time of its arrival.
    var message: Message
    var key: UUID128?
  }

  var isAsking: Bool { pendingAnswers > 0 }

  /// Whether only the cached head would be lost with the room.
  var isIdle: Bool {
    subscribers.isEmpty && arrivals.isEmpty && backlogWaiters.isEmpty && posts.isEmpty && !isAsking
  }

  mutating func subscribe(_ connection: ConnectionID) {
    subscribers.insert(connection, at: index(of: connection))
  }

  mutating func leave(_ connection: ConnectionID) {
    let index = index(of: connection)
    if index < subscribers.count, subscribers[index] == connection {
      subscribers.remove(at: index)
    }
    arrivals.removeAll { $0.id == connection }
    finishedBacklog(connection)
  }

  /// Stores a broadcast message for upgrades that wait for their backlog.
  mutating func remember(_ message: Message, atMost limit: Int) {
    guard !backlogWaiters.isEmpty else { return }
    recent.append(message)
    if recent.count > limit { recent.removeFirst() }
  }

  /// Records that an upgrade no longer waits. After the last one, the recent messages are removed.
  mutating func finishedBacklog(_ connection: ConnectionID) {
    backlogWaiters.remove(connection)
    if backlogWaiters.isEmpty { recent = [] }
  }

  /// Sets the head and the newest time stamp that the store reported.
  mutating func learn(_ head: Position, newest: Timestamp?) {
    pendingAnswers = 0
    self.head = head
    lastStamp = newest
  }

  /// Returns the time stamp for a message, in whole microseconds and later than the newest one.
  ///
  /// A clock that steps back has no effect, however far it steps: a client that requests messages
  /// since a stamped time misses nothing.
  func stamp(_ wall: Timestamp) -> Timestamp {
    let now = Timestamp(nanoseconds: wall.nanoseconds - wall.nanoseconds % 1_000)
    return lastStamp.map { max(now, $0.advanced(by: .microseconds(1))) } ?? now
  }

  private func index(of connection: ConnectionID) -> Int {
    var low = 0
    var high = subscribers.count
    while low < high {
      let middle = (low + high) / 2
      if subscribers[middle] < connection { low = middle + 1 } else { high = middle }
    }
    return low
  }
}
