public import HoldfastCore

/// The name of a consumer, which is a program that reads each message of a shop and acknowledges
/// it.
///
/// Like a shop's ID, a name has 1 to 128 of the characters `A-Z a-z 0-9 . _ -`.
public struct ConsumerName: Sendable, Hashable, Comparable, CustomStringConvertible {
  /// The name in its original letter case.
  public let text: String

  /// Creates a name. Returns `nil` if the text is not a valid name.
  public init?(_ text: some StringProtocol) {
    guard ShopID(text) != nil else { return nil }
    self.text = String(text)
  }

  /// The name in its original letter case.
  public var description: String { text }

  /// Orders names by their text.
  public static func < (left: ConsumerName, right: ConsumerName) -> Bool { left.text < right.text }
}

/// The stored messages that a new consumer receives first. Messages that are stored later follow.
public enum ConsumerStart: Sendable, Hashable {
  /// The newest messages, up to this number.
  case newest(Int)
  /// All messages.
  case all
  /// Messages created at this time or later.
  case since(Timestamp)
  /// Messages of the same epoch with a higher offset. This requires a server with positions.
  case after(ShopPosition)

  /// The newest 50 messages, which is the number that a stream shows when it is opened.
  public static let usual = ConsumerStart.newest(50)
}

/// A stored message that is delivered to a consumer, or the deletion of one.
public struct ShopDelivery: Sendable, Hashable {
  /// The number of the delivery, counted from 1 for each consumer, in the order of storage.
  public var number: UInt64
  /// The content of the delivery.
  public var content: Content

  /// The content of a delivery. A message has its current form, which may include later edits.
  public enum Content: Sendable, Hashable {
    /// A message.
    case message(ShopMessage)
    /// A message that was delivered before and whose text has changed since then.
    case edit(ShopMessage)
    /// The deletion of a message. All deliveries of a message that was deleted are such ones.
    case deletion(DeletedMessage)
  }

  /// Creates a delivery.
  public init(number: UInt64, content: Content) {
    self.number = number
    self.content = content
  }

  /// Creates the delivery of a message or of an edit.
  public init(number: UInt64, message: ShopMessage, isEdit: Bool = false) {
    self.init(number: number, content: isEdit ? .edit(message) : .message(message))
  }

  /// The message in its current form; `nil` if it was deleted.
  public var message: ShopMessage? {
    switch content {
    case .message(let message), .edit(let message): message
    case .deletion: nil
    }
  }

  /// The id of the message.
  public var id: MessageID {
    switch content {
    case .message(let message), .edit(let message): message.id
    case .deletion(let deletion): deletion.id
    }
  }
}

/// The progress of a consumer.
public struct ConsumerState: Sendable, Hashable {
  /// The consumer.
  public var name: ConsumerName
  /// The number of the last delivery that the consumer acknowledged; 0 if there was none.
  public var acknowledged: UInt64
  /// The number of the last delivery in the consumer's queue; 0 if there was none.
  public var last: UInt64

  /// Creates a state.
  public init(name: ConsumerName, acknowledged: UInt64 = 0, last: UInt64 = 0) {
    self.name = name
    self.acknowledged = acknowledged
    self.last = last
  }

  /// The number of deliveries that the consumer has not acknowledged.
  public var waiting: UInt64 { last - acknowledged }
}

/// The unacknowledged deliveries of one consumer, as a value.
struct StoredConsumer: Sendable, Hashable {
  struct Entry: Sendable, Hashable {
    var number: UInt64
    var id: MessageID
    var isEdit = false
    /// The deletion that this delivery reports.
    var deletion: DeletedMessage?

    /// Returns the delivery of the entry. `stored` is its message; `nil` if it was deleted.
    func delivery(of stored: ShopMessage?) -> ShopDelivery {
      guard deletion == nil, let stored else {
        return ShopDelivery(number: number, content: .deletion(deletion ?? DeletedMessage(id: id)))
      }
      return ShopDelivery(number: number, message: stored, isEdit: isEdit)
    }
  }

  var entries: [Entry] = []
  var acknowledged: UInt64 = 0
  var last: UInt64 = 0

  mutating func add(_ id: MessageID, isEdit: Bool = false, deletion: DeletedMessage? = nil) {
    last += 1
    entries.append(Entry(number: last, id: id, isEdit: isEdit, deletion: deletion))
  }

  mutating func add(_ counts: TimelineCounts) {
    let commit = counts.commit
    for deletion in counts.deletions { add(deletion.id, deletion: deletion) }
    for id in commit.inserted { add(id) }
    for id in commit.edited { add(id, isEdit: true) }
  }

  mutating func acknowledge(through number: UInt64) {
    guard number > acknowledged else { return }
    acknowledged = number
    entries.removeFirst(entries.end { $0.number <= number })
  }
}

extension StoredTimeline {
  /// The consumers, ordered by name.
  public var consumers: [ConsumerState] {
    readers.sorted { $0.key < $1.key }.map {
      ConsumerState(name: $0.key, acknowledged: $0.value.acknowledged, last: $0.value.last)
    }
  }

  /// Adds a consumer. This has no effect if the consumer exists.
  ///
  /// - Throws: `.other` if the start is after a position whose epoch no stored message has.
  public mutating func addConsumer(
    _ name: ConsumerName, from start: ConsumerStart
  ) throws(StoreFailure) {
    guard readers[name] == nil else { return }
    var reader = StoredConsumer()
    for key in try first(for: start) { reader.add(key.id) }
    readers[name] = reader
  }

  private func first(for start: ConsumerStart) throws(StoreFailure) -> [TimelineKey] {
    switch start {
    case .newest(let count): return Array(ordered.suffix(Swift.max(0, count)))
    case .all: return ordered
    case .since(let time): return ordered.filter { $0.createdAt >= time }
    case .after(let position):
      let known = ordered.filter { messages[$0.id]?.position?.epoch == position.epoch }
      guard !known.isEmpty else { throw .noEpoch(of: position) }
      return known.filter { (messages[$0.id]?.position?.offset ?? 0) > position.offset }
    }
  }

  /// Returns the first `limit` deliveries to a consumer after a number. The result is empty for an
  /// unknown consumer.
  public func deliveries(
    to name: ConsumerName, after number: UInt64, limit: Int
  ) -> [ShopDelivery] {
    guard let reader = readers[name] else { return [] }
    let rest = reader.entries[reader.entries.end { $0.number <= number }...]
    return rest.prefix(Swift.max(0, limit)).map { entry in
      let delivery = entry.delivery(of: messages[entry.id])
      guard case .deletion(let deletion) = delivery.content, deletion.changed == nil,
        let later = rest.last(where: { $0.id == entry.id && $0.deletion != nil })?.deletion
      else { return delivery }
      // A delivery of a message that was deleted later has no position of its own.
      return ShopDelivery(number: entry.number, content: .deletion(later))
    }
  }

  /// Removes the deliveries up to a number.
  ///
  /// This has no effect for an unknown consumer, or for a number below the last acknowledged one.
  ///
  /// - Throws: `.other` if the number is above that of the last delivery.
  public mutating func acknowledge(
    _ name: ConsumerName, through number: UInt64
  ) throws(StoreFailure) {
    guard let last = readers[name]?.last else { return }
    guard number <= last else { throw .noDelivery(number, last: last) }
    readers[name]?.acknowledge(through: number)
  }

  /// Removes a consumer and its deliveries. Returns false if the consumer does not exist.
  public mutating func removeConsumer(_ name: ConsumerName) -> Bool {
    readers.removeValue(forKey: name) != nil
  }
}

extension StoreFailure {
  /// Returns the failure for a start after a position whose epoch no stored message has.
  package static func noEpoch(of position: ShopPosition) -> StoreFailure {
    .other(
      detail: "No stored message has a position of the epoch \(position.epoch). Name a time, or "
        + "all messages.")
  }

  /// Returns the failure for an acknowledgement of a delivery that does not exist.
  package static func noDelivery(_ number: UInt64, last: UInt64) -> StoreFailure {
    .other(detail: "Delivery \(number) does not exist; the last one is \(last).")
  }
}
