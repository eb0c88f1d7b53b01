public import HoldfastCore

/// The settings of one held socket. Their encoded form contains no secret.
public struct SocketSettings: Sendable, Hashable, Codable {
  /// The policy that decides when to connect, and what to do after a failure.
  public var policy: LinkPolicy
  /// Whether "connected" requires a message that the app marks as the response to its greeting.
  public var awaitsConfirmation = false
  /// Whether the app has its own ping message, which replaces WebSocket pings as the liveness
  /// check.
  public var hasPing = false
  /// Whether acknowledgements of the server prove that messages arrived, instead of pongs.
  ///
  /// This requires an outbox that sends messages again.
  public var hasAcknowledgements = false
  /// The handling of messages that cannot be sent at once.
  public var outbox = Outbox.off
  /// The most recent position of an earlier run. It is never journaled.
  public var position: Secret?

  /// The handling of messages that cannot be sent at once.
  public enum Outbox: String, Sendable, Hashable, Codable, CaseIterable {
    /// Messages are accepted only while connected and are handed to a socket at most once. If the
    /// socket is lost before a pong confirms them, a notice reports that their arrival is unknown.
    case off
    /// Like `off`, but messages also wait for a connection.
    case waiting
    /// A message is kept until a pong proves that the server's WebSocket received it. It is resent
    /// after a loss, so it may arrive twice. Remaining messages are lost when the process ends.
    case memory
    /// Like `memory`, but messages are stored before they are sent, so they survive the end of the
    /// process.
    case durable

    /// Whether messages are resent if they may not have arrived.
    public var repeats: Bool {
      switch self {
      case .off, .waiting: false
      case .memory, .durable: true
      }
    }
  }

  /// Creates settings with the defaults: no confirmation, no ping message and no outbox.
  public init(policy: LinkPolicy) {
    self.policy = policy
  }

  /// The longest time that `stop` waits for proof that accepted messages arrived.
  ///
  /// The time is 2 s, since the end of an app must not take longer. Messages that remain are then
  /// treated as after a loss.
  static let flushTimeout = Duration.seconds(2)
}

/// The information that the app's functions read from an incoming message.
public struct SocketReading: Sendable, Hashable, Codable {
  /// Whether the message answers the greeting, which establishes the connection.
  public var confirms: Bool
  /// Whether the message answers the app's own ping.
  public var answersPing: Bool
  /// Whether the message shows that the server works.
  public var provesLife: Bool
  /// The reason for which the server refuses the client in this message; `nil` if it does not.
  public var refusal: SocketRefusal?
  /// The ID of a sent message that the server acknowledges in this message; `nil` if there is none.
  /// `SocketProtocol.messageID` returns the ID of a message that is sent.
  ///
  /// It is not journaled. A journal records the number of the acknowledged message instead.
  public var acknowledgedID: String? {
    get { acknowledged?.text }
    set { acknowledged = newValue.map { Secret($0) } }
  }
  private var acknowledged: Secret?
  /// The position of the message, as it is kept. It is never journaled.
  var place: Secret?

  /// The message's position in the server's sequence; `nil` if it has none.
  public var position: String? {
    get { place?.text }
    set { place = newValue.map { Secret($0) } }
  }

  /// Creates the reading of a message. By default, the message only shows that the server works.
  public init(
    position: String? = nil, confirms: Bool = false, answersPing: Bool = false,
    provesLife: Bool = true, refusal: SocketRefusal? = nil, acknowledgedID: String? = nil
  ) {
    self.confirms = confirms
    self.answersPing = answersPing
    self.provesLife = provesLife
    self.refusal = refusal
    place = position.map { Secret($0) }
    acknowledged = acknowledgedID.map { Secret($0) }
  }
}

/// The reason for which a server refuses a client in a message.
public enum SocketRefusal: String, Sendable, Hashable, Codable {
  /// The token is not valid. As after a 401 response, it is renewed once.
  case token
  /// The client has no access. As after a 403 response, no further attempt is made.
  case forbidden

  /// The equivalent failure of a request.
  var failure: LinkFailure {
    switch self {
    case .token: .http(status: 401, retryAfter: nil, detail: "refused in a message")
    case .forbidden: .http(status: 403, retryAfter: nil, detail: "refused in a message")
    }
  }
}
