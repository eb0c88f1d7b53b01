public import LinkCore

/// The settings of one session. Their encoded form contains no secret.
public struct SessionSettings: Sendable, Hashable, Codable {
  /// The policy that decides when to connect, and what to do after a failure.
  public var policy: LinkPolicy
  /// The longest silence of a server without idempotency keys about a prompt that it may have.
  /// After it the state of the prompt is `unsure`.
  public var answerTimeout: Duration

  /// Creates settings. Unless noted otherwise, the numbers are those of requirements 003.
  public init(policy: LinkPolicy, answerTimeout: Duration = Self.usualAnswerTimeout) {
    self.policy = policy
    self.answerTimeout = answerTimeout
  }

  /// The longest turn of requirements 003.
  public static let usualAnswerTimeout = turnLimit
  /// The least value of `answerTimeout`.
  package static let leastAnswerTimeout = Duration.seconds(1)

  /// The most unanswered prompts; a further one is refused at once.
  static let outboxLimit = 1_000
  /// The most conversations to which one message subscribes.
  static let subscriptionsTogether = 100
  /// The most failed prompts that are kept for a retry. Beyond the limit the oldest one is removed.
  static let failedLimit = 100
  /// The most bytes of a prompt's text, within the limit of the backend.
  static let longestPrompt = 524_288
  /// The most bytes of a prompt's message, in which a control character may take 6 bytes.
  ///
  /// The limit lies within the 1 MiB that the backend reads, and that a socket queues in addition
  /// to waiting messages.
  static let longestMessage = 983_040
  /// The time after which a prompt that the server has not accepted is marked as stale
  /// (requirements 003).
  static let staleAfter = Duration.seconds(60)
  /// The silence after which a prompt is resent to a server with keys (requirements 003).
  static let turnLimit = Duration.seconds(300)
  /// The longest wait after inconclusive evidence of a prompt's end.
  static let quietTime = Duration.seconds(30)
  /// The longest time for which one message whose ack cannot be attributed delays the next one.
  static let askTime = Duration.seconds(10)
  /// The time after which a prompt without an ack is resent, if the server supports keys.
  static let ackTimeout = Duration.seconds(30)
  /// The rate of a slow line in bytes per second. A large prompt receives more time accordingly, up
  /// to `turnLimit`.
  static let slowestRate = 1_024
  /// The longest time for which a prompt without an ack delays the next one.
  ///
  /// This is in addition to 1 s for each 16 KiB, during which silence is no evidence about the
  /// server. The total is at most `longestUpload`.
  static let uploadTime = Duration.seconds(10)
  static let uploadRate = 16_384
  package static let longestUpload = Duration.seconds(60)
  /// The time after which an unanswered subscription no longer delays anything.
  static let subscribeTimeout = Duration.seconds(10)
  /// The longest time that `stop` waits for work in progress.
  static let flushTimeout = Duration.seconds(2)
  /// The number of undecodable frames that ends a connection.
  static let malformedLimit = 5
  /// The difference of the clocks above which a notice is shown (requirements 003).
  static let skewLimit = Duration.seconds(30)
  /// The most stored numbers beyond a missing one.
  static let numbersAhead = 1_000
  /// The most acknowledgements that wait for a connection. The server's replay requests the others
  /// again.
  static let pendingAckLimit = 1_000
  /// The most conversations for which the evidence of servers without keys is kept.
  static let weighedLimit = 1_000
  /// The waits between attempts of a prompt that the server refuses temporarily. After the last one
  /// the prompt fails.
  static let retries = Schedule.exponential(
    first: .seconds(1), factor: 2, cap: .seconds(30), jitter: 0.25, floor: .seconds(1),
    attempts: 20)
}
