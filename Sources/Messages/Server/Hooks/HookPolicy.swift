import HoldfastCore
import HoldfastServerParts

/// An event about which the operator's backend is asked or told.
public enum HookEvent: String, Sendable, Hashable, Codable, CaseIterable, Comparable {
  /// A client asks for a socket. The socket opens once the operator's backend allows it.
  case connect
  /// A user posts or edits a message. It is stored once the operator's backend allows it.
  case post
  /// A socket has ended. Nothing waits for the operator's backend.
  case disconnect

  /// Returns whether the name of one event precedes that of another.
  public static func < (left: HookEvent, right: HookEvent) -> Bool {
    left.rawValue < right.rawValue
  }
}

/// The limits of the questions to the operator's backend.
public struct HookPolicy: Sendable, Hashable, Codable {
  /// The treatment of a client if the operator's backend does not answer.
  public enum Failure: String, Sendable, Hashable, Codable, CaseIterable {
    /// The client is let in, and its post is stored.
    case open
    /// The client is refused with status 503, so that it tries again later.
    case closed
  }

  /// The bounds of `timeout`.
  public static let timeouts: ClosedRange<Duration> = .milliseconds(100) ... .seconds(30)

  /// The events about which the operator's backend is asked or told.
  public var events = Set(HookEvent.allCases)
  /// The time limit of a request, and of the wait before it is sent.
  public var timeout = Duration.seconds(2)
  /// The treatment of clients if there is no answer.
  public var onFailure = Failure.closed
  /// The maximum number of requests at once. A backend that answers in 20 ms then takes 3,200 a
  /// second.
  public var maxInFlight = 64
  /// The maximum number of those that report the end of a socket. The others are left for clients
  /// that wait.
  public var maxNotesInFlight = 16
  /// The maximum number of questions that wait for the end of others.
  public var maxWaiting = 1_024
  /// The maximum number of questions of one user that have no answer yet. The default is above the
  /// sockets that a user may have.
  public var maxPerUser = 16
  /// The maximum number of waiting reports about ended sockets. Further ones are dropped.
  public var maxNotes = 1_024

  /// Creates a policy with the default values.
  public init() {}
}

extension HookPolicy: ServerPolicy {
  static var times: [WritableKeyPath<Self, Duration>] { [\.timeout] }
  static var counts: [WritableKeyPath<Self, Int>] {
    [\.maxInFlight, \.maxNotesInFlight, \.maxWaiting, \.maxPerUser, \.maxNotes]
  }
}
