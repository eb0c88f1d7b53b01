public import LinkCore

/// A query to `GET /shops/{shop_id}/messages/paginated`.
public enum PageQuery: Sendable, Hashable, Codable {
  /// Page `number` (from 1) of the whole history, newest first: `page=N&limit=L`.
  ///
  /// Holdfast's server orders by position, so that a clock that was set back hides nothing.
  case page(number: Int, limit: Int)
  /// Messages created strictly after a time: `since=T&page=N&limit=L`.
  ///
  /// Holdfast's server returns the oldest first, a plain server the newest first.
  case since(Timestamp, page: Int, limit: Int)
  /// Messages after a position, oldest first: `after=epoch:offset&limit=L`. Plain servers lack it.
  case after(Position, limit: Int)
  /// Messages before a position, newest first: `before=epoch:offset&limit=L`. Plain servers lack
  /// it.
  case before(Position, limit: Int)
}

/// A page of messages: the `data` object of the envelope.
public struct Page: Sendable, Hashable, Codable {
  /// The messages, in the order of the answer.
  public var messages: [Message]
  /// Whether more messages follow in the direction of the query (`pagination.has_next`).
  public var hasNext: Bool
  /// The newest position when the answer was created, or `nil` from a server without positions.
  public var head: Position?
  /// Whether the position of `after` or `before` is still available.
  ///
  /// It is false for an unknown epoch and for a trimmed offset. Then `messages` are the newest
  /// ones, oldest first, and the messages between them and the position are unknown.
  public var recovered: Bool
  /// The number of entries that were left out because they are not valid messages of this shop.
  public var rejected: Int
  /// The error of the first rejected entry.
  public var fault: MessageError?

  /// Creates a page. By default it is recovered, without a head and without rejected entries.
  public init(
    messages: [Message], hasNext: Bool, head: Position? = nil, recovered: Bool = true,
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
