public import HoldfastCore
public import HoldfastMessageData

extension OutboxEntry: QueuedItem {
  /// The shop. Messages of one shop are sent in the order in which they were written.
  public var orderingKey: ShopID { shop }
}

/// A send queue that also supports basic servers, which have no idempotency keys.
///
/// On a basic server, an entry whose attempt had no response is removed when a message arrives that
/// matches it.
public struct Outbox: Sendable, Hashable {
  /// The entries and their attempts.
  var queue: SendQueue<OutboxEntry>
  /// The uploads of images.
  var uploads = OutboxUploads()
  /// The entries that were not found on the server. A slow server may still process their requests.
  var sought: Set<UUID128> = []
  /// For each entry, the earliest time at which its first attempt can have arrived, by the server's
  /// clock.
  var floors: [UUID128: Timestamp] = [:]
  /// The author of sent messages, if known from the app or from the server's responses.
  var author: String?
  /// A message that matches the entry being sent. It is held until the attempt ends.
  var echo: Echo?
  /// The newest messages that were not accepted. They are not stored, and the user can retry or
  /// discard them.
  private(set) var refused: [OutboxEntry] = []

  /// The maximum number of messages in `refused`.
  static let refusedLimit = 20
  /// The maximum size of their texts in bytes.
  static let refusedBytes = 1_000_000

  struct Echo: Sendable, Hashable {
    var entry: UUID128
    var message: ShopMessage
  }

  init(limit: Int, author: String? = nil) {
    queue = SendQueue(limit: limit)
    self.author = author
  }

  /// The entries, oldest first.
  public var entries: [OutboxEntry] { queue.items }

  /// The number of entries that are not stored. They are lost when the process ends.
  public var unstoredCount: Int { queue.unstoredCount }

  /// Returns whether an entry is stored, so that it survives the end of the process.
  public func isStored(_ id: UUID128) -> Bool { queue.isStored(id) }

  /// Returns whether the server may have received an entry that it has not confirmed.
  public func mayHaveArrived(_ id: UUID128) -> Bool { queue.mayHaveArrived(id) }

  /// Adds the stored entries of an earlier run.
  mutating func restore(_ stored: [OutboxEntry], after cursor: ShopCursor) {
    queue.restore(stored)
    for entry in stored { floors[entry.id] = cursor.floor(of: entry) }
  }

  /// Keeps a message that was not accepted, for a retry. The oldest ones make room.
  mutating func keepRefused(_ entry: OutboxEntry) {
    refused.append(entry)
    var bytes = refused.reduce(0) { $0 + $1.text.utf8.count }
    while refused.count > Self.refusedLimit || bytes > Self.refusedBytes {
      bytes -= refused.removeFirst().text.utf8.count
    }
  }

  /// Removes and returns a message that was not accepted.
  mutating func takeRefused(_ id: UUID128) -> OutboxEntry? {
    refused.firstIndex { $0.id == id }.map { refused.remove(at: $0) }
  }

  mutating func remove(_ id: UUID128) {
    queue.remove(id)
    uploads.remove(id)
    sought.remove(id)
    floors[id] = nil
  }

  /// Returns the entry to send now, and marks it as being sent.
  mutating func take(
    at now: Instant, timeout: Duration, credentials: UInt64, after cursor: ShopCursor
  ) -> OutboxEntry? {
    let taken = queue.take(at: now, timeout: timeout, credentials: credentials) {
      uploads.allow($0)
    }
    guard let next = taken else { return nil }
    floors[next.id] = floors[next.id] ?? cursor.floor(of: next)
    return next
  }

  /// Records that these entries were not found on the server.
  mutating func noteAbsent(_ ids: Set<UUID128>) {
    sought.formUnion(queue.clearUnsure(ids))
  }

  /// Returns the entry that a new message matches and whose attempt had no response; `nil` if there
  /// is none.
  func claimed(by message: ShopMessage, overlap: Duration) -> UUID128? {
    entries.first { entry in
      entry.action == .post && (sought.contains(entry.id) || mayHaveArrived(entry.id))
        && message.content == entry.posted
        && message.createdAt >= floor(of: entry).advanced(by: .zero - overlap)
    }?.id
  }

  /// Holds a message until the attempt of its entry ends. Returns false if another message is held.
  mutating func keepBack(_ message: ShopMessage, for entry: UUID128) -> Bool {
    guard echo == nil || echo?.message.id == message.id else { return false }
    echo = Echo(entry: entry, message: message)
    return true
  }

  /// Returns the held message if its entry's attempt has ended.
  mutating func takeEcho() -> ShopMessage? {
    guard let known = echo, queue.sending(known.entry) == nil else { return nil }
    echo = nil
    return known.message
  }

  /// The messages with an unknown outcome. Edits and deletions can be repeated on any server.
  var unsure: Set<UUID128> {
    guard !queue.unsure.isEmpty else { return [] }
    return queue.unsure.subtracting(
      entries.lazy.filter { $0.action != .post || $0.awaitsUpload }.map(\.id))
  }

  /// The earliest time at which a message with an unknown outcome can have arrived.
  var oldestUnsure: Timestamp? {
    let unsure = unsure
    return entries.filter { unsure.contains($0.id) }.map(floor(of:)).min()
  }

  /// Returns whether the deletion of a message waits.
  func isDeleting(_ message: MessageID) -> Bool {
    entries.contains { entry in
      if case .queued = entry.state { entry.action == .delete(message) } else { false }
    }
  }

  /// Returns the earlier edits and deletions that a new edit or deletion of the same message makes
  /// pointless.
  ///
  /// An attempt under way goes on. An edit that may have arrived is repeated first, unless the
  /// message is deleted or the edit has failed: the server could otherwise process it later.
  func superseded(by entry: OutboxEntry) -> [UUID128] {
    guard let target = entry.target else { return [] }
    let earlier = entries.prefix { $0.id != entry.id }
    let queued = earlier.filter { old in
      guard old.target == target, queue.sending(old.id) == nil else { return false }
      if case .failed = old.state { return true }
      return entry.action.isDeletion || !queue.mayHaveArrived(old.id)
    }
    return (queued + refused.filter { $0.target == target }).map(\.id)
  }

  /// Returns the earlier edits and deletions of the same message that failed.
  func failed(before entry: OutboxEntry) -> [UUID128] {
    entries.prefix { $0.id != entry.id }.filter { old in
      guard old.target == entry.target, case .failed = old.state else { return false }
      return true
    }.map(\.id)
  }

  private func floor(of entry: OutboxEntry) -> Timestamp { floors[entry.id] ?? entry.createdAt }
}

extension ShopCursor {
  /// Returns the earliest time that a server can assign to an entry whose first attempt is now.
  ///
  /// The phone's clock may be wrong by any amount. It is used only if no time of the server is
  /// known. In that case, only a stream that only sends makes attempts.
  fileprivate func floor(of entry: OutboxEntry) -> Timestamp {
    if let time { return time }
    return wholeAt == nil ? entry.createdAt : Timestamp(nanoseconds: 0)
  }
}

extension Outbox: SelfChecking {
  public func check(_ check: inout InvariantCheck) {
    check.require(
      sought.count <= entries.count && floors.count <= entries.count,
      "outbox: state of an entry ends with the entry")
    check.require(
      refused.count <= Self.refusedLimit, "outbox: few messages that were not accepted are kept")
    queue.check(&check)
    guard check.isThorough else { return }
    let ids = Set(entries.map(\.id))
    uploads.check(&check, ids)
    check.require(
      sought.isSubset(of: ids) && ids.isSuperset(of: floors.keys),
      "outbox: it knows nothing of entries that are gone")
  }
}
