public import HoldfastCore

/// The result of a pull, which counts each leased question once.
public struct PullReport: Sendable, Hashable, Codable {
  /// The number of questions answered, with data or with an error.
  public var answered: Int
  /// The number of questions whose answer the backend rejected as late or unusable.
  public var unwanted: Int
  /// The number of leased questions without an answer. They return when their lease expires.
  public var left: Int
  /// The reason why the pull ended.
  public var ending: Ending
  /// The wait before the next pull without a wake push; `nil` if there is no reason for one.
  public var again: Duration?

  /// The reason why a pull ended.
  public enum Ending: Sendable, Hashable, Codable {
    /// No question is left to answer.
    case finished
    /// The budget was used up.
    case outOfTime
    /// The operating system or the caller canceled the pull.
    case cancelled
    /// The backend no longer accepts the token. The phone must connect and pair again.
    case signedOut
    /// The backend does not support pulls.
    case unsupported
    /// The backend could not be reached, or refused service.
    case failed(LinkFailure)
  }

  /// Creates a report.
  public init(
    answered: Int = 0, unwanted: Int = 0, left: Int = 0, ending: Ending, again: Duration? = nil
  ) {
    self.answered = answered
    self.unwanted = unwanted
    self.left = left
    self.ending = ending
    self.again = again
  }
}

/// The settings of a pull.
package struct PullSettings: Sendable, Hashable, Codable {
  /// The duration of the whole pull. A push gives an app about 30 s.
  package var budget: Duration
  /// The maximum number of questions leased at once. Project choice: the number that fits the
  /// budget at a few seconds for each question.
  package var leaseLimit: Int
  /// The time-out of one exchange with the backend. Project choice.
  package var exchangeLimit: Duration
  /// The minimum time that must remain before an operation begins. Project choice: a round trip
  /// over a slow network.
  package var leastTime: Duration
  /// The time that is reserved for sending the answer after it was read. Project choice.
  package var sendTime: Duration
  /// The waits before the retries of an exchange. Project choice: all of them fit the budget.
  package var retries: Schedule

  /// Creates settings. The default budget is the required one. The other defaults are project
  /// choices.
  package init(
    budget: Duration = .seconds(25), leaseLimit: Int = 4, exchangeLimit: Duration = .seconds(8),
    leastTime: Duration = .seconds(1), sendTime: Duration = .seconds(4),
    retries: Schedule = .list([.milliseconds(500), .seconds(1), .seconds(2), .seconds(4)])
  ) {
    self.budget = budget
    self.leaseLimit = leaseLimit
    self.exchangeLimit = exchangeLimit
    self.leastTime = leastTime
    self.sendTime = sendTime
    self.retries = retries
  }

  /// The wait before another pull after a transient failure. Project choice.
  package static let pause = Duration.seconds(60)
  /// The longest retry-after of the backend that is honored. Project choice.
  package static let longestPause = Duration.seconds(3_600)
}
