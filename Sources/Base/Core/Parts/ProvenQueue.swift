/// A message of an outbox, with its number.
public struct OutboxMessage: Sendable, Hashable, Codable {
  /// The number of the message. Numbers count up in the order in which the app sends messages.
  public let id: UInt64
  /// The message to send.
  public let message: SocketMessage

  /// Creates an entry from its stored values.
  public init(id: UInt64, message: SocketMessage) {
    (self.id, self.message) = (id, message)
  }
}

/// The reason why an outbox does not accept a message.
public enum OutboxRefusal: Sendable, Hashable, Codable {
  /// 1,000 messages, or 16 MiB, already wait.
  case full
  /// The message has more than 1,000,000 bytes.
  case tooLong(bytes: Int)
}

/// A queue of messages for a socket, which sends them in order and keeps each until its arrival is
/// proven.
///
///     added ──▶ stored ──▶ handed to a socket ──pong──▶ gone
///                 ▲                 │
///                 └── lost, repeat ─┘
///
/// A ping is sent after the messages that were handed over. Only one ping is outstanding at a time.
/// Its pong proves that the peer's WebSocket received everything sent before the ping. With a
/// protocol that acknowledges messages, no ping is sent, and each acknowledgement proves one message.
public struct ProvenQueue: Sendable, Hashable {
  /// The maximum number of messages that may wait: 1,000, as in other clients' offline queues.
  public static let limit = 1_000
  /// The maximum number of bytes that may wait: 16 MiB.
  public static let byteLimit = 16 << 20
  /// The maximum length of a message: 1,000,000 bytes, which fit into the empty queue of a socket
  /// (1 MiB).
  public static let longest = 1_000_000
  /// The maximum number of messages sent without proof: 64. Further messages wait for a pong.
  public static let window = 64
  /// The maximum number of bytes sent without proof: 256 KiB, a quarter of a socket's queue. A
  /// longer message is sent alone.
  public static let windowBytes = 256 << 10

  /// The messages, oldest first.
  public internal(set) var entries: [OutboxMessage] = []
  /// The number of messages, from the oldest, that were handed to the present connection without
  /// proof of arrival.
  public internal(set) var handed = 0
  /// The sum of all entries' bytes.
  public internal(set) var bytes = 0
  /// The messages that the store does not contain yet. They must not be sent.
  var unstored: Set<UInt64> = []
  var proof: Proof?
  /// The highest number of a message so far.
  private var lastID: UInt64 = 0
  var lastPing = Self.firstPing

  struct Proof: Sendable, Hashable {
    var ping: UInt64
    /// The number of messages, from the oldest, that were handed over before the ping.
    var count: Int
    var until: Instant
  }

  /// The queue's pings have numbers above this one. A link numbers its own pings from 1.
  private static let firstPing: UInt64 = 1 << 32

  /// Creates an empty queue.
  public init() {}

  /// Returns whether the number of a ping shows that a proven queue sent it.
  public static func asked(_ ping: UInt64) -> Bool { ping > firstPing }

  /// The instant at which the pong is overdue; `nil` if none is awaited.
  public var deadline: Instant? { proof?.until }

  /// Returns the reason why a message is not accepted; `nil` if the queue has room for it.
  public func refusal(of message: SocketMessage) -> OutboxRefusal? {
    if message.count > Self.longest { return .tooLong(bytes: message.count) }
    return entries.count < Self.limit && bytes + message.count <= Self.byteLimit ? nil : .full
  }

  /// Adds the messages of an earlier run. Must be called before any other method.
  public mutating func restore(_ stored: [OutboxMessage]) {
    for entry in stored {
      lastID = max(lastID, entry.id)
      append(entry)
    }
  }

  /// Returns whether a number follows those of all messages so far.
  ///
  /// The comparison also holds after an overflow, since a store may contain any number.
  public func isNext(_ id: UInt64) -> Bool { Int64(bitPattern: id &- lastID) > 0 }

  /// Adds a message for which the queue has room. The message may be sent once it is stored.
  ///
  /// - Parameter id: The number of the message, for which `isNext` returns true.
  public mutating func add(
    _ id: UInt64, _ message: SocketMessage, isStored: Bool
  ) -> OutboxMessage {
    lastID = id
    let entry = OutboxMessage(id: id, message: message)
    append(entry)
    if !isStored { unstored.insert(id) }
    return entry
  }

  private mutating func append(_ entry: OutboxMessage) {
    entries.append(entry)
    bytes += entry.message.count
  }

  /// Notes that the store contains a message, and returns whether this was unknown before.
  public mutating func noteStored(_ id: UInt64) -> Bool { unstored.remove(id) != nil }

  /// Drops a message that the store refused.
  public mutating func drop(_ id: UInt64) {
    // A store may contain a number twice. Only a message that was not handed over can be unstored.
    guard unstored.remove(id) != nil,
      let index = entries[handed...].lastIndex(where: { $0.id == id })
    else { return }
    bytes -= entries.remove(at: index).message.count
  }

  /// Returns the messages that may be handed over now, and marks them as handed over.
  public mutating func take() -> [OutboxMessage] {
    var inFlight = entries[..<handed].reduce(0) { $0 + $1.message.count }
    let start = handed
    while handed < min(entries.count, Self.window) {
      let next = entries[handed]
      inFlight += next.message.count
      guard inFlight <= Self.windowBytes || handed == 0, !unstored.contains(next.id) else { break }
      handed += 1
    }
    return Array(entries[start..<handed])
  }

  /// Returns the ping to send after the messages handed over; `nil` while a ping is outstanding.
  public mutating func ask(until: Instant) -> UInt64? {
    guard proof == nil, handed > 0 else { return nil }
    lastPing += 1
    proof = Proof(ping: lastPing, count: handed, until: until)
    return lastPing
  }

  /// Removes the messages whose arrival a pong proves, and returns their ids.
  public mutating func proven(by ping: UInt64) -> [UInt64] {
    proof?.ping == ping ? removeAsked() : []
  }

  /// Removes a message that was handed over and whose arrival the server acknowledged.
  ///
  /// - Returns: The number up to which all messages have arrived, if this message was the oldest;
  ///   `nil` if an older one waits. The outer value is `nil` if no such message was handed over.
  public mutating func acknowledge(_ id: UInt64) -> UInt64?? {
    guard let index = entries[..<handed].firstIndex(where: { $0.id == id }) else { return nil }
    bytes -= entries.remove(at: index).message.count
    handed -= 1
    if index > 0 { return .some(nil) }
    return entries.first.map { $0.id &- 1 } ?? lastID
  }

  /// Removes the messages whose pong is overdue, and returns their number.
  public mutating func expire() -> Int { removeAsked().count }

  private mutating func removeAsked() -> [UInt64] {
    defer { proof = nil }
    return remove(proof?.count ?? 0)
  }

  private mutating func remove(_ count: Int) -> [UInt64] {
    let removed = entries[..<count]
    bytes -= removed.reduce(0) { $0 + $1.message.count }
    entries.removeFirst(count)
    handed -= count
    return removed.map { $0.id }
  }

  /// Handles the loss of the connection: messages without proof are sent again or dropped.
  ///
  /// - Returns: The number of messages that were handed over without proof.
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
        "proven queue: a ping follows the messages handed over")
      check.require(proof.ping == lastPing, "proven queue: the awaited pong is of the last ping")
    }
    guard check.isThorough else { return }
    check.require(
      bytes == entries.reduce(0) { $0 + $1.message.count },
      "proven queue: the bytes are those of its messages")
    check.require(
      unstored.isSubset(of: entries.dropFirst(max(handed, 0)).map { $0.id }),
      "proven queue: what is not stored waits in it")
    // The comparison also holds after an overflow of the numbers.
    let ages = entries.map { Int64(bitPattern: lastID &- $0.id) }
    check.require(
      ages.allSatisfy { $0 >= 0 } && zip(ages, ages.dropFirst()).allSatisfy { $0 >= $1 },
      "proven queue: its messages are in the order of their numbers, up to the last one")
  }
}

/// The stored messages of a durable outbox.
public struct StoredOutbox: Sendable, Hashable {
  private var entries: [UInt64: OutboxMessage] = [:]
  /// The highest number of a message that was ever stored; 0 if there was none.
  public private(set) var lastID: UInt64 = 0

  /// Creates an empty outbox.
  public init() {}

  /// All messages, in the order of their ids.
  public var all: [OutboxMessage] { entries.values.sorted { $0.id < $1.id } }

  /// Stores a message, replacing one of the same id.
  public mutating func add(_ entry: OutboxMessage) {
    entries[entry.id] = entry
    lastID = max(lastID, entry.id)
  }

  /// Removes messages. Unknown ids are ignored.
  public mutating func remove(_ ids: [UInt64]) {
    for id in ids { entries[id] = nil }
  }
}
