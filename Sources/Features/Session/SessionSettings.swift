public import LinkCore

/// The numbers and rules of one session; coded, they hold no secret.
public struct SessionSettings: Sendable, Hashable, Codable {
  /// When to connect, and what to do when that fails.
  public var policy: LinkPolicy
  /// The longest silence of a server without idempotency keys about a prompt that it may have; then
  /// the state of the prompt is `unsure`.
  public var answerTimeout: Duration

  /// The numbers of seed 003, where nothing else is said.
  public init(policy: LinkPolicy, answerTimeout: Duration = Self.usualAnswerTimeout) {
    self.policy = policy
    self.answerTimeout = answerTimeout
  }

  /// The longest turn of seed 003.
  public static let usualAnswerTimeout = turnLimit
  /// The least value of `answerTimeout`.
  package static let leastAnswerTimeout = Duration.seconds(1)

  /// Prompts that may wait for an answer; one more is refused at once.
  static let outboxLimit = 1_000
  /// Conversations that one message subscribes to.
  static let subscriptionsTogether = 100
  /// Failed prompts that are kept for a retry; beyond, the oldest one is forgotten.
  static let failedLimit = 100
  /// The longest text of a prompt in bytes; within what our server reads.
  static let longestPrompt = 524_288
  /// The longest message of a prompt in bytes, in which a control character may take 6: within the
  /// 1 MiB that our server reads, and that a socket queues with what waits there already.
  static let longestMessage = 983_040
  /// A prompt that the server has not accepted for this long is marked as stale (seed 003).
  static let staleAfter = Duration.seconds(60)
  /// The silence after which a prompt is sent again to a server with keys (seed 003).
  static let turnLimit = Duration.seconds(300)
  /// The longest wait behind something that may have been the prompt's end.
  static let quietTime = Duration.seconds(30)
  /// How long a message whose ack does not say what it is for keeps others that earn one.
  static let askTime = Duration.seconds(10)
  /// A prompt without an ack for this long is sent again, if the server knows its key.
  static let ackTimeout = Duration.seconds(30)
  /// The rate of a slow line, at which a large prompt is given more time, up to `turnLimit`.
  static let slowestRate = 1_024
  /// How long one prompt holds up the next one without an ack, beside 1 s for each 16 KiB of it, in
  /// which silence says nothing about the server. At most `longestUpload`.
  static let uploadTime = Duration.seconds(10)
  static let uploadRate = 16_384
  package static let longestUpload = Duration.seconds(60)
  /// A subscription without an answer for this long holds up nothing any more.
  static let subscribeTimeout = Duration.seconds(10)
  /// How long `stop` waits for what is under way.
  static let flushTimeout = Duration.seconds(2)
  /// This many frames of one connection that cannot be read end it.
  static let malformedLimit = 5
  /// Clocks that differ by more than this earn a notice (seed 003).
  static let skewLimit = Duration.seconds(30)
  /// Numbers of the server beyond a missing one that are remembered.
  static let numbersAhead = 1_000
  /// Acknowledgements that wait for a connection; beyond, the server's replay asks for them.
  static let pendingAckLimit = 1_000
  /// Conversations of servers without keys of which is remembered what they showed.
  static let weighedLimit = 1_000
  /// Waits between tries of a prompt that the server refused for now; then it fails.
  static let retries = Schedule.exponential(
    first: .seconds(1), factor: 2, cap: .seconds(30), jitter: 0.25, floor: .seconds(1),
    attempts: 20)
}
