import LinkCore

/// Messages to be sent, in order, each until it is known to have arrived.
struct SocketBox: Sendable {
  /// A message that waits, or is on its way.
  struct Letter: Sendable {
    let entry: ProvenQueue.Entry
    var isStored = true
    var isOut = false

    var count: Int { entry.message.count }
  }

  var letters: [Letter] = []
  /// The ping that is on its way behind the first so many messages.
  var proof: (ping: UInt64, count: Int, until: Instant)?
  private var last: UInt64 = 0
  private var pings: UInt64 = 0

  /// How many messages are on their way.
  var handed: Int { letters.prefix { $0.isOut }.count }

  /// The bytes of all messages.
  var bytes: Int { letters.reduce(0) { $0 + $1.count } }

  /// Whether 1,000 messages or 16 MiB wait, or would with one more.
  func isFull(for message: SocketMessage) -> Bool {
    letters.count >= 1_000 || bytes + message.count > 16 * 1_024 * 1_024
  }

  mutating func restore(_ kept: [ProvenQueue.Entry]) {
    letters += kept.map { Letter(entry: $0) }
    last = kept.reduce(last) { max($0, $1.id) }
  }

  /// Adds a message under the next number; after the last one comes 0.
  mutating func add(_ message: SocketMessage, isStored: Bool) -> ProvenQueue.Entry {
    last = last == .max ? 0 : last + 1
    let entry = ProvenQueue.Entry(id: last, message: message)
    letters.append(Letter(entry: entry, isStored: isStored))
    return entry
  }

  mutating func store(_ id: UInt64) {
    for place in letters.indices where letters[place].entry.id == id {
      letters[place].isStored = true
    }
  }

  /// A message could not be stored; one that is stored stays.
  mutating func refuse(_ id: UInt64) {
    letters.removeAll { $0.entry.id == id && !$0.isStored }
  }

  /// Hands over what may go: at most 64 messages and 256 KiB without proof, or a single one.
  mutating func hand() -> [ProvenQueue.Entry] {
    var count = handed
    var total = letters.prefix(count).reduce(0) { $0 + $1.count }
    var ready: [ProvenQueue.Entry] = []
    while count < 64, count < letters.count, letters[count].isStored {
      total += letters[count].count
      if total > 262_144, count > 0 { break }
      letters[count].isOut = true
      ready.append(letters[count].entry)
      count += 1
    }
    return ready
  }

  /// Returns the ping to send; the first is 2^32 + 1.
  mutating func askProof(until due: Instant) -> UInt64? {
    let count = handed
    guard proof == nil, count > 0 else { return nil }
    pings += 1
    proof = (4_294_967_296 + pings, count, due)
    return proof?.ping
  }

  /// Removes what the last ping was sent behind.
  mutating func prove() -> [ProvenQueue.Entry] {
    let count = proof?.count ?? 0
    let gone = letters.prefix(count).map(\.entry)
    letters.removeFirst(count)
    proof = nil
    return gone
  }

  /// The socket is gone: returns how many messages were on their way, which are kept or dropped.
  mutating func interrupt(keeps: Bool) -> Int {
    let count = handed
    proof = nil
    if keeps {
      for place in 0..<count { letters[place].isOut = false }
    } else {
      letters.removeFirst(count)
    }
    return count
  }
}
