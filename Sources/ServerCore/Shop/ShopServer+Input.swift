public import LinkCore
public import LinkWire

extension ShopServer {
  /// Everything that can happen to the server.
  ///
  /// `wall` is the wall clock when the input arrived: it stamps messages and judges tokens.
  public enum Input: Sendable, Hashable, Codable {
    /// A whole REST request arrived.
    case request(RequestID, Call, Credential, wall: Timestamp)
    /// Its client left before the answer.
    case abandoned(RequestID)
    /// A well-formed upgrade to a shop's stream arrived; `after` is what `Holdfast-After` names.
    case upgrade(
      ConnectionID, ShopID, after: Position? = nil, Credential, wall: Timestamp)
    /// Any byte came from an open socket.
    case heard(ConnectionID)
    /// The send queue of a socket passed its bound.
    case overflowed(ConnectionID)
    /// A connection is gone, with the code by which it ended (RFC 6455 section 7.1.5; 1006 when
    /// it broke). Said once for every connection, whoever ended it.
    case gone(ConnectionID, code: UInt16)
    /// The store answered.
    case stored(StoreToken, StoreAnswer)
    /// A user was removed from a shop.
    case removed(Membership)
    /// The whole list of removals from now on.
    case removals([Membership])
    /// Go away politely; clients are told to spread their return over `within`.
    case drain(within: Duration)
  }

  /// What the store said to one question.
  public enum StoreAnswer: Sendable, Hashable, Codable {
    /// Durable; `isNew` is false when the idempotency key was known.
    case appended(Message, isNew: Bool)
    /// `total` counts the messages that the query reaches on all its pages.
    case page(Page, total: UInt64)
    /// The newest position, offset 0 while the shop is empty, and when its message was created.
    case head(Position, newest: Timestamp? = nil)
    /// Nothing of the question was done.
    case failed(StoreFailure)
  }
}
