public import LinkCore
public import LinkWire

// What a phone keeps of a shop. The model decides it, a store writes it down: both speak these
// words.

/// How far the timeline is known to be whole.
public struct Cursor: Sendable, Hashable, Codable {
  /// Everything up to here is stored (server with positions).
  public var position: Position?
  /// Everything created up to here was fetched when it was last whole (any server).
  public var time: Timestamp?
  /// Wall time when the timeline was last known to be whole.
  public var wholeAt: Timestamp?

  /// A cursor; nothing is known by default.
  public init(position: Position? = nil, time: Timestamp? = nil, wholeAt: Timestamp? = nil) {
    self.position = position
    self.time = time
    self.wholeAt = wholeAt
  }

  /// Whether it says anything about the server.
  public var isKnown: Bool { position != nil || time != nil || wholeAt != nil }
}

/// A hole that the reader sees: messages between two neighbours were not loaded.
public struct Gap: Sendable, Hashable, Codable {
  /// The last message before the hole; `nil` when nothing older is kept.
  public var after: TimelineKey?
  /// The first message behind the hole.
  public var before: TimelineKey

  /// A hole between two neighbours.
  public init(after: TimelineKey?, before: TimelineKey) {
    self.after = after
    self.before = before
  }
}

/// A message that waits to be sent, or failed to be.
public struct OutboxEntry: Sendable, Hashable, Codable {
  /// The idempotency key: made once, sent with every try.
  public var id: UUID128
  /// Where it goes.
  public var shop: ShopID
  /// As the user wrote it.
  public var text: String
  /// The message that it answers.
  public var parent: MessageID?
  /// When the user sent it, by the phone's wall clock; orders the optimistic entries.
  public var createdAt: Timestamp
  /// Whether it is still tried.
  public var state: State

  /// Whether the entry is still tried; the user can retry or discard one that failed.
  public typealias State = SendState

  /// An entry that was not tried yet, by default.
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

/// What must become durable together, or not at all.
public struct TimelineChange: Sendable, Hashable, Codable {
  /// Stored unless already there; an edit (a later `updatedAt`) replaces its text.
  public var messages: [Message]
  /// The new cursor; `nil` leaves it as it is.
  public var cursor: Cursor?
  /// The whole list of gaps from now on; `nil` leaves it as it is.
  public var gaps: [Gap]?
  /// Entries to add, or to replace by id.
  public var outboxPut: [OutboxEntry]
  /// Ids of entries to forget.
  public var outboxRemove: [UUID128]

  /// A change of nothing, by default.
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

  /// Whether there is nothing to write down.
  public var isEmpty: Bool {
    messages.isEmpty && cursor == nil && gaps == nil && outboxPut.isEmpty && outboxRemove.isEmpty
  }
}

/// What a store did with the messages of a change.
public struct TimelineCommit: Sendable, Hashable, Codable {
  /// Ids that were not there before, in timeline order.
  public var inserted: [MessageID]
  /// Ids whose text was replaced by a later edit.
  public var edited: [MessageID]

  /// A commit that changed nothing, by default.
  public init(inserted: [MessageID] = [], edited: [MessageID] = []) {
    self.inserted = inserted
    self.edited = edited
  }
}

/// What a store holds of a shop when it is opened.
public struct TimelineSnapshot: Sendable, Hashable, Codable {
  /// The newest messages, oldest first.
  public var messages: [Message]
  /// Whether older messages are kept than `messages` shows.
  public var hasOlder: Bool
  /// How far the timeline is whole.
  public var cursor: Cursor
  /// The holes, in timeline order.
  public var gaps: [Gap]
  /// In the order in which they were put.
  public var outbox: [OutboxEntry]

  /// An empty snapshot, by default.
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
