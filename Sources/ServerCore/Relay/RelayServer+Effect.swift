public import LinkCore
public import LinkStorage
public import LinkWire

extension RelayServer {
  /// Everything that the relay can ask for; carried out in order.
  public enum Effect: Sendable, Hashable, Codable {
    /// Complete a phone's upgrade.
    case accept(ConnectionID)
    /// Answer a phone's upgrade with a plain HTTP response.
    case refuse(ConnectionID, HTTPRefusal)
    /// Send a message to a phone.
    case send(ConnectionID, BackendMessage)
    /// Send a ping frame (RFC 6455 section 5.5.2).
    case ping(ConnectionID)
    /// Send a close frame behind what is queued.
    case close(ConnectionID, Closure)
    /// End the connection without a word; `phoneGone` follows as for every end.
    case drop(ConnectionID)

    /// Tell an assistant the outcome; said once a call, never after it was abandoned.
    case answer(AskID, RelayOutcome)
    /// Answer a pull; said once.
    case respond(RequestID, RelayReply)

    /// Draw secrets; the answer is `minted`, in the same turn or later.
    case mint(Mint)
    /// Make changes durable, all or none, in the order of these effects.
    case store(StoreToken, [RelayChange])
    /// Wake a phone; the push is worth nothing from `expiresAt` on.
    case push(PhoneID, PushAddress, expiresAt: Timestamp)
    /// The drain is over: nothing is open, or its time is up.
    case finished
  }

  /// What a secure generator is asked for.
  public enum Mint: Sendable, Hashable, Codable {
    /// A name, a resume token and a pair.
    case phone(ConnectionID)
    /// A pair.
    case pair(PhoneID)
    /// A bearer token.
    case access(AskID)
  }
}

extension Closure {
  /// The same device came again; only the newest connection of a device stands.
  public static let replaced = Closure(4409, "replaced by another connection of this device")
  /// What the phone must be promised cannot be kept now (RFC 6455 section 7.4, IANA: 1013).
  public static let tryAgainLater = Closure(1013, "try again later")
}
