public import HoldfastCore

// The data that a phone stores about a shop. The model decides which data to store, and a store
// writes it.

/// The point up to which the timeline is known to be complete.
public struct ShopCursor: Sendable, Hashable, Codable {
  /// The position up to which every message is stored, for a server with positions.
  public var position: ShopPosition?
  /// The creation time up to which every message had been fetched when the timeline was last
  /// complete. It is set for any server.
  public var time: Timestamp?
  /// The wall-clock time at which the timeline was last known to be complete.
  public var wholeAt: Timestamp?
  /// The position at which an unfinished catch-up by events began; `nil` if none is unfinished.
  ///
  /// The server sends each message once, at the position of its newest edit. Until the catch-up
  /// ends, messages between `base` and `position` may be missing because they were edited later.
  public var base: ShopPosition?

  /// Creates a cursor, which is unknown by default.
  public init(
    position: ShopPosition? = nil, time: Timestamp? = nil, wholeAt: Timestamp? = nil,
    base: ShopPosition? = nil
  ) {
    self.position = position
    self.time = time
    self.wholeAt = wholeAt
    self.base = base
  }

  /// Whether at least one of the values is known.
  public var isKnown: Bool { position != nil || time != nil || wholeAt != nil }
}

/// A visible gap between two neighboring messages. The messages in it have not been loaded, or the
/// server does not keep them any more.
public struct ShopGap: Sendable, Hashable, Codable {
  /// The last message before the gap; `nil` if no older message is stored.
  public var after: TimelineKey?
  /// The first message after the gap.
  public var before: TimelineKey

  /// Creates a gap between two neighboring messages.
  public init(after: TimelineKey?, before: TimelineKey) {
    self.after = after
    self.before = before
  }
}

/// A message that was deleted on the server.
public struct DeletedMessage: Sendable, Hashable, Codable {
  /// The id of the message.
  public var id: MessageID
  /// The position of the deletion in the shop's log; `nil` if the server does not support
  /// positions.
  public var changed: ShopPosition?

  /// Creates a value.
  public init(id: MessageID, changed: ShopPosition? = nil) {
    self.id = id
    self.changed = changed
  }
}

/// The new text of a message whose edit a server accepted without saying the message's version.
public struct AcceptedText: Sendable, Hashable, Codable {
  /// The id of the message.
  public var id: MessageID
  /// The new text.
  public var text: String

  /// Creates a value.
  public init(id: MessageID, text: String) {
    self.id = id
    self.text = text
  }
}

/// A part of a timeline that pages of a server's log cover without a break.
///
/// A stored message of the part that has no position in this log is on none of the pages, so that
/// the server does not have it any more.
public struct CoveredRange: Sendable, Hashable, Codable {
  /// The log that the pages belong to.
  public var epoch: String
  /// The first key of the part; `nil` if it has no beginning.
  public var start: TimelineKey?
  /// The first key after the part; `nil` if it has no end.
  public var end: TimelineKey?

  /// Creates a range.
  public init(epoch: String, start: TimelineKey? = nil, end: TimelineKey? = nil) {
    (self.epoch, self.start, self.end) = (epoch, start, end)
  }

  /// Returns whether a message belongs to the part.
  package func contains(_ key: TimelineKey) -> Bool {
    key >= start ?? key && end.map { key < $0 } ?? true
  }
}

/// A change of a timeline. It is stored completely or not at all.
///
/// Its deletions come first, then its covered ranges, accepted texts, messages and edits.
public struct TimelineChange: Sendable, Hashable {
  /// The messages to add. A stored message is changed only by a later version, as
  /// `ShopMessage.isLater(than:)` says.
  public var messages: [ShopMessage]
  /// The later versions of messages that may be stored. A message that is not stored is not added.
  public var edits: [ShopMessage]
  /// The messages to remove.
  public var deletions: [DeletedMessage]
  /// The parts from which the messages of earlier logs are removed, except for those that
  /// `messages` and `edits` have in the log of the part or of a later part.
  public var covered: [CoveredRange]
  /// The new texts of messages that may be stored. Each becomes the earliest version that follows
  /// the stored one.
  public var texts: [AcceptedText]
  /// The new cursor; `nil` if it does not change.
  public var cursor: ShopCursor?
  /// The new list of all gaps; `nil` if it does not change.
  public var gaps: [ShopGap]?
  /// The entries to add, or to replace by ID.
  public var outboxPut: [OutboxEntry]
  /// The IDs of entries to remove.
  public var outboxRemove: [UUID128]

  /// Creates a change, which is empty by default.
  public init(
    messages: [ShopMessage] = [], edits: [ShopMessage] = [], deletions: [DeletedMessage] = [],
    covered: [CoveredRange] = [], texts: [AcceptedText] = [], cursor: ShopCursor? = nil,
    gaps: [ShopGap]? = nil, outboxPut: [OutboxEntry] = [], outboxRemove: [UUID128] = []
  ) {
    self.messages = messages
    self.edits = edits
    self.deletions = deletions
    self.covered = covered
    self.texts = texts
    self.cursor = cursor
    self.gaps = gaps
    self.outboxPut = outboxPut
    self.outboxRemove = outboxRemove
  }

  /// Whether there is nothing to store.
  public var isEmpty: Bool {
    messages.isEmpty && !changesMessages && cursor == nil && gaps == nil && outboxPut.isEmpty
      && outboxRemove.isEmpty
  }

  /// Whether the change may edit or remove messages.
  package var changesMessages: Bool {
    !edits.isEmpty || !deletions.isEmpty || !covered.isEmpty || !texts.isEmpty
  }
}

/// The result of storing the messages of a change.
public struct TimelineCommit: Sendable, Hashable {
  /// The IDs of new messages, in timeline order.
  public var inserted: [MessageID]
  /// The IDs of messages whose text was replaced by a later edit.
  public var edited: [MessageID]
  /// The keys of the messages that were removed, in the order of the change.
  public var deleted: [TimelineKey]
  /// The messages that accepted texts changed, as they are stored now. Their IDs are in `edited`,
  /// too.
  public var rewritten: [ShopMessage]

  /// Creates a result, which is empty by default.
  public init(
    inserted: [MessageID] = [], edited: [MessageID] = [], deleted: [TimelineKey] = [],
    rewritten: [ShopMessage] = []
  ) {
    self.inserted = inserted
    self.edited = edited
    self.deleted = deleted
    self.rewritten = rewritten
  }

  /// Whether the change added, edited or removed a message.
  public var isEmpty: Bool { inserted.isEmpty && edited.isEmpty && deleted.isEmpty }
}

// The coded forms. Lists that earlier versions did not have are left out if they are empty, so that
// a journal of an earlier version can be read, and the steps of such a journal do not change.
extension TimelineChange: Codable {
  private enum Key: CodingKey {
    case messages, edits, deletions, covered, texts, cursor, gaps, outboxPut, outboxRemove
  }

  public init(from decoder: any Decoder) throws {
    let values = try decoder.container(keyedBy: Key.self)
    messages = try values.decode([ShopMessage].self, forKey: .messages)
    edits = try values.decodeIfPresent([ShopMessage].self, forKey: .edits) ?? []
    deletions = try values.decodeIfPresent([DeletedMessage].self, forKey: .deletions) ?? []
    covered = try values.decodeIfPresent([CoveredRange].self, forKey: .covered) ?? []
    texts = try values.decodeIfPresent([AcceptedText].self, forKey: .texts) ?? []
    cursor = try values.decodeIfPresent(ShopCursor.self, forKey: .cursor)
    gaps = try values.decodeIfPresent([ShopGap].self, forKey: .gaps)
    outboxPut = try values.decode([OutboxEntry].self, forKey: .outboxPut)
    outboxRemove = try values.decode([UUID128].self, forKey: .outboxRemove)
  }

  public func encode(to encoder: any Encoder) throws {
    var values = encoder.container(keyedBy: Key.self)
    try values.encode(messages, forKey: .messages)
    if !edits.isEmpty { try values.encode(edits, forKey: .edits) }
    if !deletions.isEmpty { try values.encode(deletions, forKey: .deletions) }
    if !covered.isEmpty { try values.encode(covered, forKey: .covered) }
    if !texts.isEmpty { try values.encode(texts, forKey: .texts) }
    try values.encodeIfPresent(cursor, forKey: .cursor)
    try values.encodeIfPresent(gaps, forKey: .gaps)
    try values.encode(outboxPut, forKey: .outboxPut)
    try values.encode(outboxRemove, forKey: .outboxRemove)
  }
}

extension TimelineCommit: Codable {
  private enum Key: CodingKey { case inserted, edited, deleted, rewritten }

  public init(from decoder: any Decoder) throws {
    let values = try decoder.container(keyedBy: Key.self)
    inserted = try values.decode([MessageID].self, forKey: .inserted)
    edited = try values.decode([MessageID].self, forKey: .edited)
    deleted = try values.decodeIfPresent([TimelineKey].self, forKey: .deleted) ?? []
    rewritten = try values.decodeIfPresent([ShopMessage].self, forKey: .rewritten) ?? []
  }

  public func encode(to encoder: any Encoder) throws {
    var values = encoder.container(keyedBy: Key.self)
    try values.encode(inserted, forKey: .inserted)
    try values.encode(edited, forKey: .edited)
    if !deleted.isEmpty { try values.encode(deleted, forKey: .deleted) }
    if !rewritten.isEmpty { try values.encode(rewritten, forKey: .rewritten) }
  }
}

/// The stored data of a shop, as read when its store is opened.
public struct TimelineSnapshot: Sendable, Hashable, Codable {
  /// The newest messages, oldest first.
  public var messages: [ShopMessage]
  /// Whether messages older than `messages` are stored.
  public var hasOlder: Bool
  /// The point up to which the timeline is complete.
  public var cursor: ShopCursor
  /// The gaps, in timeline order.
  public var gaps: [ShopGap]
  /// The outbox, in the order in which entries were added.
  public var outbox: [OutboxEntry]

  /// Creates a snapshot, which is empty by default.
  public init(
    messages: [ShopMessage] = [], hasOlder: Bool = false, cursor: ShopCursor = ShopCursor(),
    gaps: [ShopGap] = [], outbox: [OutboxEntry] = []
  ) {
    self.messages = messages
    self.hasOlder = hasOlder
    self.cursor = cursor
    self.gaps = gaps
    self.outbox = outbox
  }
}
