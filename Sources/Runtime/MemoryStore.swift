public import LinkWire

/// Keeps timelines for as long as the process lives, for streams that shall leave no trace.
public actor MemoryStore: TimelineStore {
  private var kept: [ShopID: Kept] = [:]
  private var isClosed = false

  private struct Kept {
    var messages: [MessageID: Message] = [:]
    var cursor = Cursor()
    var gaps: [Gap] = []
    var outbox: [OutboxEntry] = []

    var inOrder: [Message] { messages.values.sorted { $0.key < $1.key } }
  }

  /// An empty store.
  public init() {}

  public func load(_ shop: ShopID, limit: Int) throws(StoreFailure) -> TimelineSnapshot {
    let kept = try self[shop]
    let newest = Array(kept.inOrder.suffix(max(0, limit)))
    return TimelineSnapshot(
      messages: newest, hasOlder: newest.count < kept.messages.count, cursor: kept.cursor,
      gaps: kept.gaps, outbox: kept.outbox)
  }

  public func commit(
    _ change: TimelineChange, to shop: ShopID
  ) throws(StoreFailure) -> TimelineCommit {
    var kept = try self[shop]
    guard change.messages.allSatisfy({ $0.shop == shop }),
      change.outboxPut.allSatisfy({ $0.shop == shop })
    else { throw .other(detail: "a change of \(shop) holds something of another shop") }
    guard !change.isEmpty else { return TimelineCommit() }
    var inserted: [TimelineKey] = []
    var edited: [MessageID] = []
    var new: Set<MessageID> = []
    for message in change.messages {
      if let old = kept.messages[message.id] {
        guard let later = message.updatedAt, (old.updatedAt ?? old.createdAt) < later else {
          continue
        }
        kept.messages[message.id]?.text = message.text
        kept.messages[message.id]?.updatedAt = later
        kept.messages[message.id]?.isEdited = message.isEdited
        if !new.contains(message.id), !edited.contains(message.id) { edited.append(message.id) }
      } else {
        kept.messages[message.id] = message
        inserted.append(message.key)
        new.insert(message.id)
      }
    }
    kept.cursor = change.cursor ?? kept.cursor
    kept.gaps = change.gaps ?? kept.gaps
    for entry in change.outboxPut {
      let place = kept.outbox.firstIndex { $0.id == entry.id }
      if let place { kept.outbox[place] = entry } else { kept.outbox.append(entry) }
    }
    kept.outbox.removeAll { change.outboxRemove.contains($0.id) }
    self.kept[shop] = kept
    return TimelineCommit(inserted: inserted.sorted().map(\.id), edited: edited)
  }

  public func older(
    than key: TimelineKey, in shop: ShopID, limit: Int
  ) throws(StoreFailure) -> [Message] {
    Array(try self[shop].inOrder.prefix { $0.key < key }.suffix(max(0, limit)))
  }

  public func shops() throws(StoreFailure) -> [ShopID] {
    guard !isClosed else { throw Self.closed }
    return kept.keys.sorted()
  }

  public func close() { isClosed = true }

  private static let closed = StoreFailure.other(detail: "The timeline store is closed.")

  private subscript(shop: ShopID) -> Kept {
    get throws(StoreFailure) {
      guard !isClosed else { throw Self.closed }
      return kept[shop] ?? Kept()
    }
  }
}
