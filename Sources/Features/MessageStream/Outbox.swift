public import LinkCore
public import LinkStorage
public import LinkWire

extension OutboxEntry: QueuedItem {
  /// The shop: its messages arrive in the order in which they were written.
  public var lane: ShopID { shop }
}

/// A send queue that also serves plain 001 servers, which know no idempotency keys.
///
/// On such a server a message that can be an entry whose try was not answered ends that entry.
public struct Outbox: Sendable, Hashable {
  /// The entries and their tries.
  var queue: SendQueue<OutboxEntry>
  /// Entries that were looked for in vain: a slow server may still take what it was sent.
  var sought: Set<UUID128> = []
  /// The earliest time, by the server's clock, at which an entry's first try can have arrived.
  var floors: [UUID128: Timestamp] = [:]
  /// Whose messages are sent, if it is known: told, or seen in the server's answers.
  var author: String?
  /// A message with the words of the entry whose try is under way, kept until the try ends.
  var echo: Echo?

  struct Echo: Sendable, Hashable {
    var entry: UUID128
    var message: Message
  }

  init(limit: Int, author: String? = nil) {
    queue = SendQueue(limit: limit)
    self.author = author
  }

  /// The entries, oldest first.
  public var entries: [OutboxEntry] { queue.items }

  /// How many entries the store does not hold; they end with the process.
  public var unstoredCount: Int { queue.unstoredCount }

  /// Whether the server may have an entry although it has not said so.
  public func mayHaveArrived(_ id: UUID128) -> Bool { queue.mayHaveArrived(id) }

  /// Takes over what an earlier run left.
  mutating func restore(_ kept: [OutboxEntry], after cursor: Cursor) {
    queue.restore(kept)
    for entry in kept { floors[entry.id] = cursor.floor(of: entry) }
  }

  mutating func remove(_ id: UUID128) {
    queue.remove(id)
    sought.remove(id)
    floors[id] = nil
  }

  /// Returns the entry to send now, marked as under way.
  mutating func take(
    at now: Instant, timeout: Duration, credentials: UInt64, after cursor: Cursor
  ) -> OutboxEntry? {
    guard let next = queue.take(at: now, timeout: timeout, credentials: credentials) else {
      return nil
    }
    floors[next.id] = floors[next.id] ?? cursor.floor(of: next)
    return next
  }

  /// Notes that the server does not show these entries.
  mutating func nowSure(_ ids: Set<UUID128>) {
    sought.formUnion(queue.makeSure(ids))
  }

  /// The entry that a new message of the server can be: its try was made and not answered.
  func claimed(by message: Message, overlap: Duration) -> UUID128? {
    entries.first { entry in
      (sought.contains(entry.id) || mayHaveArrived(entry.id))
        && message.text == entry.text && message.parent == entry.parent
        && message.createdAt >= floor(of: entry).advanced(by: .zero - overlap)
    }?.id
  }

  /// Keeps a message back until the try of the entry that it can be ends; false if another message
  /// is kept back already.
  mutating func keepBack(_ message: Message, for entry: UUID128) -> Bool {
    guard echo == nil || echo?.message.id == message.id else { return false }
    echo = Echo(entry: entry, message: message)
    return true
  }

  /// Returns the message that was kept back for a try that has ended.
  mutating func takeEcho() -> Message? {
    guard let known = echo, queue.sending(known.entry) == nil else { return nil }
    echo = nil
    return known.message
  }

  /// The earliest time at which an unsure entry can have arrived.
  var oldestUnsure: Timestamp? {
    entries.filter { queue.unsure.contains($0.id) }.map(floor(of:)).min()
  }

  private func floor(of entry: OutboxEntry) -> Timestamp { floors[entry.id] ?? entry.createdAt }
}

extension Cursor {
  /// The earliest time that a server can give to an entry that is tried now.
  ///
  /// The phone's clock may be wrong by any span: it counts only if no time of the server is known,
  /// and then nothing is tried but by a stream that only sends.
  fileprivate func floor(of entry: OutboxEntry) -> Timestamp {
    if let time { return time }
    return wholeAt == nil ? entry.createdAt : Timestamp(nanoseconds: 0)
  }
}

extension Outbox: SelfChecking {
  public func check(_ check: inout InvariantCheck) {
    check.require(
      sought.count <= entries.count && floors.count <= entries.count,
      "outbox: what it knows of an entry ends with the entry")
    queue.check(&check)
    guard check.isThorough else { return }
    let ids = Set(entries.map(\.id))
    check.require(
      sought.isSubset(of: ids) && ids.isSuperset(of: floors.keys),
      "outbox: it knows nothing of entries that are gone")
  }
}
