import LinkCore
public import LinkWire

/// What survives a kill: a durable store of one shop as a value.
public struct Disk: Sendable, Hashable {
  /// Everything that is kept, by id.
  public private(set) var messages: [MessageID: Message] = [:]
  /// The keys of the same, in timeline order.
  public private(set) var ordered: [TimelineKey] = []
  /// How far it is whole.
  public private(set) var cursor = Cursor()
  /// The holes, as they were written last.
  public private(set) var gaps: [Gap] = []
  /// What waits to be sent, or failed, in the order in which it was put.
  public private(set) var outbox: [OutboxEntry] = []

  /// An empty store.
  public init() {}

  /// The newest messages, and all that is kept beside them.
  func load(limit: Int) -> TimelineSnapshot {
    let newest = ordered.suffix(limit).compactMap { messages[$0.id] }
    return TimelineSnapshot(
      messages: newest, hasOlder: ordered.count > newest.count, cursor: cursor, gaps: gaps,
      outbox: outbox)
  }

  /// Up to `limit` messages before a place, oldest first.
  func older(than key: TimelineKey, limit: Int) -> [Message] {
    ordered.prefix(place(of: key)).suffix(limit).compactMap { messages[$0.id] }
  }

  /// Makes all of a change durable at once.
  mutating func commit(_ change: TimelineChange) -> TimelineCommit {
    var inserted: [TimelineKey] = []
    var edited: [MessageID] = []
    for message in change.messages {
      if let kept = messages[message.id] {
        guard let later = message.updatedAt, later > kept.updatedAt ?? kept.createdAt else {
          continue
        }
        messages[message.id] = message
        let isNew = inserted.contains { $0.id == message.id }
        if !isNew, !edited.contains(message.id) { edited.append(message.id) }
      } else {
        messages[message.id] = message
        insert(message.key)
        inserted.append(message.key)
      }
    }
    if let cursor = change.cursor { self.cursor = cursor }
    if let gaps = change.gaps { self.gaps = gaps }
    for entry in change.outboxPut {
      if let index = outbox.firstIndex(where: { $0.id == entry.id }) {
        outbox[index] = entry
      } else {
        outbox.append(entry)
      }
    }
    if !change.outboxRemove.isEmpty {
      outbox.removeAll { change.outboxRemove.contains($0.id) }
    }
    return TimelineCommit(inserted: inserted.sorted().map(\.id), edited: edited)
  }

  private mutating func insert(_ key: TimelineKey) {
    if let last = ordered.last, key < last {
      ordered.insert(key, at: place(of: key))
    } else {
      ordered.append(key)
    }
  }

  private func place(of key: TimelineKey) -> Int {
    var low = 0
    var high = ordered.count
    while low < high {
      let middle = (low + high) / 2
      if ordered[middle] < key { low = middle + 1 } else { high = middle }
    }
    return low
  }
}
