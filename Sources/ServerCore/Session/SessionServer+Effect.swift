public import LinkCore
public import LinkStorage
public import LinkWire

extension SessionServer {
  /// Everything that the server of sessions can ask for; carried out in order.
  public enum Effect: Sendable, Hashable, Codable {
    /// Complete an upgrade.
    case accept(ConnectionID)
    /// Answer an upgrade with a plain HTTP response.
    case refuse(ConnectionID, HTTPRefusal)
    /// Send a message to a client.
    case send(ConnectionID, SessionServerMessage)
    /// Answer `drained` once the socket has taken all that was sent.
    case noticeDrain(ConnectionID)
    /// Send a ping frame (RFC 6455 section 5.5.2).
    case ping(ConnectionID)
    /// Send a close frame behind what is queued.
    case close(ConnectionID, Closure)
    /// End the connection without a word; `gone` follows as for every end.
    case drop(ConnectionID)

    /// Start the handler of a prompt; never asked for twice for one prompt.
    case run(SessionPromptID, SessionPrompt)
    /// End the handler of a prompt; `ended` follows as for every end.
    case cancel(SessionPromptID)

    /// Make changes durable, all or none, in the order of these effects.
    case store(StoreToken, [SessionChange])
    /// The drain is over: nothing is open, or its time is up.
    case finished
  }
}

extension Closure {
  /// The key is wrong or missing.
  static let unauthorized = Closure(4401, "authentication failed")
  /// No `connect` came in time.
  static let notConnected = Closure(4408, "no connect in time")
  /// The client opened too many sockets; the newest ones stay.
  static let superseded = Closure(4409, "replaced by newer connections of this client")
  /// The client's version is not served.
  static let upgradeRequired = Closure(4426, "unsupported protocol version")
  /// The client said that it leaves.
  static let disconnected = Closure(1000, "disconnected")
}
