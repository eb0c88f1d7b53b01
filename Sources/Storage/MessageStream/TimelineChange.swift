public import HoldfastCore
public import HoldfastWire

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

  /// Creates a cursor, which is unknown by default.
  public init(position: ShopPosition? = nil, time: Timestamp? = nil, wholeAt: Timestamp? = nil) {
    self.position = position
    self.time = time
    self.wholeAt = wholeAt
  }

  /// Whether at least one of the values is known.
  public var isKnown: Bool { position != nil || time != nil || wholeAt != nil }
}

/// A visible gap between two neighboring messages. The messages in it have not been loaded.
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

/// A message of the user that the server has not confirmed or that failed.
public struct OutboxEntry: Sendable, Hashable, Codable {
  /// The idempotency key, which is created once and sent with every attempt.
  public var id: UUID128
  /// The shop to which the message is sent.
  public var shop: ShopID
  /// The text as the user wrote it.
  public var text: String
  /// The message to which the entry replies.
  public var parent: MessageID?
  /// The time at which the user sent the message, by the phone's wall clock. It determines the
  /// order of the entries on the screen.
  public var createdAt: Timestamp
  /// The send state: queued or failed.
  public var state: State

  /// The send state. The user can retry or discard a failed entry.
  public typealias State = SendState

  /// Creates an entry. By default, no attempt has been made.
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

/// A change of a timeline. It is stored completely or not at all.
public struct TimelineChange: Sendable, Hashable, Codable {
  /// The messages to add. A stored message is changed only by an edit, which has a later
  /// `updatedAt`.
  public var messages: [ShopMessage]
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
    messages: [ShopMessage] = [], cursor: ShopCursor? = nil, gaps: [ShopGap]? = nil,
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
  /// The IDs of new messages, in timeline order.
  public var inserted: [MessageID]
  /// The IDs of messages whose text was replaced by a later edit.
  public var edited: [MessageID]

  /// Creates a result, which is empty by default.
  public init(inserted: [MessageID] = [], edited: [MessageID] = []) {
    self.inserted = inserted
    self.edited = edited
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
