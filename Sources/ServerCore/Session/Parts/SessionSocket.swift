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
  var inFlight = 0
  /// Whether `noticeDrain` is unanswered.
  var awaitsDrain = false
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

/// The alarms of the server of sessions.
enum SessionAlarm: Hashable, Comparable, Sendable {
  /// A ping, silence, or an unanswered close.
  case socket(ConnectionID)
  /// The next heartbeat, or the end of the wait for `connect`.
  case beat(ConnectionID)
  /// The time of a handler is up, or that of its end.
  case turn(SessionPromptID)
  /// What the store failed is stored again.
  case store
  /// Acknowledgements are stored.
  case acks
  /// The oldest answer or client is forgotten.
  case memory
}
