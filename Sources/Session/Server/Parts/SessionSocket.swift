import HoldfastCore
import HoldfastServerParts
import HoldfastSessionData

/// An accepted connection of a client.
struct SessionSocket: Sendable {
  enum Stage: Sendable, Equatable {
    /// `hello` was sent. Only `ping` and `connect` are accepted. Exits: connected.
    case greeted(challenge: String)
    /// The client proved that it has the key, or its upgrade had a token.
    case connected(Peer)
  }

  /// The client of a connected socket, as `connect` and later messages described it.
  struct Peer: Sendable, Equatable {
    var client: String
    var version: SessionVersion
    var features: Set<SessionFeature>
    /// The maximum size of a message to this client, in bytes.
    var maxBytes: Int
  }

  let address: String
  /// The user whose token the upgrade had; `nil` for a client with the server's key.
  var user: String?
  var life: SocketLife
  var stage: Stage
  /// The responses and windows that wait to be sent.
  var queue = SessionQueue()
  /// The progress of each conversation that the socket subscribes to.
  var subscriptions: [String: Subscription] = [:]
  /// The progress of each prompt whose text is sent in parts.
  var parts: [SessionPromptID: Parts] = [:]

  /// The progress of a client in a conversation.
  struct Subscription: Sendable, Equatable {
    /// The next sequence number to send.
    var next: UInt64
    /// Whether new messages are sent as they arrive. It is false while the client still fetches
    /// windows.
    var isLive: Bool
  }

  struct Parts: Sendable, Equatable {
    /// The number of parts sent.
    var count = 0
    /// The number of bytes of the text that were sent in these parts.
    var bytes = 0
    /// Whether an item for the next part is queued.
    var isQueued = false
  }

  var peer: Peer? {
    switch stage {
    case .greeted: nil
    case .connected(let peer): peer
    }
  }

  /// Returns why a connected client may not subscribe, or `nil` if it may.
  func refusal(
    of subscription: SessionSubscription, limit: Int
  ) -> (code: String, text: String)? {
    let speaksOffsets = peer.map { $0.version >= .newest } ?? false
    switch subscription.cursor {
    case .offset where !speaksOffsets:
      return ("unsupported_subscribe_field", "This version subscribes with last_seq.")
    case .sequence(1...) where speaksOffsets:
      return ("invalid_subscribe", "This version subscribes with from_offset.")
    case .offset, .sequence: break
    }
    guard
      subscriptions.count < limit || subscriptions[subscription.conversation] != nil
    else { return ("too_many_subscriptions", "Unsubscribe from another conversation first.") }
    return nil
  }
}

/// The bulk queue of one socket: its responses and windows, in order.
///
/// An item only identifies its data. The message is created when the item reaches the front, so a
/// queue takes little memory. Urgent messages bypass the queue.
struct SessionQueue: Sendable, Equatable {
  enum Item: Sendable, Hashable {
    /// An answer that was not acknowledged on an earlier connection.
    case replay(SessionPromptID)
    case response(SessionPromptID)
    case turnComplete(conversation: String, isAborted: Bool)
    /// The output of a running prompt that has not been sent on this socket.
    case part(SessionPromptID)
    case window(SessionSubscription)
    case batch([SessionSubscription])
    /// The messages of a conversation after the position that the socket has reached.
    case news(String)
  }

  private(set) var items: [Item] = []
  private var first = 0
  /// The number of bytes passed to the socket since it last reported that it had sent everything.
  private var inFlight = 0
  /// Whether the socket has been asked to report its drain and has not done so.
  private(set) var awaitsDrain = false
  /// The conversations with a queued `news` item.
  private(set) var news: Set<String> = []

  /// The number of waiting subscriptions beyond the first one of each batch.
  private var batched = 0

  /// The number of waiting items. A batch counts once for each of its subscriptions.
  var count: Int { items.count - first + batched }

  mutating func append(_ item: Item) {
    if case .news(let conversation) = item {
      guard news.insert(conversation).inserted else { return }
    }
    batched += item.more
    items.append(item)
  }

  /// Records that the socket has sent everything.
  mutating func drained() { (inFlight, awaitsDrain) = (0, false) }

  /// Records that bytes were passed to the socket.
  ///
  /// Returns true once the bytes in flight reach the limit. The socket then has to report its
  /// drain.
  mutating func sent(_ bytes: Int, limit: Int) -> Bool {
    inFlight += bytes
    guard inFlight >= limit else { return false }
    awaitsDrain = true
    return true
  }

  /// Removes and returns the next item.
  mutating func next() -> Item? {
    guard first < items.count else { return nil }
    let item = items[first]
    first += 1
    if case .news(let conversation) = item { news.remove(conversation) }
    batched -= item.more
    if first == items.count || first > 64 && first > items.count / 2 {
      items.removeFirst(first)
      first = 0
    }
    return item
  }

  /// Returns an item to the front of the queue if it needs further messages.
  mutating func putBack(_ item: Item) {
    if case .news(let conversation) = item { news.insert(conversation) }
    batched += item.more
    if first > 0 {
      first -= 1
      items[first] = item
    } else {
      items.insert(item, at: 0)
    }
  }
}

extension SessionQueue.Item {
  /// The number of subscriptions beyond the first one.
  fileprivate var more: Int {
    switch self {
    case .batch(let all): all.count - 1
    case .replay, .response, .turnComplete, .part, .window, .news: 0
    }
  }
}

/// The sockets of a session server.
struct SessionSockets: Sendable {
  private var table: [ConnectionID: SessionSocket] = [:]
  /// The number of sockets from each address.
  private var addresses: [String: Int] = [:]

  subscript(_ id: ConnectionID) -> SessionSocket? { table[id] }

  /// The number of sockets, including closing ones.
  var count: Int { table.count }

  /// A Boolean value that indicates whether there are no sockets.
  var isEmpty: Bool { table.isEmpty }

  /// The ids of the sockets, sorted.
  var ids: [ConnectionID] { table.keys.sorted() }

  /// Returns the number of sockets from an address.
  func count(from address: String) -> Int { addresses[address] ?? 0 }

  /// The number of sockets from the address that has most.
  var mostFromAddress: Int { addresses.values.max() ?? 0 }

  /// Returns whether a socket exists and is not closing.
  func isOpen(_ id: ConnectionID) -> Bool { table[id]?.life.isOpen == true }

  /// Returns whether a socket receives the new messages of a conversation as they arrive.
  func follows(_ id: ConnectionID, _ conversation: String) -> Bool {
    table[id]?.subscriptions[conversation]?.isLive == true
  }

  mutating func add(_ id: ConnectionID, _ socket: SessionSocket) {
    addresses[socket.address, default: 0] += 1
    table[id] = socket
  }

  mutating func remove(_ id: ConnectionID) -> SessionSocket? {
    guard let socket = table.removeValue(forKey: id) else { return nil }
    let left = count(from: socket.address) - 1
    addresses[socket.address] = left > 0 ? left : nil
    return socket
  }

  /// Changes a socket in place. Returns `nil` if the socket does not exist.
  @discardableResult
  mutating func change<Value>(
    _ id: ConnectionID, _ body: (inout SessionSocket) -> Value
  ) -> Value? {
    guard let index = table.index(forKey: id) else { return nil }
    return body(&table.values[index])
  }

  /// Removes and returns the next item of a socket. Returns `nil` if the socket cannot accept data
  /// now.
  mutating func nextItem(
    of id: ConnectionID
  ) -> (item: SessionQueue.Item, peer: SessionSocket.Peer)? {
    guard let index = table.index(forKey: id), table.values[index].life.isOpen,
      !table.values[index].queue.awaitsDrain, let peer = table.values[index].peer,
      let item = table.values[index].queue.next()
    else { return nil }
    return (item, peer)
  }
}

extension SessionSockets: SelfChecking {
  func check(_ check: inout InvariantCheck) {
    check.require(
      addresses.count <= table.count,
      "session sockets: addresses are counted only while they have sockets")
    guard check.isThorough else { return }
    let counts = table.values.reduce(into: [String: Int]()) { $0[$1.address, default: 0] += 1 }
    check.require(
      counts == addresses, "session sockets: an address's count is that of its sockets")
    check.require(
      table.values.allSatisfy { $0.queue.count == 0 || $0.queue.awaitsDrain },
      "session sockets: queued items wait for the drain of their socket")
  }
}

/// The alarms of the session server.
enum SessionAlarm: Hashable, Comparable, Sendable {
  /// A ping is due, or a socket has been silent or has left a close frame unanswered for too long.
  case socket(ConnectionID)
  /// The next heartbeat is due, or the wait for `connect` ends.
  case beat(ConnectionID)
  /// The token of the socket's user expires.
  case expiry(ConnectionID)
  /// The time limit of a handler or of its cancellation has passed.
  case turn(SessionPromptID)
  /// The retry of failed writes is due.
  case store
  /// The write of delayed acknowledgements is due.
  case acks
  /// The oldest answer or client has to be removed.
  case memory
}

extension Closure {
  /// The client's key is wrong or missing.
  static let unauthorized = Closure(4401, "authentication failed")
  /// The client did not send `connect` in time.
  static let notConnected = Closure(4408, "no connect in time")
  /// The client opened too many sockets. Only its newest sockets stay open.
  static let superseded = Closure(4409, "replaced by newer connections of this client")
  /// The server does not support the client's version.
  static let upgradeRequired = Closure(4426, "unsupported protocol version")
  /// The client announced that it disconnects.
  static let disconnected = Closure(1000, "disconnected")
}
