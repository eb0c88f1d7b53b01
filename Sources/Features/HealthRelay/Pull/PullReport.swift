public import LinkCore

/// What a pull came to; each question it took is counted once.
public struct PullReport: Sendable, Hashable, Codable {
  /// Questions whose answer the backend has, data or an honest error.
  public var answered: Int
  /// Questions whose answer the backend did not want: too late, or of no use to it.
  public var unwanted: Int
  /// Questions that were taken and not answered; they come back when their lease expires.
  public var left: Int
  /// Why it ended.
  public var ending: Ending
  /// When to come again without being woken; `nil` when there is no reason to.
  public var again: Duration?

  /// Why a pull ended.
  public enum Ending: Sendable, Hashable, Codable {
    /// Nothing is left to answer now.
    case finished
    /// The budget was used up.
    case outOfTime
    /// The operating system, or the caller, wanted it to end.
    case cancelled
    /// The backend does not know the token any more: connect and pair again.
    case signedOut
    /// The backend is one of those that know no pull.
    case unsupported
    /// The backend could not be reached, or would not serve.
    case failed(LinkFailure)
  }

  /// A report from its parts.
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

/// The numbers of a pull.
package struct PullSettings: Sendable, Hashable, Codable {
  /// The whole pull, from its first step to its last (seed 000: a push gives an app some 30 s).
  package var budget: Duration
  /// Questions that are leased at once; ours: what fits the budget at a few seconds each.
  package var leaseLimit: Int
  /// The longest wait for one answer of the backend; ours.
  package var exchangeLimit: Duration
  /// Nothing is begun with less time than this; ours: a round trip over a slow network.
  package var leastTime: Duration
  /// Kept free behind reading, for sending what was read; ours.
  package var sendTime: Duration
  /// Waits before an exchange is tried again; ours, all of them fit the budget.
  package var retries: Schedule

  /// The seed's budget and our numbers.
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

  /// A pull that failed for a cause that may pass is worth repeating after this; ours.
  package static let pause = Duration.seconds(60)
  /// The longest wish of the backend that is passed on; ours.
  package static let longestPause = Duration.seconds(3_600)
}
