public import LinkWire

/// Keeps the backend's messages: one log a shop, each message at the next offset.
///
/// Contract: a message is durable when `append` returns; offsets of one shop count 1, 2, 3… without
/// holes; the epoch stays while the log does.
public protocol MessageLog: Sendable {
  /// Appends a message unless `key` was used by this user in this shop before; then answers with
  /// the message stored at that time. The stored message carries its position.
  func append(_ message: Message, idempotencyKey key: UUID128?) async throws(StoreFailure)
    -> Appended

  /// Answers a page query of a shop: by position, and only `since` by creation and id.
  func page(_ query: PageQuery, of shop: ShopID) async throws(StoreFailure) -> Page

  /// How many messages a page query ranges over, all pages together.
  func count(_ query: PageQuery, of shop: ShopID) async throws(StoreFailure) -> UInt64

  /// The newest position of a shop; offset 0 while it is empty.
  func head(of shop: ShopID) async throws(StoreFailure) -> Position

  /// Closes it; later calls fail.
  func close() async
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
