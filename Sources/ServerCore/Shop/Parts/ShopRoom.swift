import HoldfastCore
import HoldfastWire

/// The server's state of one shop: its sockets, its pending work, and the last known head of its
/// log.
///
/// Apart from reads of pages, at most one store request for a shop is outstanding. It either reads
/// the head, or appends all posts that have arrived in the meantime. Appends therefore keep their
/// order and share a commit. A subscription that starts at `head` misses no message, because every
/// message with a higher position is broadcast later.
struct ShopRoom: Sendable {
  /// The newest position that was broadcast, or `nil` until the store has reported the head.
  var head: ShopPosition?
  /// The open sockets, sorted by id.
  var subscribers: [ConnectionID] = []
  /// The upgrades that wait for the head, in order of arrival.
  var arrivals: [Arrival] = []
  /// The upgrades that wait for their backlog.
  var backlogWaiters: Set<ConnectionID> = []
  /// The newest messages that were broadcast since the first of these upgrades started to wait.
  var recent: [ShopMessage] = []
  /// The posts that wait to be stored, in order of arrival.
  var posts: [Post] = []
  /// The number of outstanding store responses: one for the head, or one for each appended post.
  var pendingAnswers = 0
  /// The `created_at` time of the newest message. Every later message gets a later time.
  var lastStamp: Timestamp?

  struct Arrival: Sendable {
    var id: ConnectionID
    /// The position after which the backlog starts.
    var after: ShopPosition?
  }

  struct Post: Sendable {
    var request: RequestID
    /// The message that the author sent, with the time of its arrival.
    var message: ShopMessage
    var key: UUID128?
  }

  var isAsking: Bool { pendingAnswers > 0 }

  /// Whether removing the room would lose nothing except the cached head.
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
  mutating func remember(_ message: ShopMessage, atMost limit: Int) {
    guard !backlogWaiters.isEmpty else { return }
    recent.append(message)
    if recent.count > limit { recent.removeFirst() }
  }

  /// Records that an upgrade no longer waits. If it was the last one, the recent messages are
  /// removed.
  mutating func finishedBacklog(_ connection: ConnectionID) {
    backlogWaiters.remove(connection)
    if backlogWaiters.isEmpty { recent = [] }
  }

  /// Sets the head and the newest timestamp that the store reported.
  mutating func learn(_ head: ShopPosition, newest: Timestamp?) {
    pendingAnswers = 0
    self.head = head
    lastStamp = newest
  }

  /// Returns the timestamp for a message. It is in whole microseconds and later than all earlier
  /// ones.
  ///
  /// The timestamps increase even if the clock is set back, so a client that requests all messages
  /// after a timestamp misses none.
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
