/// What the user, a log or a screen sees of a link; the one projection of its inner state.
public struct LinkStatus: Sendable, Hashable, Codable {
  /// Where it stands.
  public var phase: Phase
  /// The number of the try that runs or waits, from 1; 0 when none does.
  public var attempt: Int
  /// How many tries there are before standby; `nil` without end or when none runs.
  public var of: Int?
  /// When the next try is made, if it waits for a time.
  public var retryAt: Instant?
  /// How data comes in now.
  public var mode: Mode
  /// Why it is not connected.
  public var reason: Reason?
  /// How well the peer answers, while connected.
  public var quality: LinkQuality?

  public init(
    phase: Phase, attempt: Int = 0, of: Int? = nil, retryAt: Instant? = nil, mode: Mode = .none,
    reason: Reason? = nil, quality: LinkQuality? = nil
  ) {
    self.phase = phase
    self.attempt = attempt
    self.of = of
    self.retryAt = retryAt
    self.mode = mode
    self.reason = reason
    self.quality = quality
  }

  /// Where the link stands.
  public enum Phase: String, Sendable, Hashable, Codable, CaseIterable {
    /// Not wanted.
    case disconnected
    /// Wanted, and held back by a reason that stands beside it.
    case held
    /// First tries.
    case connecting
    /// Connected by the policy's milestone, never before.
    case connected
    /// Lost, and tried again.
    case reconnecting
    /// Tries are exhausted or were refused; the standby does the work.
    case standby
    /// Ended; the user must act.
    case failed
  }

  /// How data arrives.
  public enum Mode: String, Sendable, Hashable, Codable {
    case live
    case polling
    case none
  }

  /// Why.
  public enum Reason: Sendable, Hashable, Codable {
    case obstacle(Obstacle)
    case failure(LinkFailure)
    /// The user must sign in.
    case signIn
    /// All tries failed, the last one so.
    case exhausted(LinkFailure)
    /// Ended by the idle rule or by going to the background.
    case ended(HeldLink.CloseReason)
    /// The network changed and is left to settle.
    case settling
    /// So many tries were made that the next one waits, whoever asks for it.
    case limited
  }
}
