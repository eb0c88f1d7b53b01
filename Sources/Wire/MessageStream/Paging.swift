public import HoldfastCore

/// A query to `GET /shops/{shop_id}/messages/paginated`.
public enum PageQuery: Sendable, Hashable, Codable {
  /// A page of the complete history, newest first. Page numbers start at 1: `page=N&limit=L`.
  ///
  /// Holdfast's server orders messages by position, so that no message is hidden if the clock was
  /// set back.
  case page(number: Int, limit: Int)
  /// The messages created strictly after a time: `since=T&page=N&limit=L`.
  ///
  /// Holdfast's server returns the oldest messages first. A plain server returns the newest first.
  case since(Timestamp, page: Int, limit: Int)
  /// The messages after a position, oldest first: `after=epoch:offset&limit=L`. Plain servers do
  /// not support it.
  case after(ShopPosition, limit: Int)
  /// The messages before a position, newest first: `before=epoch:offset&limit=L`. Plain servers do
  /// not support it.
  case before(ShopPosition, limit: Int)
}

/// A page of messages: the `data` object of the envelope.
public struct Page: Sendable, Hashable, Codable {
  /// The messages, in the order of the answer.
  public var messages: [ShopMessage]
  /// Whether more messages follow in the direction of the query (`pagination.has_next`).
  public var hasNext: Bool
  /// The newest position when the answer was created, or `nil` if the server does not support
  /// positions.
  public var head: ShopPosition?
  /// Whether the position of `after` or `before` is still available.
  ///
  /// It is false if the epoch is unknown or the offset has been trimmed. In this case, `messages`
  /// contains the newest messages, oldest first, and the messages between the position and these
  /// are missing.
  public var recovered: Bool
  /// The number of entries that were omitted because they are not valid messages of this shop.
  public var rejected: Int
  /// The error of the first rejected entry.
  public var fault: MessageError?

  /// Creates a page. By default, it is recovered and has neither a head nor rejected entries.
  public init(
    messages: [ShopMessage], hasNext: Bool, head: ShopPosition? = nil, recovered: Bool = true,
    rejected: Int = 0, fault: MessageError? = nil
  ) {
    self.messages = messages
    self.hasNext = hasNext
    self.head = head
    self.recovered = recovered
    self.rejected = rejected
    self.fault = fault
  }
}
