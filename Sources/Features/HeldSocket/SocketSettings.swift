public import LinkCore

/// The numbers and rules of one held socket; coded, they hold no secret.
public struct SocketSettings: Sendable, Hashable, Codable {
  /// When to connect, and what to do when that fails.
  public var policy: LinkPolicy
  /// Whether "connected" waits for a message that the app marks as the answer to its greeting.
  public var awaitsConfirmation = false
  /// Whether the app has a ping message of its own, which then proves life in place of WebSocket's.
  public var hasPing = false
  /// What becomes of messages that cannot be sent at once.
  public var outbox = Outbox.off
  /// The last position that an earlier run noted; never journaled.
  public var position: Secret?

  /// What becomes of messages that cannot be sent at once.
  public enum Outbox: String, Sendable, Hashable, Codable, CaseIterable {
    /// A message is accepted while connected and handed to a socket at most once. If that socket is
    /// lost before a pong behind it, whether it arrived is unknown, and a notice says so.
    case off
    /// As `off`, but a message that is given without a connection waits for one.
    case waiting
    /// A message is kept until a pong behind it proves that the server's WebSocket took it. After a
    /// loss it is sent again, so it may arrive twice. What is left ends with the process.
    case memory
    /// As `memory`, and stored before it is sent, so that it survives the process.
    case durable

    /// Whether messages that may not have arrived are sent again.
    public var repeats: Bool {
      switch self {
      case .off, .waiting: false
      case .memory, .durable: true
      }
    }
  }

  /// Settings for a protocol that needs nothing.
  public init(policy: LinkPolicy) {
    self.policy = policy
  }

  /// How long `stop` waits for proof that accepted messages arrived: 2 s, as an app's end may not
  /// take longer; what is left then ends as after a loss.
  static let flushTimeout = Duration.seconds(2)
}

/// What an app's pure functions said about a message that came in.
public struct SocketMarks: Sendable, Hashable, Codable {
  /// The message answers the greeting: the connection is established.
  public var confirms = false
  /// The message answers the app's own ping.
  public var answersPing = false
  /// The message shows that the server works.
  public var provesLife = true
  /// The place in the server's sequence that the message stands for; never journaled.
  public var position: Secret?

  /// The marks of a message about which the app said nothing.
  public init() {}
}
