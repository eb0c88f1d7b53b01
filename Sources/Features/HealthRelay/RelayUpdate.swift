public import LinkCore
public import LinkHealth
public import LinkWire

/// What the user of a relay sees happen, in order.
public enum RelayUpdate: Sendable, Hashable, Codable {
  case status(RelayStatus)
  /// A code and a word for the next assistant; those before no longer count.
  case pair(RelayPair)
  /// A question came to its end.
  case ended(RelayReceipt)
  /// Something went wrong; at most one in 30 s, and how many were not told since the one before.
  case problem(RelayProblem, withheld: Int)
}

/// What a person reads to an assistant.
public struct RelayPair: Sendable, Hashable, Codable {
  /// Six digits.
  public var code: Secret
  /// A short word.
  public var word: Secret
  /// What the backend says to the person; it may repeat the other two.
  public var message: Secret
  /// How long it counts while it is not used, where the backend says so.
  public var expiresIn: Duration?

  /// A pair as the backend gave it.
  public init(code: Secret, word: Secret, message: Secret = Secret(""), expiresIn: Duration? = nil)
  {
    self.code = code
    self.word = word
    self.message = message
    self.expiresIn = expiresIn
  }
}

/// The six states of seed 000 with what stands beside them.
public struct RelayStatus: Sendable, Hashable, Codable {
  /// Where the relay stands.
  public var state: State
  /// The number of the retry, from 1; 0 when none runs or waits.
  public var attempt: Int
  /// How many retries there are.
  public var of: Int?
  /// When the next try is made, if it waits for a time.
  public var retryAt: Instant?
  /// Why it is not running.
  public var reason: LinkStatus.Reason?

  /// The seed's words.
  public enum State: String, Sendable, Hashable, Codable, CaseIterable {
    case idle, starting, running, reconnecting, error, stopping
  }

  /// A status; most say nothing but their state.
  public init(
    _ state: State, attempt: Int = 0, of: Int? = nil, retryAt: Instant? = nil,
    reason: LinkStatus.Reason? = nil
  ) {
    self.state = state
    self.attempt = attempt
    self.of = of
    self.retryAt = retryAt
    self.reason = reason
  }

  /// The one projection of a link that is wanted or has ended.
  ///
  /// - Parameter hasRun: whether a code came since the start: only then a try is a reconnect.
  public init(_ link: LinkStatus, hasRun: Bool) {
    switch link.phase {
    case .disconnected: state = .idle
    case .connecting, .held, .reconnecting: state = hasRun ? .reconnecting : .starting
    case .connected: state = .running
    case .standby, .failed: state = .error
    }
    // The first try is no retry.
    attempt = link.of == nil ? 0 : link.attempt
    of = link.of
    retryAt = link.retryAt
    reason = link.reason
  }
}

/// What became of one question.
public struct RelayReceipt: Sendable, Hashable, Codable {
  /// The backend's name of it.
  public var id: RelayRequestID
  /// What was asked.
  public var question: HealthQuestion
  /// How it ended.
  public var outcome: Outcome
  /// From its arrival to its end.
  public var took: Duration

  /// How a question ended.
  public enum Outcome: Sendable, Hashable, Codable {
    /// The backend has the answer, with so many points; a truncated one says where it goes on.
    case answered(points: Int, isTruncated: Bool)
    /// The backend has a failure, and why.
    case refused(reason: String)
    /// The assistant has left.
    case cancelled
    /// The session that it was asked on is over; the backend has told the assistant.
    case dropped
  }

  init(_ item: RequestLine.Item, _ outcome: Outcome, at now: Instant) {
    id = item.id
    question = item.question
    self.outcome = outcome
    took = item.askedAt.duration(to: now)
  }
}

/// What deserves the user's eye.
public enum RelayProblem: Sendable, Hashable, Codable {
  /// The tries are over; only the user starts it again.
  case connection(LinkFailure)
  /// It was to start while the app is in background, where it cannot be kept.
  case inBackground
  /// A message of the backend could not be read.
  case malformed(String)
  /// A message of a kind that this version does not know.
  case unknownType(String)
  /// A message over the limit was dropped unread.
  case oversized(bytes: UInt64)
  /// The health data could not be read.
  case unreadable(String)
  /// More questions stand in line than are taken.
  case busy
}

/// What a relay is told once: its policy, and its numbers from seed 000.
public struct RelaySettings: Sendable, Hashable, Codable {
  /// How the link under it behaves.
  public var policy: LinkPolicy
  /// Whether a notification stands while it is wanted, as a foreground service must have one.
  public var hasNotification: Bool

  /// Problems are told to the user at most once in this time (seed: 30 s).
  public static let problemInterval = Duration.seconds(30)
  /// A stop that takes longer is over (contracts 1.8: 5 s).
  public static let stopTimeout = Duration.seconds(5)
  /// Reading for one answer may take this long: under the 45 s that askers wait (contracts 1.9.5),
  /// so that they hear the cause.
  public static let readTimeout = Duration.seconds(40)
  /// Questions that may stand in line; one more is refused at once.
  public static let lineLimit = 32
  /// Ids of answered questions that are remembered while a connection lasts.
  public static let answeredLimit = 256
  /// At most 20 replies a minute to messages that are not understood; others get no reply. Ours.
  public static let refusals = AttemptWindow(attempts: 20, per: .seconds(60))

  /// Settings with a policy of one's own.
  public init(policy: LinkPolicy, hasNotification: Bool) {
    self.policy = policy
    self.hasNotification = hasNotification
  }

  /// The settings of a profile, with its preset.
  public init(_ profile: RelayProfile) {
    self.init(policy: profile.policy, hasNotification: profile != .foreground)
  }
}

/// What hosts a relay.
public enum RelayProfile: String, Sendable, Hashable, Codable, CaseIterable {
  /// A foreground service keeps the process and the socket alive in background.
  case service
  /// The same, which ends with an error after two quick retries, as the seed has it.
  case quick
  /// Only an app in front keeps the socket; background ends it.
  case foreground

  /// The preset that it goes by.
  public var policy: LinkPolicy {
    switch self {
    case .service: .healthRelayService
    case .quick: .healthRelayQuick
    case .foreground: .healthRelayForeground
    }
  }
}
