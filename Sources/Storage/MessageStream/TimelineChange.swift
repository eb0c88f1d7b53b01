public import LinkCore
public import LinkWire

// What a phone stores of a shop: the model decides about it, and a store writes it.

/// The point up to which the timeline is known to be complete.
public struct Cursor: Sendable, Hashable, Codable {
  /// The position up to which every message is stored, on a server with positions.
  public var position: Position?
  /// The time of creation up to which every message had been fetched when the timeline was last
  /// complete, on any server.
  public var time: Timestamp?
  /// The wall time at which the timeline was last known to be complete.
  public var wholeAt: Timestamp?

  /// Creates a cursor; nothing is known by default.
  public init(position: Position? = nil, time: Timestamp? = nil, wholeAt: Timestamp? = nil) {
    self.position = position
    self.time = time
    self.wholeAt = wholeAt
  }

  /// Whether anything is known.
  public var isKnown: Bool { position != nil || time != nil || wholeAt != nil }
}

/// A visible gap: messages between two neighbours were not loaded.
public struct Gap: Sendable, Hashable, Codable {
  /// The last message before the gap; `nil` if nothing older is stored.
  public var after: TimelineKey?
  /// The first message after the gap.
  public var before: TimelineKey

  /// Creates a gap between two neighbours.
  public init(after: TimelineKey?, before: TimelineKey) {
    self.after = after
    self.before = before
  }
}

/// A message of the user that the server has not confirmed, or that failed.
public struct OutboxEntry: Sendable, Hashable, Codable {
  /// The idempotency key: created once, sent with every try.
  public var id: UUID128
  /// The shop that it is sent to.
  public var shop: ShopID
  /// The text as the user wrote it.
  public var text: String
  /// The message that it replies to.
  public var parent: MessageID?
  /// The time at which the user sent it, by the phone's wall clock; orders the entries on screen.
  public var createdAt: Timestamp
  /// Whether it is still retried.
  public var state: State

  /// Whether the entry is still retried; the user can retry or discard a failed one.
  public typealias State = SendState

  /// Creates an entry; by default it has not been tried.
  public init(
    id: UUID128, shop: ShopID, text: String, parent: MessageID? = nil, createdAt: Timestamp,
    state: State = .queued(tries: 0)
  ) {
    self.id = id
    self.shop = shop
    self.text = text
    self.parent = parent
    self.createdAt = createdAt
    self.state = state
  }
}

/// A change of a timeline, which is stored completely or not at all.
public struct TimelineChange: Sendable, Hashable, Codable {
  /// The messages to add. A stored message is changed only by an edit, which has a later
  /// `updatedAt`.
  public var messages: [Message]
  /// The new cursor; `nil` for no change.
  public var cursor: Cursor?
  /// The new list of all gaps; `nil` for no change.
  public var gaps: [Gap]?
  /// Entries to add, or to replace by id.
  public var outboxPut: [OutboxEntry]
  /// Ids of entries to remove.
  public var outboxRemove: [UUID128]

  /// Creates a change; empty by default.
  public init(
    messages: [Message] = [], cursor: Cursor? = nil, gaps: [Gap]? = nil,
    outboxPut: [OutboxEntry] = [], outboxRemove: [UUID128] = []
  ) {
    self.messages = messages
    self.cursor = cursor
    self.gaps = gaps
    self.outboxPut = outboxPut
    self.outboxRemove = outboxRemove
  }

  /// Whether there is nothing to store.
  public var isEmpty: Bool {
    messages.isEmpty && cursor == nil && gaps == nil && outboxPut.isEmpty && outboxRemove.isEmpty
  }
}

/// The result of storing the messages of a change.
public struct TimelineCommit: Sendable, Hashable, Codable {
  /// Ids of new messages, in timeline order.
  public var inserted: [MessageID]
  /// Ids of messages whose text was replaced by a later edit.
  public var edited: [MessageID]

  /// Creates a result; empty by default.
  public init(inserted: [MessageID] = [], edited: [MessageID] = []) {
    self.inserted = inserted
    self.edited = edited
  }
}

/// The stored data of a shop, as read when its store is opened.
public struct TimelineSnapshot: Sendable, Hashable, Codable {
  /// The newest messages, oldest first.
  public var messages: [Message]
  /// Whether messages older than `messages` are stored.
  public var hasOlder: Bool
  /// The point up to which the timeline is complete.
  public var cursor: Cursor
  /// The gaps, in timeline order.
  public var gaps: [Gap]
  /// The outbox, in the order in which entries were added.
  public var outbox: [OutboxEntry]

  /// Creates a snapshot; empty by default.
  public init(
    messages: [Message] = [], hasOlder: Bool = false, cursor: Cursor = Cursor(),
    gaps: [Gap] = [], outbox: [OutboxEntry] = []
  ) {
    self.messages = messages
    self.hasOlder = hasOlder
    self.cursor = cursor
    self.gaps = gaps
    self.outbox = outbox
  }
}
