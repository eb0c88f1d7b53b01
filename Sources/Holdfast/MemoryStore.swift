import LinkRuntime
import LinkWire

/// Keeps timelines for as long as the process lives, for streams that shall leave no trace.
actor MemoryStore: TimelineStore {
  private var kept: [ShopID: Kept] = [:]
  private var isClosed = false

  private struct Kept {
    var messages: [MessageID: Message] = [:]
    var cursor = Cursor()
    var gaps: [Gap] = []
    var outbox: [OutboxEntry] = []

    var inOrder: [Message] { messages.values.sorted { $0.key < $1.key } }
  }

  func load(_ shop: ShopID, limit: Int) throws(StoreFailure) -> TimelineSnapshot {
    let kept = try self[shop]
    let newest = Array(kept.inOrder.suffix(max(0, limit)))
    return TimelineSnapshot(
      messages: newest, hasOlder: newest.count < kept.messages.count, cursor: kept.cursor,
      gaps: kept.gaps, outbox: kept.outbox)
  }

  func commit(
    _ change: TimelineChange, to shop: ShopID
  ) throws(StoreFailure) -> TimelineCommit {
    var kept = try self[shop]
    guard change.messages.allSatisfy({ $0.shop == shop }),
      change.outboxPut.allSatisfy({ $0.shop == shop })
    else { throw .other(detail: "a change of \(shop) holds something of another shop") }
    guard !change.isEmpty else { return TimelineCommit() }
    var inserted: [TimelineKey] = []
    var edited: [MessageID] = []
    for message in change.messages {
      if let old = kept.messages[message.id] {
        guard let new = message.updatedAt, (old.updatedAt ?? old.createdAt) < new else { continue }
        edited.append(message.id)
      } else {
        inserted.append(message.key)
      }
      kept.messages[message.id] = message
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

  func older(
    than key: TimelineKey, in shop: ShopID, limit: Int
  ) throws(StoreFailure) -> [Message] {
    Array(try self[shop].inOrder.prefix { $0.key < key }.suffix(max(0, limit)))
  }

  func shops() throws(StoreFailure) -> [ShopID] {
    guard !isClosed else { throw Self.closed }
    return kept.keys.sorted()
  }

  func close() { isClosed = true }

  private static let closed = StoreFailure.other(detail: "The timeline store is closed.")

  private subscript(shop: ShopID) -> Kept {
    get throws(StoreFailure) {
      guard !isClosed else { throw Self.closed }
      return kept[shop] ?? Kept()
    }
  }
}
