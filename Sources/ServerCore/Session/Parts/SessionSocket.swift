import LinkCore
import LinkStorage
import LinkWire

/// An accepted connection of a client.
struct SessionSocket: Sendable {
  enum Stage: Sendable, Equatable {
    /// `hello` was sent; nothing but `ping` and `connect` is taken. Exits: connected.
    case greeted(challenge: String)
    /// The client showed the key.
    case connected(Peer)
  }

  /// The client of a connected socket, as `connect` and later messages describe it.
  struct Peer: Sendable, Equatable {
    var client: String
    var version: SessionVersion
    var features: Set<SessionFeature>
    /// The longest message that it takes, in bytes.
    var maxBytes: Int
  }

  let address: String
  var life: SocketLife
  var stage: Stage
  /// Responses and windows on their way to the client.
  var lane = SessionLane()
  /// The place behind what was sent of each conversation that it subscribes to.
  var subscriptions: [String: Subscription] = [:]
  /// The place up to which the text of each prompt was sent in parts.
  var parts: [SessionPromptID: Parts] = [:]

  /// How far the client follows a conversation.
  struct Subscription: Sendable, Equatable {
    /// The next sequence number to send.
    var next: UInt64
    /// Whether new messages are sent as they come; false while the client still fetches windows.
    var isLive: Bool
  }

  struct Parts: Sendable, Equatable {
    /// The number of parts that were sent.
    var count = 0
    /// The bytes of the text that they hold.
    var bytes = 0
    /// Whether a parcel for the next one waits.
    var isQueued = false
  }

  var peer: Peer? {
    switch stage {
    case .greeted: nil
    case .connected(let peer): peer
    }
  }

  /// Returns why a connected client may not subscribe as it says; nil if it may.
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

/// The responses and windows that wait for one socket, in order: its bulk lane.
///
/// A parcel names what is to be sent and is turned into a message when its turn comes, so that a
/// lane takes little memory. What is urgent does not go this way.
struct SessionLane: Sendable, Equatable {
  enum Parcel: Sendable, Hashable {
    /// An answer that was not acknowledged on an earlier connection.
    case replay(SessionPromptID)
    case response(SessionPromptID)
    case turnComplete(conversation: String, isAborted: Bool)
    /// What a running prompt has produced and this socket was not sent.
    case part(SessionPromptID)
    case window(SessionSubscription)
    case batch([SessionSubscription])
    /// What a conversation has behind the socket's subscription.
    case news(String)
  }

  private(set) var parcels: [Parcel] = []
  private var first = 0
  /// Bytes that were given to the socket since it was last known to have taken all.
  private var inFlight = 0
  /// Whether `noticeDrain` is unanswered.
  private(set) var awaitsDrain = false
  /// The conversations whose news wait, each once.
  private(set) var news: Set<String> = []

  /// How many subscriptions beyond the first one of each batch wait.
  private var batched = 0

  /// Parcels that wait; a batch counts as its subscriptions.
  var count: Int { parcels.count - first + batched }

  mutating func append(_ parcel: Parcel) {
    if case .news(let conversation) = parcel {
      guard news.insert(conversation).inserted else { return }
    }
    batched += parcel.more
    parcels.append(parcel)
  }

  /// Notes that the socket has taken everything.
  mutating func drained() { (inFlight, awaitsDrain) = (0, false) }

  /// Notes that bytes were given to the socket; returns whether it is now to report its drain,
  /// because as many are on their way as are allowed.
  mutating func sent(_ bytes: Int, limit: Int) -> Bool {
    inFlight += bytes
    guard inFlight >= limit else { return false }
    awaitsDrain = true
    return true
  }

  /// Takes the next parcel.
  mutating func next() -> Parcel? {
    guard first < parcels.count else { return nil }
    let parcel = parcels[first]
    first += 1
    if case .news(let conversation) = parcel { news.remove(conversation) }
    batched -= parcel.more
    if first == parcels.count || first > 64 && first > parcels.count / 2 {
      parcels.removeFirst(first)
      first = 0
    }
    return parcel
  }

  /// Puts a parcel in front of all others: it is sent in several messages.
  mutating func putBack(_ parcel: Parcel) {
    if case .news(let conversation) = parcel { news.insert(conversation) }
    batched += parcel.more
    if first > 0 {
      first -= 1
      parcels[first] = parcel
    } else {
      parcels.insert(parcel, at: 0)
    }
  }
}

extension SessionLane.Parcel {
  /// Its subscriptions beyond the first one.
  fileprivate var more: Int {
    switch self {
    case .batch(let all): all.count - 1
    case .replay, .response, .turnComplete, .part, .window, .news: 0
    }
  }
}

/// The sockets of a server of sessions.
struct SessionSockets: Sendable {
  private var table: [ConnectionID: SessionSocket] = [:]
  /// The number of sockets of each address that has some.
  private var addresses: [String: Int] = [:]

  subscript(_ id: ConnectionID) -> SessionSocket? { table[id] }

  /// How many sockets there are, closing ones included.
  var count: Int { table.count }

  /// Whether there is no socket.
  var isEmpty: Bool { table.isEmpty }

  /// The ids in order.
  var ids: [ConnectionID] { table.keys.sorted() }

  /// How many sockets an address has.
  func count(from address: String) -> Int { addresses[address] ?? 0 }

  /// Whether a socket is there and not closing.
  func isOpen(_ id: ConnectionID) -> Bool { table[id]?.life.isOpen == true }

  /// Whether a socket is sent the new messages of a conversation as they come.
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

  /// Changes a socket in place; returns nil if it is gone.
  @discardableResult
  mutating func change<Value>(
    _ id: ConnectionID, _ body: (inout SessionSocket) -> Value
  ) -> Value? {
    guard let index = table.index(forKey: id) else { return nil }
    return body(&table.values[index])
  }

  /// Takes the next parcel for an open, connected socket that takes more.
  mutating func nextParcel(
    of id: ConnectionID
  ) -> (parcel: SessionLane.Parcel, peer: SessionSocket.Peer)? {
    guard let index = table.index(forKey: id), table.values[index].life.isOpen,
      !table.values[index].lane.awaitsDrain, let peer = table.values[index].peer,
      let parcel = table.values[index].lane.next()
    else { return nil }
    return (parcel, peer)
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
      table.values.allSatisfy { $0.lane.count == 0 || $0.lane.awaitsDrain },
      "session sockets: what waits for a socket waits for its drain")
  }
}

/// The alarms of the server of sessions.
enum SessionAlarm: Hashable, Comparable, Sendable {
  /// A ping, silence, or an unanswered close.
  case socket(ConnectionID)
  /// The next heartbeat, or the end of the wait for `connect`.
  case beat(ConnectionID)
  /// The time of a handler is up, or that of its end.
  case turn(SessionPromptID)
  /// Changes that the store failed are stored again.
  case store
  /// Acknowledgements are stored.
  case acks
  /// The oldest answer or client is forgotten.
  case memory
}

extension Closure {
  /// The key is wrong or missing.
  static let unauthorized = Closure(4401, "authentication failed")
  /// No `connect` came in time.
  static let notConnected = Closure(4408, "no connect in time")
  /// The client opened too many sockets; the newest ones stay.
  static let superseded = Closure(4409, "replaced by newer connections of this client")
  /// The client's version is not served.
  static let upgradeRequired = Closure(4426, "unsupported protocol version")
  /// The client said that it leaves.
  static let disconnected = Closure(1000, "disconnected")
}
