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
  /// The messages that were posted, edited or deleted after a position, each once in its last form,
  /// ordered by their newest events: `after=epoch:offset&limit=L` with `Holdfast-Events`.
  case changes(after: ShopPosition, limit: Int)
  /// The newest page, and the edits and deletions after a position of messages up to it:
  /// `page=1&limit=L&known=epoch:offset` with `Holdfast-Events`.
  case newest(knowing: ShopPosition, limit: Int)
  /// The messages that were posted before another message, newest first: `before_id=ID&limit=L`.
  case beforeID(MessageID, limit: Int)
  /// The messages that were posted after another message, oldest first: `after_id=ID&limit=L`.
  ///
  /// A plain server returns the newest messages first.
  case afterID(MessageID, limit: Int)
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
  /// Whether the position or the message of the query is still available.
  ///
  /// It is false if the epoch is unknown or the offset has been trimmed. In this case, `messages`
  /// contains the newest messages, and the messages between the position and these are missing.
  /// They are the oldest first, except after `newest`, which is answered like the first page.
  /// If a message of `beforeID` or `afterID` is unknown, `messages` is empty.
  public var recovered: Bool
  /// The number of entries that were omitted because they are not valid messages or deletions of
  /// this shop.
  public var rejected: Int
  /// The error of the first rejected entry.
  public var fault: MessageError?
  /// The deleted messages of a query for events, ordered by their deletions.
  public var deleted: [ShopDeletion]
  /// The position up to which the answer to `changes` is complete. It is the head if nothing
  /// follows.
  public var through: ShopPosition?
  /// The edited messages of the query `newest`, ordered by their edits.
  public var changes: [ShopMessage]
  /// The position up to which `changes` and `deleted` of the query `newest` are complete. It is the
  /// head if nothing is omitted.
  public var changesThrough: ShopPosition?
  /// The message by which `beforeID` or `afterID` continues, or `nil` at the end
  /// (`next_cursor`).
  public var nextCursor: MessageID?
  /// The position of the oldest event that the server keeps, or `nil` if it has removed none.
  ///
  /// Messages whose newest events lie before it were removed to limit the age or the size of the
  /// log. Nobody deleted them.
  public var oldest: ShopPosition?

  /// Creates a page. By default, it is recovered and has nothing but messages.
  public init(
    messages: [ShopMessage], hasNext: Bool, head: ShopPosition? = nil, recovered: Bool = true,
    rejected: Int = 0, fault: MessageError? = nil, deleted: [ShopDeletion] = [],
    through: ShopPosition? = nil, changes: [ShopMessage] = [],
    changesThrough: ShopPosition? = nil, nextCursor: MessageID? = nil,
    oldest: ShopPosition? = nil
  ) {
    self.messages = messages
    self.hasNext = hasNext
    self.head = head
    self.recovered = recovered
    self.rejected = rejected
    self.fault = fault
    self.deleted = deleted
    self.through = through
    self.changes = changes
    self.changesThrough = changesThrough
    self.nextCursor = nextCursor
    self.oldest = oldest
  }

  /// Decodes a page. Journals of earlier versions contain no deletions and no changes.
  public init(from decoder: any Decoder) throws {
    let members = try decoder.container(keyedBy: CodingKeys.self)
    self.init(
      messages: try members.decode([ShopMessage].self, forKey: .messages),
      hasNext: try members.decode(Bool.self, forKey: .hasNext),
      head: try members.decodeIfPresent(ShopPosition.self, forKey: .head),
      recovered: try members.decode(Bool.self, forKey: .recovered),
      rejected: try members.decode(Int.self, forKey: .rejected),
      fault: try members.decodeIfPresent(MessageError.self, forKey: .fault),
      deleted: try members.decodeIfPresent([ShopDeletion].self, forKey: .deleted) ?? [],
      through: try members.decodeIfPresent(ShopPosition.self, forKey: .through),
      changes: try members.decodeIfPresent([ShopMessage].self, forKey: .changes) ?? [],
      changesThrough: try members.decodeIfPresent(ShopPosition.self, forKey: .changesThrough),
      nextCursor: try members.decodeIfPresent(MessageID.self, forKey: .nextCursor),
      oldest: try members.decodeIfPresent(ShopPosition.self, forKey: .oldest))
  }

  /// Returns whether the server has removed messages after a position.
  package func hasRemoved(after position: ShopPosition) -> Bool {
    guard let oldest, oldest.epoch == position.epoch, oldest.offset > 0 else { return false }
    return position.offset < oldest.offset - 1
  }
}
