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
