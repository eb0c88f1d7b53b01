public import LinkCore
public import LinkWire

extension ShopServer {
  /// Everything that the server can ask for; carried out in order.
  public enum Effect: Sendable, Hashable, Codable {
    /// Make messages of one shop durable together and in this order; each is answered by its own
    /// token, in this order again. Never said while one of that shop has no answer yet.
    case append([Append])
    /// Read a page of a shop, and count what its query reaches.
    case page(StoreToken, ShopID, PageQuery)
    /// Read the head of a shop.
    case head(StoreToken, ShopID)

    /// Answer a request; said once a request, never after it was abandoned.
    case answer(RequestID, Answer)
    /// Complete an upgrade; `head` goes into `Holdfast-Head` (none in the plain dialect), and
    /// `after` into `Holdfast-After` where all that lies between the two follows at once.
    case accept(ConnectionID, head: Position?, after: Position? = nil)
    /// Answer an upgrade with a plain HTTP response.
    case refuse(ConnectionID, Answer)

    /// Send one frame to many sockets; encode it once.
    case send(Frame, to: [ConnectionID])
    /// Send a ping frame (RFC 6455 section 5.5.2).
    case ping(ConnectionID)
    /// Send a close frame behind what is queued.
    case close(ConnectionID, Closure)
    /// End the connection without a word; the server has already forgotten it.
    case drop(ConnectionID)
    /// The drain is over: nothing is open, or its time is up.
    case finished
  }

  /// A message for the store; its position is the store's to give.
  public struct Append: Sendable, Hashable, Codable {
    /// Names the answer.
    public var token: StoreToken
    /// As it is to be stored, but for its position.
    public var message: Message
    /// What makes a repetition of the same post known.
    public var key: UUID128?
  }
}

extension Closure {
  /// The token's time is over.
  public static let expired = Closure(4401, "token expired")
  /// The user is no longer a member of the shop.
  public static let removed = Closure(4403, "removed from the shop")
  /// The log jumped: what this socket would be sent has a hole that only a catch-up closes.
  public static let discontinuity = Closure(1011, "log discontinuity")
}
