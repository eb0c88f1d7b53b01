public import HoldfastSessionData

/// A plan of messages to send and events to wait for, over one or more connections.
public struct AuditScript: Sendable {
  /// The name of a script, which identifies its record.
  public enum Name: String, Sendable, Hashable, CaseIterable {
    case opening, pings, stranger, early, wrongKey, missingKey, garbage, huge, burst
    case login, main, challengeTwice, oldVersion, olderHistory, replay, size, faults
    case congestion, idle, takeover
  }

  /// A phase of the audit in which scripts run.
  public enum Phase: Int, Sendable, Hashable, CaseIterable, Comparable {
    /// The start of the audit.
    case first
    /// The phase that begins once it is known whether the server accepts the key.
    case second
    /// The last phase, because refusals may make a server slow or strict.
    case third

    /// Returns whether one phase comes before another.
    public static func < (left: Phase, right: Phase) -> Bool { left.rawValue < right.rawValue }
  }

  /// The script's name.
  public var name: Name
  /// The phase in which the script may run.
  public var phase: Phase
  /// Whether the script needs the key, and a server that accepts the key.
  public var needsLogin: Bool
  /// The script's steps, in order.
  public var steps: [Step]

  /// A step of a script. Each step ends after a limited time.
  public enum Step: Sendable {
    /// Opens a connection, on which the following steps act.
    case open(Int)
    /// Continues on another connection.
    case use(Int)
    /// Sends messages one after another without waiting.
    case say([Saying])
    /// Sends a WebSocket ping.
    case ping
    /// Sends raw bytes, which the text describes.
    case raw([UInt8], String)
    /// Waits until `count` of these events have occurred since the last message was sent.
    case expect([Awaited], count: Int, within: Duration, orStop: Bool)
    /// Ends the connection without waiting for a close frame.
    case drop
    /// Waits for a duration.
    case pause(Duration)
    /// Ends the script as complete if a message with this type has arrived on the current
    /// connection.
    case endIf(String)
  }

  /// A message to send.
  public enum Saying: Sendable {
    case message(SessionClientMessage)
    /// A text that is sent unchanged.
    case text(String)
    case binary([UInt8])
    case connect(Login)
    /// The `connect` message of another connection, sent again.
    case connectOf(Int)
    /// An acknowledgement of the newest response or replay.
    case ack
  }

  /// The contents of a `connect` message.
  public struct Login: Sendable {
    /// The method by which a `connect` message authenticates.
    public enum Proof: Sendable {
      /// The answer to the challenge or, if there is no challenge, the key.
      case best
      case key
      case wrongKey
      /// A wrong answer to the challenge or, if there is no challenge, a wrong key.
      case wrongAnswer
      case none
    }

    var session: String
    var proof: Proof = .best
    var version: String? = "0.5.0"
    var features: Set<SessionFeature> = []
  }

  /// An event to wait for.
  public enum Awaited: Sendable, Hashable {
    case opened, end, pong, serverPing
    case message(String)
    /// Any message.
    case anything

    var label: String {
      switch self {
      case .opened: "the upgrade"
      case .end: "the end of the connection"
      case .pong: "a WebSocket pong"
      case .serverPing: "a WebSocket ping"
      case .message(let type): "`\(type)`"
      case .anything: "an answer"
      }
    }
  }
}
