import HoldfastCore
import HoldfastMessageData

/// The server's state of one shop: its sockets, its pending work, and the last known head of its
/// log.
///
/// Apart from reads of pages and of events that other nodes stored, at most one store request for a
/// shop is outstanding. It either reads the head, or appends all changes that have arrived in the
/// meantime. Appends therefore keep their order and share a commit. A subscription that starts at
/// `head` misses no event, because every event with a higher position, or a newer event of the same
/// message, is broadcast later.
struct ShopRoom: Sendable {
  /// The newest position that was broadcast, or `nil` until the store has reported the head.
  var head: ShopPosition?
  /// The open sockets, sorted by id.
  var subscribers: [ConnectionID] = []
  /// Those of the open sockets that receive edits and deletions, sorted by id.
  var eventSubscribers: [ConnectionID] = []
  /// The upgrades that wait for the head, in order of arrival.
  var arrivals: [Arrival] = []
  /// The upgrades that wait for their backlog.
  var backlogs: [ConnectionID: Backlog] = [:]
  /// The newest events that were broadcast since the first of these upgrades started to wait.
  var recent: [ShopEvent] = []
  /// The changes that wait to be stored, in order of arrival.
  var changes: [Change] = []
  /// The number of outstanding store responses: one for the head, or one for each appended change.
  var pendingAnswers = 0
  /// The newest time that was assigned to a message. Every later message gets a later time.
  var lastStamp: Timestamp?
  /// The head at the begin of the outstanding read of what lies behind it; `nil` if there is none.
  var tailStart: ShopPosition?
  /// Whether something may lie behind the head that no outstanding read returns.
  var hasNews = false

  struct Arrival: Sendable {
    var id: ConnectionID
    /// The position after which the backlog starts.
    var after: ShopPosition?
    /// Whether the socket receives edits and deletions.
    var events = false
    /// Whether a read of the log has begun since the upgrade arrived.
    var isChecked = false
  }

  struct Backlog: Sendable {
    /// The position after which the backlog starts.
    var after: ShopPosition
    /// Whether the socket receives edits and deletions.
    var events: Bool
    /// The events that the store has read, or `nil` until then.
    var page: Page?
  }

  /// A post, an edit or a deletion that waits to be stored.
  struct Change: Sendable {
    var request: RequestID
    /// The change, with the time of its arrival.
    var change: LogRequest
    /// The display name of its author.
    var name: String
  }

  var isAsking: Bool { pendingAnswers > 0 }

  var isReadingTail: Bool { tailStart != nil }

  /// Whether a socket waits for the events of the room, or will do so.
  var hasListeners: Bool { !subscribers.isEmpty || !arrivals.isEmpty || !backlogs.isEmpty }

  /// Whether removing the room would lose nothing except the cached head.
  var isIdle: Bool {
    !hasListeners && changes.isEmpty && !isAsking && !isReadingTail
  }

  /// Records that the head is being read.
  mutating func beginHead() {
    (pendingAnswers, hasNews) = (1, false)
    checkArrivals()
  }

  /// Records that what lies behind the head is being read.
  mutating func beginTail(at head: ShopPosition) {
    (tailStart, hasNews) = (head, false)
    checkArrivals()
  }

  private mutating func checkArrivals() {
    for index in arrivals.indices { arrivals[index].isChecked = true }
  }

  mutating func subscribe(_ connection: ConnectionID, events: Bool) {
    subscribers.insert(sorted: connection)
    if events { eventSubscribers.insert(sorted: connection) }
  }

  mutating func leave(_ connection: ConnectionID) {
    subscribers.remove(sorted: connection)
    eventSubscribers.remove(sorted: connection)
    arrivals.removeAll { $0.id == connection }
    finishedBacklog(connection)
  }

  /// Stores a broadcast event for upgrades that wait for their backlog.
  mutating func remember(_ event: ShopEvent, atMost limit: Int) {
    guard !backlogs.isEmpty else { return }
    recent.append(event)
    if recent.count > limit { recent.removeFirst() }
  }

  /// Records that an upgrade no longer waits. If it was the last one, the recent events are removed.
  mutating func finishedBacklog(_ connection: ConnectionID) {
    backlogs[connection] = nil
    if backlogs.isEmpty { recent = [] }
  }

  /// Sets the head and the newest timestamp that the store reported.
  mutating func learn(_ head: ShopPosition, newest: Timestamp?) {
    pendingAnswers = 0
    self.head = head
    lastStamp = newest
  }

  /// Returns the time stamp for a message or an edit. It is in whole microseconds and later than all
  /// earlier ones.
  ///
  /// The timestamps increase even if the clock is set back, so a client that requests all messages
  /// after a timestamp misses none.
  func stamp(_ wall: Timestamp) -> Timestamp {
    let now = Timestamp(nanoseconds: wall.nanoseconds - wall.nanoseconds % 1_000)
    return lastStamp.map { max(now, $0.advanced(by: .microseconds(1))) } ?? now
  }
}

extension [ConnectionID] {
  fileprivate mutating func insert(sorted connection: ConnectionID) {
    insert(connection, at: index(of: connection))
  }

  fileprivate mutating func remove(sorted connection: ConnectionID) {
    let index = index(of: connection)
    if index < count, self[index] == connection { remove(at: index) }
  }

  /// Returns the number of connections that precede one.
  private func index(of connection: ConnectionID) -> Int {
    var low = 0
    var high = count
    while low < high {
      let middle = (low + high) / 2
      if self[middle] < connection { low = middle + 1 } else { high = middle }
    }
    return low
  }
}
