public import LinkCore

/// What a client asks of `GET /shops/{shop_id}/messages/paginated`.
public enum PageQuery: Sendable, Hashable, Codable {
  /// Page `number` (from 1) of the whole history: `page=N&limit=L`. Newest first: our server goes
  /// by position, so that a clock that went back hides nothing.
  case page(number: Int, limit: Int)
  /// Messages created strictly after a time: `since=T&page=N&limit=L`. Our server answers oldest
  /// first; a plain server newest first.
  case since(Timestamp, page: Int, limit: Int)
  /// Messages after a position, oldest first: `after=epoch:offset&limit=L`. Ours only.
  case after(Position, limit: Int)
  /// Messages before a position, newest first: `before=epoch:offset&limit=L`. Ours only.
  case before(Position, limit: Int)
}

/// What the server answered: the `data` object of the envelope.
public struct Page: Sendable, Hashable, Codable {
  /// In the order of the wire.
  public var messages: [Message]
  /// `pagination.has_next`: more messages follow in the direction of the query.
  public var hasNext: Bool
  /// The newest position when the answer was made; `nil` from a server without positions.
  public var head: Position?
  /// False when `after` or `before` named an unknown epoch or a trimmed offset: then `messages` are
  /// the newest ones, oldest first, and what lies between is not known.
  public var recovered: Bool
  /// Entries that were no valid messages of this shop and were left out.
  public var rejected: Int
  /// Why the first of them is none.
  public var fault: MessageError?

  /// A page; whole, without positions and rejects, by default.
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
