public import LinkWire

/// Keeps the backend's messages: one log a shop, each message at the next offset.
///
/// Contract: a message is durable when `append` returns; offsets of one shop count 1, 2, 3… without
/// holes, in the order of a list; the epoch stays while the log does.
public protocol MessageLog: Sendable {
  /// Appends messages in this order, at the price of one commit, and says what became of each.
  ///
  /// One whose key was used by this user in this shop before is not added: its answer is the
  /// message stored at that time. One that is refused takes no offset, and the others go on.
  func append(_ entries: [LogEntry]) async -> [Result<Appended, StoreFailure>]

  /// Answers a page query of a shop: by position, and only `since` by creation and id.
  func page(_ query: PageQuery, of shop: ShopID) async throws(StoreFailure) -> Page

  /// How many messages a page query ranges over, all pages together.
  func count(_ query: PageQuery, of shop: ShopID) async throws(StoreFailure) -> UInt64

  /// The newest position of a shop; offset 0 while it is empty.
  func head(of shop: ShopID) async throws(StoreFailure) -> Position

  /// Closes it; later calls fail.
  func close() async
}

extension MessageLog {
  /// Appends one message, under a key or none; it comes back with its position.
  public func append(
    _ message: Message, idempotencyKey key: UUID128?
  ) async throws(StoreFailure) -> Appended {
    guard let result = await append([LogEntry(message: message, key: key)]).first else {
      throw .unanswered
    }
    return try result.get()
  }
}

extension StoreFailure {
  /// What becomes of an entry of which a log says nothing.
  public static let unanswered = StoreFailure.other(detail: "The log gave no answer.")
}

/// A message for the log.
public struct LogEntry: Sendable, Hashable {
  /// Its position is the log's to give.
  public var message: Message
  /// What makes a repetition of the same post known; `nil` makes each a message of its own.
  public var key: UUID128?

  public init(message: Message, key: UUID128?) {
    self.message = message
    self.key = key
  }
}

/// What became of an append.
public struct Appended: Sendable, Hashable {
  /// As stored, with its position.
  public var message: Message
  /// False when the idempotency key was known and nothing was added.
  public var isNew: Bool

  public init(message: Message, isNew: Bool) {
    self.message = message
    self.isNew = isNew
  }
}
