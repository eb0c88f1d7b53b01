public import HoldfastCore
public import HoldfastHealth
public import HoldfastRelayData

/// An update that a relay reports to its user. Updates are reported in order.
public enum RelayUpdate: Sendable, Hashable, Codable {
  case status(RelayStatus)
  /// A code and a word for the next assistant. Earlier pairs are no longer valid.
  case pair(RelayPair)
  /// An assistant has signed in, with a code that this phone showed. If its user did not expect it,
  /// its id ends it.
  case assistant(PairedAssistants.Assistant)
  /// A question ended.
  case ended(RelayReceipt)
  /// A problem, reported at most once in 30 s. `withheld` is the number of problems that were not
  /// reported since the last one.
  case problem(RelayProblem, withheld: Int)
}

/// The pairing code that a person reads to an assistant.
public struct RelayPair: Sendable, Hashable, Codable {
  /// Six digits.
  public var code: Secret
  /// A short word.
  public var word: Secret
  /// The backend's text for the person. It may repeat the code and the word.
  public var message: Secret
  /// The time for which an unused code is valid; `nil` if the backend does not send it.
  public var expiresIn: Duration?

  /// Creates a pair.
  public init(code: Secret, word: Secret, message: Secret = Secret(""), expiresIn: Duration? = nil)
  {
    self.code = code
    self.word = word
    self.message = message
    self.expiresIn = expiresIn
  }
}

/// The status of a relay: one of six states, with details.
public struct RelayStatus: Sendable, Hashable, Codable {
  /// The current state.
  public var state: State
  /// The number of the current or next retry, counted from 1; 0 if there is none.
  public var attempt: Int
  /// The maximum number of retries; `nil` if the link sets none.
  public var maxAttempts: Int?
  /// The instant at which the next attempt starts; `nil` if none is scheduled.
  public var retryAt: Instant?
  /// The reason why the relay is not running.
  public var reason: LinkStatus.Reason?

  /// Whether the relay has ended with an error, after which only the user can start it again.
  public var isFinal: Bool { state == .error }

  /// The failure behind `reason`, also while the relay retries; `nil` if nothing failed.
  public var failure: LinkFailure? {
    LinkStatus(phase: isFinal ? .failed : .reconnecting, reason: reason).failure
  }

  /// Returns the time from `now` until the next attempt; `nil` if none is scheduled.
  ///
  /// It is zero if the attempt is due. `now` is read from the clock of the relay's ports.
  public func retryIn(at now: Instant) -> Duration? {
    retryAt.map { max(now.duration(to: $0), .zero) }
  }

  /// A state.
  public enum State: String, Sendable, Hashable, Codable, CaseIterable {
    case idle, starting, running, reconnecting, error, stopping
  }

  /// Creates a status. By default it has no details.
  public init(
    _ state: State, attempt: Int = 0, maxAttempts: Int? = nil, retryAt: Instant? = nil,
    reason: LinkStatus.Reason? = nil
  ) {
    self.state = state
    self.attempt = attempt
    self.maxAttempts = maxAttempts
    self.retryAt = retryAt
    self.reason = reason
  }

  /// Creates the status of a link that is started or has ended.
  ///
  /// - Parameter hasRun: Whether a code arrived since the start. Only then is an attempt a
  ///   reconnect.
  public init(_ link: LinkStatus, hasRun: Bool) {
    switch link.phase {
    case .disconnected: state = .idle
    case .connecting, .held, .reconnecting: state = hasRun ? .reconnecting : .starting
    case .connected: state = .running
    case .standby, .failed: state = .error
    }
    // The first attempt is not a retry.
    attempt = link.maxAttempts == nil ? 0 : link.attempt
    maxAttempts = link.maxAttempts
    retryAt = link.retryAt
    reason = link.reason
  }
}

/// The outcome of one question.
public struct RelayReceipt: Sendable, Hashable, Codable {
  /// The backend's ID of the question.
  public var id: RelayRequestID
  /// The question.
  public var question: HealthQuestion
  /// The outcome of the question.
  public var outcome: Outcome
  /// The time from the question's arrival to its end.
  public var duration: Duration

  /// The outcome of a question.
  public enum Outcome: Sendable, Hashable, Codable {
    /// The backend received the answer with this number of points. A truncated answer contains the
    /// position from which to continue.
    case answered(points: Int, isTruncated: Bool)
    /// The backend received a failure with this reason.
    case refused(reason: String)
    /// The assistant left before the answer.
    case cancelled
    /// The session of the question ended. The backend has reported this to the assistant.
    case dropped
  }

  /// Creates a receipt.
  public init(
    id: RelayRequestID, question: HealthQuestion, outcome: Outcome, duration: Duration = .zero
  ) {
    (self.id, self.question, self.outcome, self.duration) = (id, question, outcome, duration)
  }

  init(_ item: QuestionQueue.Item, _ outcome: Outcome, at now: Instant) {
    id = item.id
    question = item.question
    self.outcome = outcome
    duration = item.askedAt.duration(to: now)
  }
}

/// A problem that the user should see.
public enum RelayProblem: Sendable, Hashable, Codable {
  /// The connection failed, and only the user can start the relay again.
  case connection(LinkFailure)
  /// A start was refused because the app is in the background, where the socket cannot be kept
  /// open.
  case inBackground
  /// A message from the backend could not be decoded.
  case malformed(String)
  /// A message from the backend has a type that this version does not support.
  case unknownType(String)
  /// A message over the size limit was dropped without being read.
  case oversized(bytes: UInt64)
  /// The health data could not be read.
  case unreadable(String)
  /// The question queue is full.
  case busy
}

/// The settings of a relay: its policy and its limits.
public struct RelaySettings: Sendable, Hashable, Codable {
  /// The policy of the link.
  public var policy: LinkPolicy
  /// Whether a notification is shown while the relay is active, as a foreground service requires.
  public var hasNotification: Bool

  /// The shortest interval between two problems shown to the user.
  public static let problemInterval = Duration.seconds(30)
  /// The time-out of a stop.
  public static let stopTimeout = Duration.seconds(5)
  /// The time-out of a read for one answer. It is shorter than the 45 s for which callers
  /// wait, so that they receive the cause.
  public static let readTimeout = Duration.seconds(40)
  /// The maximum number of questions in the queue. Further questions are refused at once.
  public static let queueLimit = 32
  /// The maximum number of IDs of answered questions that are stored during a connection.
  public static let answeredLimit = 256
  /// The limit on replies to messages that are not understood: 20 a minute. Further replies are not
  /// sent.
  public static let refusals = AttemptWindow(attempts: 20, per: .seconds(60))

  /// Creates settings with a custom policy.
  public init(policy: LinkPolicy, hasNotification: Bool) {
    self.policy = policy
    self.hasNotification = hasNotification
  }

  /// Creates the settings of a profile, with its preset.
  public init(_ profile: RelayProfile) {
    self.init(policy: profile.policy, hasNotification: profile != .foreground)
  }
}

/// The host of a relay.
public enum RelayProfile: String, Sendable, Hashable, Codable, CaseIterable {
  /// A foreground service, which keeps the process and the socket alive in the background.
  case service
  /// A foreground service that ends with an error after two quick retries.
  case quick
  /// An app without a service. It keeps the socket only in the foreground.
  case foreground

  /// The preset of the profile.
  public var policy: LinkPolicy {
    switch self {
    case .service: .healthRelayService
    case .quick: .healthRelayQuick
    case .foreground: .healthRelayForeground
    }
  }
}
