import LinkCore
import LinkWire

/// What survives a kill: a durable store as a value.
struct Disk {
  private(set) var messages: [MessageID: Message] = [:]
  private(set) var ordered: [TimelineKey] = []
  private(set) var cursor = Cursor()
  private(set) var gaps: [Gap] = []
  private(set) var outbox: [OutboxEntry] = []
  /// Texts of all entries that ever were in the outbox.
  private(set) var promised: Set<String> = []
  /// Every call fails so while it is set.
  var failure: StoreFailure?
  /// How long a commit takes.
  var delay = Duration.milliseconds(2)

  func load(limit: Int) -> TimelineSnapshot {
    let newest = ordered.suffix(limit).compactMap { messages[$0.id] }
    return TimelineSnapshot(
      messages: newest, hasOlder: ordered.count > newest.count, cursor: cursor, gaps: gaps,
      outbox: outbox)
  }

  func older(than key: TimelineKey, limit: Int) -> [Message] {
    ordered.prefix(place(of: key)).suffix(limit).compactMap { messages[$0.id] }
  }

  mutating func commit(_ change: TimelineChange) -> TimelineCommit {
    var inserted: [TimelineKey] = []
    var edited: [MessageID] = []
    for message in change.messages {
      if let kept = messages[message.id] {
        guard let later = message.updatedAt, later > kept.updatedAt ?? kept.createdAt else {
          continue
        }
        messages[message.id] = message
        if !edited.contains(message.id) { edited.append(message.id) }
      } else {
        messages[message.id] = message
        ordered.insert(message.key, at: place(of: message.key))
        inserted.append(message.key)
      }
    }
    if let cursor = change.cursor { self.cursor = cursor }
    if let gaps = change.gaps { self.gaps = gaps }
    promised.formUnion(change.outboxPut.map(\.text))
    for entry in change.outboxPut {
      if let index = outbox.firstIndex(where: { $0.id == entry.id }) {
        outbox[index] = entry
      } else {
        outbox.append(entry)
      }
    }
    outbox.removeAll { change.outboxRemove.contains($0.id) }
    let new = Set(inserted.map(\.id))
    return TimelineCommit(
      inserted: inserted.sorted().map(\.id), edited: edited.filter { !new.contains($0) })
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
