public import HoldfastCore

/// The settings of one session. Their encoded form contains no secret.
public struct SessionSettings: Sendable, Hashable, Codable {
  /// The policy that decides when to connect and which action follows a failure.
  public var policy: LinkPolicy
  /// The longest time without evidence about a prompt that a server without idempotency keys may
  /// have. Afterwards, the state of the prompt is `unsure`.
  public var answerTimeout: Duration

  /// Creates settings.
  public init(policy: LinkPolicy, answerTimeout: Duration = Self.usualAnswerTimeout) {
    self.policy = policy
    self.answerTimeout = answerTimeout
  }

  /// The default of `answerTimeout`.
  public static let usualAnswerTimeout = turnLimit
  /// The minimum of `answerTimeout`.
  package static let leastAnswerTimeout = Duration.seconds(1)

  /// The maximum number of unanswered prompts. Further prompts are refused at once.
  static let outboxLimit = 1_000
  /// The maximum number of conversations in one subscription message.
  static let subscriptionsTogether = 100
  /// The maximum number of failed prompts that are kept for a retry. Beyond the limit, the oldest
  /// one is removed.
  static let failedLimit = 100
  /// The maximum size of a prompt's text in bytes, within the limit of the backend.
  static let longestPrompt = 524_288
  /// The maximum size of a prompt's message in bytes. A control character may take 6 bytes in it.
  ///
  /// The limit is below the 1 MiB that the backend reads, and that a socket queues in addition to
  /// waiting messages.
  static let longestMessage = 983_040
  /// The time after which a prompt that the server has not accepted is marked as stale, as in the
  /// original app.
  static let staleAfter = Duration.seconds(60)
  /// The silence after which a prompt is resent to a server with keys, as in the original app.
  static let turnLimit = Duration.seconds(300)
  /// The longest wait after inconclusive evidence that a prompt ended.
  static let quietTime = Duration.seconds(30)
  /// The longest time for which a message whose ack cannot be attributed delays the next one.
  static let askTime = Duration.seconds(10)
  /// The time after which a prompt without an ack is resent, if the server supports keys.
  static let ackTimeout = Duration.seconds(30)
  /// The rate of a slow connection in bytes per second. A large prompt gets a longer time-out
  /// accordingly, up to `turnLimit`.
  static let slowestRate = 1_024
  /// The longest time for which a prompt without an ack delays the next one.
  ///
  /// This time is in addition to 1 s for each 16 KiB, during which silence says nothing about the
  /// server. The total is at most `longestUpload`.
  static let uploadTime = Duration.seconds(10)
  static let uploadRate = 16_384
  /// The number of bytes in prompts without an ack at which the next prompt waits: those that a slow
  /// connection takes a second for.
  static let uploadWindow = 16_384
  /// The bytes of a prompt's message beside its text, rounded up. They bound how many short prompts
  /// are on the way.
  static let messageBytes = 256
  package static let longestUpload = Duration.seconds(60)
  /// The time after which a subscription without a response no longer delays other messages.
  static let subscribeTimeout = Duration.seconds(10)
  /// The longest time that `stop` waits for work in progress.
  static let flushTimeout = Duration.seconds(2)
  /// The number of undecodable frames that ends a connection.
  static let malformedLimit = 5
  /// The clock difference above which a notice is shown, as in the original app.
  static let skewLimit = Duration.seconds(30)
  /// The maximum number of stored message numbers that follow a missing one.
  static let numbersAhead = 1_000
  /// The maximum number of acknowledgements that wait for a connection. Messages whose
  /// acknowledgements are dropped are replayed by the server.
  static let pendingAckLimit = 1_000
  /// The maximum number of conversations for which evidence about prompts is kept.
  static let weighedLimit = 1_000
  /// The waits between attempts to send a prompt that the server temporarily refuses. The prompt
  /// fails after the last one.
  static let retries = Schedule.exponential(
    first: .seconds(1), factor: 2, cap: .seconds(30), jitter: 0.25, floor: .seconds(1),
    attempts: 20)
}
