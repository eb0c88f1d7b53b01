import HoldfastCore
import HoldfastStorage
import HoldfastWire

/// The changes of a stream that wait for the store, and the change being stored.
///
/// The cursor of a later change waits behind a failed change, so no message is acknowledged before
/// it is stored.
typealias TimelineCommits = CommitQueue<CommitID, TimelineBatch>

/// A change of the timeline that is stored as a unit, with the origin of each message.
struct TimelineBatch: CommitBatch {
  var change = TimelineChange()
  /// The way in which each message of the change arrived, in the order of the messages.
  private(set) var ways: [StreamUpdate.Via] = []
  private var ids: Set<MessageID> = []
  /// The memory that the messages use, in bytes.
  private var bytes = 0
  /// Whether the reader waits for this change to see older messages.
  var feedsHistory = false
  /// Whether the change's positions belong to a log that replaced the log of earlier changes.
  var isOfNewLog = false

  /// Whether there is nothing to store and no reader waits.
  var isEmpty: Bool { change.isEmpty && !feedsHistory }

  /// Whether further messages are left to a later catch-up.
  var isFull: Bool {
    change.messages.count >= StreamSettings.unstored || bytes >= StreamSettings.unstoredBytes
  }

  /// Whether the batch has a message with this ID.
  func holds(_ id: MessageID) -> Bool { ids.contains(id) }

  /// Returns the message with this ID; `nil` if it is not in the batch.
  subscript(id: MessageID) -> ShopMessage? {
    ids.contains(id) ? change.messages.last { $0.id == id } : nil
  }

  /// Adds messages. An edited version of a message in the batch replaces that message.
  mutating func add(_ messages: [ShopMessage], via: StreamUpdate.Via) {
    let new = messages.filter { !replace($0) }
    change.messages += new
    ways += new.map { _ in via }
    ids.formUnion(new.map(\.id))
    bytes += new.reduce(0) { $0 + $1.footprint }
  }

  private mutating func replace(_ message: ShopMessage) -> Bool {
    guard ids.contains(message.id),
      let index = change.messages.lastIndex(where: { $0.id == message.id })
    else { return false }
    bytes += message.footprint - change.messages[index].footprint
    change.messages[index] = message
    return true
  }

  /// Stores an entry of the outbox, replacing an earlier version.
  mutating func put(_ entry: OutboxEntry) {
    change.outboxPut.removeAll { $0.id == entry.id }
    change.outboxPut.append(entry)
  }

  /// Removes an entry of the outbox from the store.
  mutating func remove(_ id: UUID128) {
    change.outboxPut.removeAll { $0.id == id }
    change.outboxRemove.append(id)
  }
}

extension TimelineBatch: SelfChecking {
  func check(_ check: inout InvariantCheck) {
    check.require(
      ways.count == change.messages.count, "timeline batch: it knows how each message came")
    guard check.isThorough else { return }
    check.require(
      bytes == change.messages.reduce(0) { $0 + $1.footprint },
      "timeline batch: it knows the memory of its messages")
    check.require(
      ids == Set(change.messages.map(\.id)), "timeline batch: it knows the ids of its messages")
  }
}

extension CommitQueue where ID == CommitID, Batch == TimelineBatch {
  /// The messages that the store has not confirmed.
  var messages: [ShopMessage] { (inFlight?.batch.change.messages ?? []) + waiting.change.messages }

  /// The number of messages that the store has not confirmed.
  var count: Int { (inFlight?.batch.change.messages.count ?? 0) + waiting.change.messages.count }

  /// Whether the reader waits for a change that the store has not confirmed.
  var feedsHistory: Bool { waiting.feedsHistory || inFlight?.batch.feedsHistory ?? false }

  /// Returns whether a message with this ID waits for the store.
  func holds(_ id: MessageID) -> Bool {
    waiting.holds(id) || inFlight?.batch.holds(id) ?? false
  }

  /// Returns whether a message is a later version of one that waits for the store.
  func isEdited(by message: ShopMessage) -> Bool {
    guard message.updatedAt != nil else { return false }
    let held = waiting[message.id] ?? inFlight?.batch[message.id]
    return held.map(message.isEdit) ?? false
  }
}

extension ShopMessage {
  /// Returns whether this is a later version of a stored message.
  func isEdit(of stored: ShopMessage) -> Bool {
    guard let updatedAt else { return false }
    return updatedAt > stored.updatedAt ?? stored.createdAt
  }
}
