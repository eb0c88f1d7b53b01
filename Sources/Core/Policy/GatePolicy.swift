/// When trying is allowed at all.
public struct GatePolicy: Sendable, Hashable {
  /// Whether tries wait for credentials and refresh them.
  public var needsCredentials: Bool
  /// Credentials are refreshed this long before they expire (or at half of a shorter life).
  public var refreshLead: Duration
  /// A refresh that takes longer counts as failed.
  public var refreshTimeout: Duration
  /// After a change of network, wait this long for it to settle.
  public var settle: Duration
  /// When traffic goes another way.
  public var networkChange: NetworkChangeRule
  /// When nobody looks any more.
  public var background: BackgroundRule
  /// When somebody looks again.
  public var foreground: ForegroundRule
  /// The check for a login page; `nil` for a feature without one.
  public var portal: PortalPolicy?

  public init(
    needsCredentials: Bool, refreshLead: Duration, refreshTimeout: Duration, settle: Duration,
    networkChange: NetworkChangeRule, background: BackgroundRule, foreground: ForegroundRule,
    portal: PortalPolicy? = nil
  ) {
    self.needsCredentials = needsCredentials
    self.refreshLead = refreshLead
    self.refreshTimeout = refreshTimeout
    self.settle = settle
    self.networkChange = networkChange
    self.background = background
    self.foreground = foreground
    self.portal = portal
  }
}

/// The check for a login page of the network, which follows a try that one may have ended.
public struct PortalPolicy: Sendable, Hashable {
  /// How long it may take; `nil` for no check.
  public var probe: Duration?
  /// How long a login page holds the link; then one try shows whether it is gone. No check follows
  /// another one sooner.
  public var wait: Duration

  public init(probe: Duration?, wait: Duration) {
    (self.probe, self.wait) = (probe, wait)
  }
}

/// What a link does when traffic goes another way than before.
public enum NetworkChangeRule: String, Sendable, Hashable, CaseIterable {
  /// Close, let the network settle, connect anew with a fresh series.
  case reconnect
  /// Take it as a loss: the reconnect schedule decides.
  case loss
  /// Ask the peer for a sign of life; close only if none comes.
  case probe
  /// Nothing; the link does not run over the network.
  case ignore
}

/// What a link does when nobody looks at the app any more.
public enum BackgroundRule: Sendable, Hashable {
  /// Stays up; the host keeps the process alive.
  case stay
  /// Closes after a delay, then rests as said. A feature that is done earlier may say so.
  case leave(after: Duration, then: AfterLeaving)

  /// Where a link goes after it left for the background.
  public enum AfterLeaving: String, Sendable, Hashable, CaseIterable {
    /// Waits for the foreground and connects by itself.
    case hold
    /// Keeps its standby armed in background too.
    case standby
    /// Ends; the user connects again.
    case idle
  }
}

/// What a link does when the app is in front again.
public enum ForegroundRule: Sendable, Hashable {
  /// Connects after a delay, with a fresh series.
  case connect(after: Duration)
  /// Nothing; the user connects.
  case wait
}
