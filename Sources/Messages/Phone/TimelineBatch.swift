import HoldfastCore
import HoldfastMessageData

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

  /// The edits and deletions of the user that end with this change.
  var finished: [Finished] = []

  /// An edit or a deletion of the user that was carried out or dropped.
  struct Finished: Sendable, Hashable {
    var entry: UUID128
    /// The message that was edited or deleted; `nil` if the entry was dropped.
    var message: MessageID?
  }

  /// Whether there is nothing to store and no reader waits.
  var isEmpty: Bool { change.isEmpty && !feedsHistory && finished.isEmpty }

  /// Whether further messages are left to a later catch-up.
  var isFull: Bool {
    change.messages.count + change.edits.count + change.deletions.count
      >= StreamSettings.unstored || bytes >= StreamSettings.unstoredBytes
      || change.covered.count >= StreamSettings.coveredRanges
  }

  /// Whether the batch has a message with this ID.
  func holds(_ id: MessageID) -> Bool { ids.contains(id) }

  /// Returns the version of a message that the batch stores; `nil` if it stores none.
  subscript(id: MessageID) -> ShopMessage? {
    if ids.contains(id) { return change.messages.last { $0.id == id } }
    return change.edits.first { $0.id == id }
  }

  /// Adds messages. An edited version of a message in the batch replaces that message.
  mutating func add(_ messages: [ShopMessage], via: StreamUpdate.Via) {
    let new = messages.filter { !replace($0) }
    for message in new { removeEdit(of: message.id) }
    change.messages += new
    ways += new.map { _ in via }
    ids.formUnion(new.map(\.id))
    bytes += new.reduce(0) { $0 + $1.footprint }
  }

  /// Adds one message in the same way.
  mutating func add(_ message: ShopMessage, via: StreamUpdate.Via) {
    guard ids.insert(message.id).inserted else {
      _ = replace(message)
      return
    }
    removeEdit(of: message.id)
    change.messages.append(message)
    ways.append(via)
    bytes += message.footprint
  }

  private mutating func replace(_ message: ShopMessage) -> Bool {
    guard ids.contains(message.id),
      let index = change.messages.lastIndex(where: { $0.id == message.id })
    else { return false }
    bytes += message.footprint - change.messages[index].footprint
    change.messages[index] = message
    return true
  }

  /// Changes a message, if it is stored, to a later version.
  mutating func edit(_ message: ShopMessage) {
    guard self[message.id].map(message.isLater) ?? true, !replace(message) else { return }
    removeEdit(of: message.id)
    change.edits.append(message)
    bytes += message.footprint
  }

  private mutating func removeEdit(of id: MessageID) {
    guard let index = change.edits.firstIndex(where: { $0.id == id }) else { return }
    bytes -= change.edits.remove(at: index).footprint
  }

  /// Changes the text of a message, if it is stored. The outbox bounds the number of such texts.
  mutating func accept(_ text: AcceptedText) {
    guard !deletes(text.id) || holds(text.id) else { return }
    if let known = self[text.id] {
      if let edited = known.edited(to: text) { edit(edited) }
    } else {
      change.texts.removeAll { $0.id == text.id }
      change.texts.append(text)
    }
  }

  /// Removes a message from the store and from this change.
  mutating func delete(_ deletion: DeletedMessage) {
    if ids.remove(deletion.id) != nil,
      let index = change.messages.lastIndex(where: { $0.id == deletion.id })
    {
      bytes -= change.messages.remove(at: index).footprint
      ways.remove(at: index)
    }
    removeEdit(of: deletion.id)
    change.texts.removeAll { $0.id == deletion.id }
    if !deletes(deletion.id) { change.deletions.append(deletion) }
  }

  /// Removes the messages of earlier logs in a range from the store and from this change, except
  /// for those of the page that covers the range. These are added next.
  mutating func cover(_ range: CoveredRange, with page: [ShopMessage] = []) {
    let kept = Set(page.map(\.id))
    let old = change.messages.filter {
      range.contains($0.key) && $0.position?.epoch != range.epoch && !kept.contains($0.id)
    }
    for message in old { delete(DeletedMessage(id: message.id)) }
    change.covered.append(range)
  }

  /// Whether the batch deletes a message.
  func deletes(_ id: MessageID) -> Bool { change.deletions.contains { $0.id == id } }

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
      bytes == (change.messages + change.edits).reduce(0) { $0 + $1.footprint },
      "timeline batch: it knows the memory of its messages")
    check.require(
      ids == Set(change.messages.map(\.id)), "timeline batch: it knows the ids of its messages")
    check.require(
      change.edits.allSatisfy { !ids.contains($0.id) && !deletes($0.id) }
        && change.texts.allSatisfy { !deletes($0.id) },
      "timeline batch: a message is edited in one place")
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

  /// Returns the newest version of a message that waits for the store.
  func version(of id: MessageID) -> ShopMessage? { waiting[id] ?? inFlight?.batch[id] }

  /// Whether edits or deletions wait for the store.
  var changesMessages: Bool {
    waiting.change.changesMessages || inFlight?.batch.change.changesMessages ?? false
  }

  /// Returns whether the removal of a message waits for the store.
  func deletes(_ id: MessageID) -> Bool {
    waiting.deletes(id) || inFlight?.batch.deletes(id) ?? false
  }
}

// The addition of messages to the next commit.
extension StreamModel {
  /// Adds messages that are not in memory to the next commit. The store recognizes any others that
  /// it has.
  mutating func add(_ messages: [ShopMessage], via: StreamUpdate.Via, _ step: inout Step) {
    // A closure uses the model in place. A method as an argument would copy it.
    let unseen = messages.filter { isUnseen($0) }
    guard !unseen.isEmpty else { return }
    commits.waiting.add(unseen.filter { !isHeld($0, &step) }, via: via)
  }

  /// Adds one message, as a live message comes, without the arrays of `add(_:via:_:)`.
  ///
  /// - Parameter isAnswer: Whether the message is the response to a post and therefore matches no
  ///   other entry.
  mutating func add(
    _ message: ShopMessage, via: StreamUpdate.Via, isAnswer: Bool = false, _ step: inout Step
  ) {
    guard isUnseen(message), !isHeld(message, isAnswer: isAnswer, &step) else { return }
    commits.waiting.add(message, via: via)
  }

  /// Returns whether a message may be new or a later version of a known message.
  private func isUnseen(_ message: ShopMessage) -> Bool {
    let isWaiting = commits.holds(message.id)
    guard isWaiting || timeline.contains(message.id) else { return true }
    // A covered range removes the messages whose positions in its log are not stored.
    if !commits.waiting.change.covered.isEmpty, regainsPosition(message) { return true }
    // A message is looked up only if it may have changed.
    if !isWaiting, message.updatedAt == nil, message.changed == nil, !isOfOtherLog(message) {
      return commits.deletes(message.id)
    }
    return known(message).map(message.isLater) ?? true
  }

  /// Compares an unseen message with the outbox. Returns whether it is held until an attempt ends.
  private mutating func isHeld(
    _ message: ShopMessage, isAnswer: Bool = false, _ step: inout Step
  ) -> Bool {
    let isInOrder = recovery.isIdle && link.status.phase == .connected && !isAnswer
    if !isAnswer, claim(message, &step) { return true }
    if !isInOrder { recovery.noteUnplaced(message) }
    return false
  }
}
