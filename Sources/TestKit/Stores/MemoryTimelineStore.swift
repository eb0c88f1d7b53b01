public import LinkRuntime
public import LinkWire

/// A timeline store in memory, which fails when a test tells it to.
public actor MemoryTimelineStore: TimelineStore {
  private struct Timeline {
    var messages: [MessageID: Message] = [:]
    var cursor = Cursor()
    var gaps: [Gap] = []
    var outbox: [OutboxEntry] = []

    var ordered: [Message] { messages.values.sorted { $0.key < $1.key } }
  }

  private var timelines: [ShopID: Timeline] = [:]
  private var faults = Faults()

  /// Makes an empty store.
  public init() {}

  /// Makes the next `count` calls throw `failure` and do nothing else.
  public func failNext(_ count: Int = 1, with failure: StoreFailure) {
    faults.plan(count, failure)
  }

  public func load(_ shop: ShopID, limit: Int) throws(StoreFailure) -> TimelineSnapshot {
    try faults.check()
    let timeline = timelines[shop] ?? Timeline()
    let newest = timeline.ordered.suffix(max(limit, 0))
    return TimelineSnapshot(
      messages: Array(newest), hasOlder: newest.count < timeline.messages.count,
      cursor: timeline.cursor, gaps: timeline.gaps, outbox: timeline.outbox)
  }

  public func commit(
    _ change: TimelineChange, to shop: ShopID
  ) throws(StoreFailure) -> TimelineCommit {
    try faults.check()
    guard change.messages.allSatisfy({ $0.shop == shop }),
      change.outboxPut.allSatisfy({ $0.shop == shop })
    else { throw .other(detail: "A change for the shop \(shop) holds something of another shop.") }
    guard !change.isEmpty else { return TimelineCommit() }
    var timeline = timelines[shop] ?? Timeline()
    let result = Self.store(change.messages, in: &timeline)
    if let cursor = change.cursor { timeline.cursor = cursor }
    if let gaps = change.gaps { timeline.gaps = gaps }
    for entry in change.outboxPut {
      if let place = timeline.outbox.firstIndex(where: { $0.id == entry.id }) {
        timeline.outbox[place] = entry
      } else {
        timeline.outbox.append(entry)
      }
    }
    timeline.outbox.removeAll { change.outboxRemove.contains($0.id) }
    timelines[shop] = timeline
    return result
  }

  public func older(
    than key: TimelineKey, in shop: ShopID, limit: Int
  ) throws(StoreFailure) -> [Message] {
    try faults.check()
    let before = (timelines[shop] ?? Timeline()).ordered.prefix { $0.key < key }
    return Array(before.suffix(max(limit, 0)))
  }

  public func shops() throws(StoreFailure) -> [ShopID] {
    try faults.check()
    return timelines.filter { _, timeline in
      !timeline.messages.isEmpty || timeline.cursor != Cursor() || !timeline.gaps.isEmpty
        || !timeline.outbox.isEmpty
    }.keys.sorted()
  }

  public func close() {
    faults.isClosed = true
  }

  private static func store(
    _ messages: [Message], in timeline: inout Timeline
  ) -> TimelineCommit {
    var inserted: [TimelineKey] = []
    var result = TimelineCommit()
    var new: Set<MessageID> = []
    for message in messages {
      guard let stored = timeline.messages[message.id] else {
        timeline.messages[message.id] = message
        inserted.append(message.key)
        new.insert(message.id)
        continue
      }
      guard let updatedAt = message.updatedAt, updatedAt > stored.updatedAt ?? stored.createdAt
      else { continue }
      timeline.messages[message.id]?.text = message.text
      timeline.messages[message.id]?.updatedAt = updatedAt
      timeline.messages[message.id]?.isEdited = message.isEdited
      if !new.contains(message.id), !result.edited.contains(message.id) {
        result.edited.append(message.id)
      }
    }
    result.inserted = inserted.sorted().map(\.id)
    return result
  }
}

/// What a fake was told to do wrong.
struct Faults {
  private var left = 0
  private var failure = StoreFailure.other(detail: "")
  var isClosed = false

  mutating func plan(_ count: Int, _ failure: StoreFailure) {
    left = count
    self.failure = failure
  }

  mutating func check() throws(StoreFailure) {
    guard !isClosed else { throw .other(detail: "The store is closed.") }
    guard left > 0 else { return }
    left -= 1
    throw failure
  }
}
