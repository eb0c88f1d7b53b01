import LinkCore
import LinkWire

/// What the server holds of one shop: who listens, what waits, and how far the log is known.
///
/// Besides pages, the store is asked one thing about a shop at any time: its head, or to take the
/// posts that came meanwhile. So appends keep their order and share a commit, and a subscription
/// that begins at `head` misses nothing: whatever is larger is sent later.
struct ShopRoom: Sendable {
  /// The newest position that was broadcast; `nil` until the store said it.
  var head: Position?
  /// The open sockets, in order of their ids.
  var subscribers: [ConnectionID] = []
  /// Upgrades that wait for the head, in order of arrival.
  var arrivals: [Arrival] = []
  /// Upgrades that wait for their backlog.
  var creditors: Set<ConnectionID> = []
  /// The newest messages that were broadcast since any of these began to wait.
  var recent: [Message] = []
  /// Posts that wait for their turn, in order of arrival.
  var posts: [Post] = []
  /// How many answers the store owes: the head's, or one for each post that it was handed.
  var pendingAnswers = 0
  /// `created_at` of the newest message; no later one is stamped before it.
  var lastStamp: Timestamp?

  struct Arrival: Sendable {
    var id: ConnectionID
    /// What lies after it is wanted first.
    var after: Position?
  }

  struct Post: Sendable {
    var request: RequestID
    /// As its author sent it, with the time of its arrival.
    var message: Message
    var key: UUID128?
  }

  var isAsking: Bool { pendingAnswers > 0 }

  /// Nothing but the memory of the head would be lost with it.
  var isIdle: Bool {
    subscribers.isEmpty && arrivals.isEmpty && creditors.isEmpty && posts.isEmpty && !isAsking
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
    settled(connection)
  }

  /// Keeps what is broadcast for those who wait for what came before it.
  mutating func remember(_ message: Message, atMost limit: Int) {
    guard !creditors.isEmpty else { return }
    recent.append(message)
    if recent.count > limit { recent.removeFirst() }
  }

  /// An upgrade waits no longer; behind the last one nothing is kept.
  mutating func settled(_ connection: ConnectionID) {
    creditors.remove(connection)
    if creditors.isEmpty { recent = [] }
  }

  /// Takes what the store knows of the shop.
  mutating func learn(_ head: Position, newest: Timestamp?) {
    pendingAnswers = 0
    self.head = head
    lastStamp = newest
  }

  /// The time to stamp a message with: whole microseconds, each later than the newest.
  ///
  /// A clock that steps back does not show, however far: who asks for what came since a time that
  /// was stamped misses nothing.
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
