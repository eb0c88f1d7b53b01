public import LinkWire

/// One plan of what to send over one or more connections, and what to wait for.
public struct AuditScript: Sendable {
  /// The name, by which the rules find its record.
  public enum Name: String, Sendable, Hashable, CaseIterable {
    case opening, pings, stranger, early, wrongKey, missingKey, garbage, huge, burst
    case login, main, challengeTwice, oldVersion, olderHistory, replay, size, faults
    case congestion, idle, takeover
  }

  /// When it may run.
  public enum Phase: Int, Sendable, Hashable, CaseIterable, Comparable {
    /// At the start.
    case first
    /// Once it is known whether the key is accepted.
    case second
    /// Once the others are over: refusals may make a server slow or strict.
    case third

    /// Orders phases by time.
    public static func < (left: Phase, right: Phase) -> Bool { left.rawValue < right.rawValue }
  }

  /// Its name.
  public var name: Name
  /// When it may run.
  public var phase: Phase
  /// Whether it needs the key, and a server that accepts it.
  public var needsLogin: Bool
  /// What it does, in order.
  public var steps: [Step]

  /// One step; each ends by itself after a bounded time.
  public enum Step: Sendable {
    /// Opens a connection, which the next steps are about.
    case open(Int)
    /// Goes on with another connection.
    case use(Int)
    /// Sends these one after the other without waiting.
    case say([Saying])
    /// Sends a WebSocket ping.
    case ping
    /// Sends bytes as they are; described by words.
    case raw([UInt8], String)
    /// Waits until `count` of these came since the last thing was sent.
    case expect([Awaited], count: Int, within: Duration, orStop: Bool)
    /// Ends the connection without waiting for its close.
    case drop
    /// Waits.
    case pause(Duration)
    /// Ends the script, complete, if a message of this type came on this connection.
    case endIf(String)
  }

  /// What is sent.
  public enum Saying: Sendable {
    case message(SessionClientMessage)
    /// Text as it is.
    case text(String)
    case binary([UInt8])
    case connect(Login)
    /// The `connect` of another connection once more.
    case connectOf(Int)
    /// An acknowledgment of the newest response or replay.
    case ack
  }

  /// How a `connect` authenticates.
  public struct Login: Sendable {
    /// What it shows.
    public enum Proof: Sendable {
      /// By the challenge if there is one, otherwise by the key.
      case best
      case key
      case wrongKey
      /// A wrong answer to the challenge if there is one, otherwise a wrong key.
      case wrongAnswer
      case none
    }

    var session: String
    var proof: Proof = .best
    var version: String? = "0.5.0"
    var features: Set<SessionFeature> = []
  }

  /// What is waited for.
  public enum Awaited: Sendable, Hashable {
    case opened, end, pong, serverPing
    case message(String)
    /// Any message.
    case anything

    var words: String {
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
