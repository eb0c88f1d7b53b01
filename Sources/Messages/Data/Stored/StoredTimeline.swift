public import HoldfastCore

/// All data that a phone stores about one shop, as a value.
///
/// A commit costs a binary search for each new message, and moves the newer messages.
public struct StoredTimeline: Sendable, Hashable {
  /// The messages by ID.
  public private(set) var messages: [MessageID: ShopMessage] = [:]
  /// The keys of the messages in timeline order.
  public private(set) var ordered: [TimelineKey] = []
  /// The gaps that the last change set.
  public private(set) var gaps: [ShopGap] = []
  /// The outbox, in the order in which its entries were added.
  public private(set) var outbox: [OutboxEntry] = []
  private var written: ShopCursor?
  var readers: [ConsumerName: StoredConsumer] = [:]

  /// Creates an empty timeline.
  public init() {}

  /// The cursor that the last change set; empty before the first one.
  public var cursor: ShopCursor { written ?? ShopCursor() }

  /// Whether no data is stored. A cursor that was set counts as data, even if it is unknown.
  public var isEmpty: Bool {
    ordered.isEmpty && written == nil && gaps.isEmpty && outbox.isEmpty && readers.isEmpty
  }

  /// Returns the newest `limit` messages, the cursor, the gaps and the outbox.
  public func load(limit: Int) -> TimelineSnapshot {
    let newest = messages(ordered.suffix(Swift.max(0, limit)))
    return TimelineSnapshot(
      messages: newest, hasOlder: ordered.count > newest.count, cursor: cursor, gaps: gaps,
      outbox: outbox)
  }

  /// Returns up to `limit` messages before `key`, oldest first.
  public func older(than key: TimelineKey, limit: Int) -> [ShopMessage] {
    messages(ordered[..<ordered.end { $0 < key }].suffix(Swift.max(0, limit)))
  }

  /// Stores a change. Returns the messages that it added, edited and removed.
  public mutating func commit(_ change: TimelineChange) -> TimelineCommit {
    var counts = TimelineCounts()
    for deletion in change.deletions {
      if let key = remove(deletion.id) { counts.delete(key, as: deletion) }
    }
    for key in superseded(by: change) where remove(key.id) != nil {
      counts.delete(key, as: DeletedMessage(id: key.id))
    }
    var rewritten: [MessageID] = []
    for text in change.texts {
      guard let edited = messages[text.id]?.edited(to: text),
        messages[text.id]?.take(edited) == true
      else { continue }
      counts.edit(text.id)
      rewritten.append(text.id)
    }
    for message in change.messages {
      if messages[message.id] == nil {
        insert(message)
        counts.insert(message.key)
      } else if messages[message.id]?.take(message) == true {
        counts.edit(message.id)
      }
    }
    for message in change.edits where messages[message.id]?.take(message) == true {
      counts.edit(message.id)
    }
    if let cursor = change.cursor { written = cursor }
    if let gaps = change.gaps { self.gaps = gaps }
    for entry in change.outboxPut { put(entry) }
    outbox.removeAll { change.outboxRemove.contains($0.id) }
    for name in readers.keys { readers[name]?.add(counts) }
    var commit = counts.commit
    commit.rewritten = rewritten.compactMap { messages[$0] }
    return commit
  }

  /// Returns the messages of earlier logs in the covered ranges of a change, in timeline order.
  private func superseded(by change: TimelineChange) -> [TimelineKey] {
    zip(change.covered, change.keptIDs).flatMap { range, kept in
      ordered.filter { key in
        range.contains(key) && !kept.contains(key.id)
          && messages[key.id]?.position?.epoch != range.epoch
      }
    }
  }

  private func messages(_ keys: ArraySlice<TimelineKey>) -> [ShopMessage] {
    keys.compactMap { messages[$0.id] }
  }

  private mutating func insert(_ message: ShopMessage) {
    messages[message.id] = message
    let key = message.key
    if let last = ordered.last, key < last {
      ordered.insert(key, at: ordered.end { $0 < key })
    } else {
      ordered.append(key)
    }
  }

  private mutating func remove(_ id: MessageID) -> TimelineKey? {
    guard let key = messages.removeValue(forKey: id)?.key else { return nil }
    ordered.remove(at: ordered.end { $0 < key })
    return key
  }

  private mutating func put(_ entry: OutboxEntry) {
    if let index = outbox.firstIndex(where: { $0.id == entry.id }) {
      outbox[index] = entry
    } else {
      outbox.append(entry)
    }
  }
}

/// The timelines of all shops of a phone, as a value.
public struct StoredTimelines: Sendable, Hashable {
  private var timelines: [ShopID: StoredTimeline] = [:]

  /// Creates an empty collection.
  public init() {}

  /// The shops that have stored data, in order.
  public var shops: [ShopID] { timelines.keys.sorted() }

  /// Returns the timeline of a shop.
  public subscript(shop: ShopID) -> StoredTimeline { timelines[shop] ?? StoredTimeline() }

  /// Changes the timeline of a shop. The timeline stays unchanged if `body` throws an error.
  public mutating func change<Result>(
    _ shop: ShopID, _ body: (inout StoredTimeline) throws(StoreFailure) -> Result
  ) throws(StoreFailure) -> Result {
    var timeline = self[shop]
    let result = try body(&timeline)
    timelines[shop] = timeline.isEmpty ? nil : timeline
    return result
  }

  /// Stores a change of one shop. Returns the IDs of new and edited messages.
  ///
  /// - Throws: `.other` if the change contains data of another shop. In that case nothing is
  ///   stored.
  public mutating func commit(
    _ change: TimelineChange, to shop: ShopID
  ) throws(StoreFailure) -> TimelineCommit {
    try change.requireOnly(shop)
    return try self.change(shop) { $0.commit(change) }
  }
}

/// A collector that builds a commit's result from the results of the change's messages.
package struct TimelineCounts: Sendable, Hashable {
  private var inserted: [TimelineKey] = []
  private var edited: [MessageID] = []
  private var deleted: [TimelineKey] = []
  /// The deletions of messages that were removed.
  package private(set) var deletions: [DeletedMessage] = []
  /// The reported IDs. The set is created at the first edit, since most changes have none.
  private var reported: Set<MessageID>?

  package init() {}

  /// Records a new message.
  package mutating func insert(_ key: TimelineKey) {
    inserted.append(key)
    reported?.insert(key.id)
  }

  /// Records an edit. Each message is reported once. It is reported as inserted if this change
  /// inserted it.
  package mutating func edit(_ id: MessageID) {
    if reported == nil { reported = Set(inserted.lazy.map(\.id)) }
    if reported?.insert(id).inserted == true { edited.append(id) }
  }

  /// Records that a message was removed.
  package mutating func delete(_ key: TimelineKey, as deletion: DeletedMessage) {
    deleted.append(key)
    deletions.append(deletion)
  }

  /// The result, with new IDs in timeline order, and edited and deleted ones in the order of the
  /// change.
  package var commit: TimelineCommit {
    TimelineCommit(inserted: inserted.sorted().map(\.id), edited: edited, deleted: deleted)
  }
}

extension TimelineChange {
  /// For each covered range, the messages that it does not remove: those that the change has in
  /// the log of this range or of a later one.
  package var keptIDs: [Set<MessageID>] {
    let last = Dictionary(
      zip(covered.map(\.epoch), covered.indices), uniquingKeysWith: { max($0, $1) })
    var kept: [Set<MessageID>] = covered.map { _ in [] }
    for message in covered.isEmpty ? [] : messages + edits {
      guard let epoch = message.position?.epoch, let end = last[epoch] else { continue }
      for index in 0...end { kept[index].insert(message.id) }
    }
    return kept
  }

  /// Checks that the change contains only data of one shop.
  ///
  /// - Throws: `.other` if it contains data of another shop.
  package func requireOnly(_ shop: ShopID) throws(StoreFailure) {
    guard messages.allSatisfy({ $0.shop == shop }), edits.allSatisfy({ $0.shop == shop }),
      outboxPut.allSatisfy({ $0.shop == shop })
    else { throw .other(detail: "A change for the shop \(shop) holds something of another shop.") }
  }
}

extension ShopMessage {
  /// Returns whether this is a later version of a stored message.
  ///
  /// A version of another log is later. In one log, the positions of the newest edits decide. If
  /// the stored version has none of the same epoch, the times of the edits do. Positions and times
  /// of edits have the same order: a later time at a smaller position shows that the log was
  /// restored to an earlier state.
  package func isLater(than stored: ShopMessage) -> Bool {
    if isOfOtherLog(than: stored) { return true }
    if let changed, let known = stored.changed, changed.epoch == known.epoch {
      if changed.offset > known.offset { return true }
      guard let updatedAt, let time = stored.updatedAt else { return false }
      return updatedAt > time
    }
    // A server whose clock was set back may date an edit before the message.
    if changed != nil, stored.updatedAt == nil { return true }
    guard let updatedAt else { return false }
    let known = stored.updatedAt ?? stored.createdAt
    return updatedAt > known || changed != nil && updatedAt == known
  }

  /// Returns the message with an accepted text, in the earliest version that follows this one;
  /// `nil` if it has this text.
  package func edited(to accepted: AcceptedText) -> ShopMessage? {
    guard text != accepted.text else { return nil }
    var message = self
    (message.text, message.isEdited) = (accepted.text, true)
    message.updatedAt = (updatedAt ?? createdAt).advanced(by: .nanoseconds(1))
    return message
  }

  /// Returns whether this version and a stored one have positions of different logs.
  package func isOfOtherLog(than stored: ShopMessage) -> Bool {
    guard let position, let known = stored.position else { return false }
    return position.epoch != known.epoch
  }

  /// Returns whether the text, the time and the mark of the newest edit are those of another
  /// version.
  package func reads(like other: ShopMessage) -> Bool {
    text == other.text && updatedAt == other.updatedAt && isEdited == other.isEdited
  }

  /// Applies the text, the times, the edit mark and, if it is of another log, the positions of a
  /// later version. Returns false if `edit` is not later or reads the same.
  fileprivate mutating func take(_ edit: ShopMessage) -> Bool {
    guard edit.isLater(than: self) else { return false }
    if edit.isOfOtherLog(than: self) {
      let isSame = edit.reads(like: self)
      (text, updatedAt, isEdited) = (edit.text, edit.updatedAt, edit.isEdited)
      (position, changed) = (edit.position, edit.changed)
      return !isSame
    }
    (text, updatedAt, isEdited) = (edit.text, edit.updatedAt ?? updatedAt, edit.isEdited)
    changed = edit.changed ?? changed
    return true
  }
}
