/// The state of a link as shown to users, logs and screens.
public struct LinkStatus: Sendable, Hashable, Codable {
  /// The phase of the link.
  public var phase: Phase
  /// The number of the running or next attempt, counted from 1; 0 if there is none.
  public var attempt: Int
  /// The number of attempts before standby; `nil` if unlimited or if no attempt runs.
  public var maxAttempts: Int?
  /// The instant of the next attempt; `nil` if none is scheduled.
  public var retryAt: Instant?
  /// The way in which data currently arrives.
  public var mode: Mode
  /// The reason why the link is not connected.
  public var reason: Reason?
  /// The quality of the connection; `nil` while there is none.
  public var quality: LinkQuality?

  public init(
    phase: Phase, attempt: Int = 0, maxAttempts: Int? = nil, retryAt: Instant? = nil,
    mode: Mode = .none, reason: Reason? = nil, quality: LinkQuality? = nil
  ) {
    self.phase = phase
    self.attempt = attempt
    self.maxAttempts = maxAttempts
    self.retryAt = retryAt
    self.mode = mode
    self.reason = reason
    self.quality = quality
  }

  /// Whether the link has ended, since no retry can help or all attempts failed.
  ///
  /// Only the user can start it again, or new credentials after the user signed in. The return to
  /// the foreground does not.
  public var isFinal: Bool { phase == .failed }

  /// The failure behind `reason`.
  ///
  /// If the user must sign in, it is status 401. Its text then contains no status, since the source
  /// of tokens can have asked for the sign-in in place of the server. If the link has failed for
  /// another reason that is not a failure, it is a `.local` failure with the reason's text. It is
  /// `nil` if nothing failed.
  public var failure: LinkFailure? {
    switch reason {
    case .failure(let failure), .exhausted(let failure): failure
    case .signIn: .http(status: 401, retryAfter: nil, detail: Reason.signInText)
    case .blocked, .ended, .debouncing, .limited, nil:
      isFinal ? .local(detail: reason?.description ?? "the connection has ended") : nil
    }
  }

  /// Returns the time from `now` until the next attempt; `nil` if none is scheduled.
  ///
  /// It is zero if the attempt is due. `now` is read from the clock of the link's ports.
  public func retryIn(at now: Instant) -> Duration? {
    retryAt.map { max(now.duration(to: $0), .zero) }
  }

  /// The phase of a link.
  public enum Phase: String, Sendable, Hashable, Codable, CaseIterable {
    /// The link is not wanted.
    case disconnected
    /// The link is wanted but blocked, for the given `reason`.
    case held
    /// The first attempt is being made.
    case connecting
    /// The policy's milestone is reached.
    case connected
    /// The first attempt failed or the link was lost, and further attempts are made.
    case reconnecting
    /// The attempts are exhausted or were refused, and the standby is active.
    case standby
    /// The link has ended, and the user must act.
    case failed
  }

  /// The way in which data arrives.
  public enum Mode: String, Sendable, Hashable, Codable {
    case live
    case polling
    case none
  }

  /// The reason why a link is not connected.
  public enum Reason: Sendable, Hashable, Codable {
    case blocked(BlockedReason)
    case failure(LinkFailure)
    /// The user must sign in.
    case signIn
    /// All attempts failed, the last one with this failure.
    case exhausted(LinkFailure)
    /// The link was closed by this side, for example when idle or in the background.
    case ended(HeldLink.CloseReason)
    /// The link waits until a changed network is stable.
    case debouncing
    /// The rate limit delays the next attempt, regardless of what requests it.
    case limited
  }
}
