import LinkCore
import LinkWire

/// What a phone keeps of a shop, told a second time: lists in order, searched from the start.
struct StreamKeptBook {
  /// All messages by creation, equal times by id.
  private(set) var messages: [Message] = []
  private(set) var gaps: [Gap] = []
  private(set) var outbox: [OutboxEntry] = []
  private(set) var cursor: Cursor?
  /// By name.
  private(set) var readers: [Reader] = []

  /// A consumer, and everything that was ever delivered to it.
  struct Reader {
    var name: ConsumerName
    var news: [News] = []
    var read = 0
  }

  /// One delivery; its number is its place in the list.
  struct News {
    var id: MessageID
    var isEdit: Bool
  }

  var isEmpty: Bool {
    cursor == nil && messages.isEmpty && gaps.isEmpty && outbox.isEmpty && readers.isEmpty
  }

  /// The newest messages.
  private func newest(_ count: Int, of list: [Message]) -> [Message] {
    list.enumerated().filter { $0.offset >= list.count - count }.map(\.element)
  }

  func load(_ limit: Int) -> TimelineSnapshot {
    TimelineSnapshot(
      messages: newest(limit, of: messages), hasOlder: messages.count > max(limit, 0),
      cursor: cursor ?? Cursor(), gaps: gaps, outbox: outbox)
  }

  func older(_ key: TimelineKey, _ limit: Int) -> [Message] {
    newest(limit, of: messages.filter { Self.isBefore($0.key, key) })
  }

  private static func isBefore(_ left: TimelineKey, _ right: TimelineKey) -> Bool {
    left.createdAt == right.createdAt ? left.id < right.id : left.createdAt < right.createdAt
  }

  // Changes.

  /// New ids come in timeline order, edited ones in that of the change; each id is named once.
  mutating func commit(_ change: TimelineChange) -> TimelineCommit {
    var (new, edited): ([MessageID], [MessageID]) = ([], [])
    for message in change.messages {
      guard let place = messages.firstIndex(where: { $0.id == message.id }) else {
        let after = messages.firstIndex { Self.isBefore(message.key, $0.key) }
        messages.insert(message, at: after ?? messages.count)
        new.append(message.id)
        continue
      }
      let kept = messages[place]
      guard let time = message.updatedAt, (kept.updatedAt ?? kept.createdAt) < time else {
        continue
      }
      messages[place].text = message.text
      messages[place].updatedAt = time
      messages[place].isEdited = message.isEdited
      if !new.contains(message.id), !edited.contains(message.id) { edited.append(message.id) }
    }
    let inserted = messages.map(\.id).filter(new.contains)
    for place in readers.indices {
      readers[place].news += inserted.map { News(id: $0, isEdit: false) }
      readers[place].news += edited.map { News(id: $0, isEdit: true) }
    }
    cursor = change.cursor ?? cursor
    gaps = change.gaps ?? gaps
    take(change.outboxPut, without: change.outboxRemove)
    return TimelineCommit(inserted: inserted, edited: edited)
  }

  private mutating func take(_ put: [OutboxEntry], without gone: [UUID128]) {
    for entry in put {
      if outbox.contains(where: { $0.id == entry.id }) {
        outbox = outbox.map { $0.id == entry.id ? entry : $0 }
      } else {
        outbox.append(entry)
      }
    }
    outbox = outbox.filter { !gone.contains($0.id) }
  }

  // Consumers.

  var states: [ConsumerState] {
    readers.map {
      ConsumerState(
        name: $0.name, acknowledged: UInt64($0.read), last: UInt64($0.news.count))
    }
  }

  /// Why a consumer cannot be added.
  mutating func add(_ name: ConsumerName, _ start: ConsumerStart) -> StoreFailure? {
    if readers.contains(where: { $0.name == name }) { return nil }
    let first: [Message]
    switch start {
    case .all: first = messages
    case .newest(let count): first = newest(count, of: messages)
    case .since(let time): first = messages.filter { !($0.createdAt < time) }
    case .after(let place):
      let known = messages.filter { $0.position?.epoch == place.epoch }
      if known.isEmpty {
        return .other(
          detail: "No stored message has a position of the epoch \(place.epoch). Name a time, or "
            + "all messages.")
      }
      first = known.filter { ($0.position?.offset ?? 0) > place.offset }
    }
    let reader = Reader(name: name, news: first.map { News(id: $0.id, isEdit: false) })
    let after = readers.firstIndex { name.text < $0.name.text }
    readers.insert(reader, at: after ?? readers.count)
    return nil
  }

  func deliveries(_ name: ConsumerName, after number: UInt64, _ limit: Int) -> [Delivery] {
    guard let reader = readers.first(where: { $0.name == name }) else { return [] }
    var found: [Delivery] = []
    for (place, news) in reader.news.enumerated() where place >= reader.read {
      guard UInt64(place) >= number, found.count < limit,
        let message = messages.first(where: { $0.id == news.id })
      else { continue }
      found.append(
        Delivery(number: UInt64(place) + 1, message: message, isEdit: news.isEdit))
    }
    return found
  }

  /// Why a delivery cannot be acknowledged.
  mutating func acknowledge(_ name: ConsumerName, _ number: UInt64) -> StoreFailure? {
    guard let place = readers.firstIndex(where: { $0.name == name }) else { return nil }
    let last = readers[place].news.count
    if number > UInt64(last) {
      return .other(detail: "Delivery \(number) does not exist; the last one is \(last).")
    }
    readers[place].read = max(readers[place].read, Int(number))
    return nil
  }

  /// Whether there was such a consumer.
  mutating func remove(_ name: ConsumerName) -> Bool {
    let before = readers.count
    readers.removeAll { $0.name == name }
    return readers.count < before
  }
}
