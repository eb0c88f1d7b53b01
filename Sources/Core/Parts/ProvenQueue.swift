/// Messages to be sent over a socket, in order, each until its arrival is proven.
///
///     added ──▶ stored ──▶ handed to a socket ──pong──▶ gone
///                 ▲                 │
///                 └── lost, repeat ─┘
///
/// A ping follows what is handed over, one at a time: its pong proves that the WebSocket of the
/// other end took everything before it.
public struct ProvenQueue: Sendable, Hashable {
  /// A message with its place in the order.
  public struct Entry: Sendable, Hashable, Codable {
    /// Counts up in the order in which messages were given.
    public let id: UInt64
    /// What is to be sent.
    public let message: SocketMessage

    /// An entry as it is kept.
    public init(id: UInt64, message: SocketMessage) {
      (self.id, self.message) = (id, message)
    }
  }

  /// Messages that may wait: 1,000, as many as other clients' offline queues hold.
  public static let limit = 1_000
  /// Bytes that may wait: 16 MiB.
  public static let byteLimit = 16 << 20
  /// The longest message: 1,000,000 bytes, which fit into the empty queue of a socket (1 MiB).
  public static let longest = 1_000_000
  /// Messages on their way without proof: 64; the next wait for a pong.
  public static let window = 64
  /// Bytes of them: 256 KiB, a quarter of a socket's queue; a longer message goes alone.
  public static let windowBytes = 256 << 10

  /// The reason why a message is not accepted.
  public enum Refusal: Sendable, Hashable, Codable {
    /// As many or as long messages as may wait do so already.
    case full
    /// It has more bytes than `longest`.
    case tooLong(bytes: Int)
  }

  /// Oldest first.
  public internal(set) var entries: [Entry] = []
  /// How many of the oldest were handed to the present connection without proof of arrival.
  public internal(set) var handed = 0
  /// The sum of all entries' bytes.
  public internal(set) var bytes = 0
  /// Messages that the store does not hold yet, which must not be sent.
  var unstored: Set<UInt64> = []
  var proof: Proof?
  private var lastID: UInt64 = 0
  var lastPing = Self.firstPing

  struct Proof: Sendable, Hashable {
    var ping: UInt64
    /// How many of the oldest entries it stands behind.
    var count: Int
    var until: Instant
  }

  /// Pings from here on are the queue's; a link counts its own from 1.
  private static let firstPing: UInt64 = 1 << 32

  /// An empty queue.
  public init() {}

  /// Whether a pong answers a ping of such a queue.
  public static func asked(_ ping: UInt64) -> Bool { ping > firstPing }

  /// When the pong is overdue; `nil` if none is awaited.
  public var deadline: Instant? { proof?.until }

  /// The reason why a message is not accepted; `nil` if it fits.
  public func refusal(of message: SocketMessage) -> Refusal? {
    if message.count > Self.longest { return .tooLong(bytes: message.count) }
    return entries.count < Self.limit && bytes + message.count <= Self.byteLimit ? nil : .full
  }

  /// Adds what an earlier run left; before anything else.
  public mutating func restore(_ kept: [Entry]) {
    for entry in kept {
      lastID = max(lastID, entry.id)
      append(entry)
    }
  }

  /// Adds a message that fits; it may be sent once it is stored.
  public mutating func add(_ message: SocketMessage, isStored: Bool) -> Entry {
    // Wraps for a store whose ids are no counts of ours.
    lastID &+= 1
    let entry = Entry(id: lastID, message: message)
    append(entry)
    if !isStored { unstored.insert(entry.id) }
    return entry
  }

  private mutating func append(_ entry: Entry) {
    entries.append(entry)
    bytes += entry.message.count
  }

  /// Notes that the store holds a message.
  public mutating func noteStored(_ id: UInt64) { unstored.remove(id) }

  /// Drops a message that the store refused.
  public mutating func drop(_ id: UInt64) {
    guard unstored.remove(id) != nil, let index = entries.firstIndex(where: { $0.id == id }) else {
      return
    }
    bytes -= entries.remove(at: index).message.count
  }

  /// Takes what may be handed over now.
  public mutating func take() -> [SocketMessage] {
    var inFlight = entries[..<handed].reduce(0) { $0 + $1.message.count }
    let start = handed
    while handed < min(entries.count, Self.window) {
      let next = entries[handed]
      inFlight += next.message.count
      guard inFlight <= Self.windowBytes || handed == 0, !unstored.contains(next.id) else { break }
      handed += 1
    }
    return entries[start..<handed].map { $0.message }
  }

  /// Returns the ping to send behind what was handed over; `nil` while one is on its way.
  public mutating func ask(until: Instant) -> UInt64? {
    guard proof == nil, handed > 0 else { return nil }
    lastPing += 1
    proof = Proof(ping: lastPing, count: handed, until: until)
    return lastPing
  }

  /// Removes what a pong proves, and returns the ids.
  public mutating func proven(by ping: UInt64) -> [UInt64] {
    proof?.ping == ping ? removeAsked() : []
  }

  /// Removes what an overdue pong should have proven, and returns how many messages that were.
  public mutating func expire() -> Int { removeAsked().count }

  private mutating func removeAsked() -> [UInt64] {
    defer { proof = nil }
    return remove(proof?.count ?? 0)
  }

  private mutating func remove(_ count: Int) -> [UInt64] {
    let gone = entries[..<count]
    bytes -= gone.reduce(0) { $0 + $1.message.count }
    entries.removeFirst(count)
    handed -= count
    return gone.map { $0.id }
  }

  /// The connection is gone: what it was handed is sent again, or is dropped.
  ///
  /// - Returns: How many messages were handed over without proof.
  public mutating func interrupt(repeats: Bool) -> Int {
    let unknown = handed
    proof = nil
    if repeats { handed = 0 } else { _ = remove(unknown) }
    return unknown
  }
}

extension ProvenQueue: SelfChecking {
  public func check(_ check: inout InvariantCheck) {
    check.require(
      handed >= 0 && handed <= min(entries.count, Self.window),
      "proven queue: what was handed over is its beginning, up to the window")
    check.require(
      bytes >= 0 && (!entries.isEmpty || bytes == 0), "proven queue: an empty queue has no bytes")
    check.require(
      unstored.count <= entries.count - handed, "proven queue: nothing is sent before it is stored")
    if let proof {
      check.require(
        proof.count > 0 && proof.count <= handed,
        "proven queue: a ping stands behind what was handed over")
      check.require(proof.ping == lastPing, "proven queue: the awaited pong is of the last ping")
    }
    guard check.isThorough else { return }
    check.require(
      bytes == entries.reduce(0) { $0 + $1.message.count },
      "proven queue: the bytes are those of its messages")
    check.require(
      unstored.isSubset(of: entries.dropFirst(max(handed, 0)).map { $0.id }),
      "proven queue: what is not stored waits in it")
  }
}

/// The messages of a durable outbox, as a store keeps them.
public struct StoredOutbox: Sendable, Hashable {
  private var entries: [UInt64: ProvenQueue.Entry] = [:]

  /// An empty outbox.
  public init() {}

  /// All messages, in the order of their ids.
  public var all: [ProvenQueue.Entry] { entries.values.sorted { $0.id < $1.id } }

  /// Keeps a message; one of the same id is replaced.
  public mutating func add(_ entry: ProvenQueue.Entry) { entries[entry.id] = entry }

  /// Removes messages; unknown ids are ignored.
  public mutating func remove(_ ids: [UInt64]) {
    for id in ids { entries[id] = nil }
  }
}
