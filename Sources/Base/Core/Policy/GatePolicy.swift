/// The conditions under which attempts are allowed.
public struct GatePolicy: Sendable, Hashable {
  /// Whether attempts require credentials. If so, credentials are refreshed before they expire.
  public var needsCredentials: Bool
  /// The time before their expiry at which credentials are refreshed. It is at most half of their
  /// lifetime.
  public var refreshLead: Duration
  /// The time-out of a refresh.
  public var refreshTimeout: Duration
  /// The delay of an attempt after a change of network, which gives the network time to stabilize.
  public var debounce: Duration
  /// The reaction to a change of the network path.
  public var networkChange: NetworkChangeRule
  /// The behavior when the app leaves the foreground.
  public var background: BackgroundRule
  /// The behavior when the app returns to the foreground.
  public var foreground: ForegroundRule
  /// The check for login pages; `nil` for a feature that has no check.
  public var portal: PortalPolicy?

  public init(
    needsCredentials: Bool, refreshLead: Duration, refreshTimeout: Duration, debounce: Duration,
    networkChange: NetworkChangeRule, background: BackgroundRule, foreground: ForegroundRule,
    portal: PortalPolicy? = nil
  ) {
    self.needsCredentials = needsCredentials
    self.refreshLead = refreshLead
    self.refreshTimeout = refreshTimeout
    self.debounce = debounce
    self.networkChange = networkChange
    self.background = background
    self.foreground = foreground
    self.portal = portal
  }
}

/// The check for a login page that may have ended an attempt.
public struct PortalPolicy: Sendable, Hashable {
  /// The time-out of the check; `nil` for no check.
  public var probe: Duration?
  /// The time for which a login page blocks the link. Afterwards, one attempt shows whether the
  /// login page is still there.
  ///
  /// It is also the shortest time between two checks.
  public var wait: Duration

  public init(probe: Duration?, wait: Duration) {
    (self.probe, self.wait) = (probe, wait)
  }
}

/// The reaction of a link to a change of the network path.
public enum NetworkChangeRule: String, Sendable, Hashable, CaseIterable {
  /// Close, wait until the network is stable, and connect with a fresh series.
  case reconnect
  /// Handle the change as a loss, so that the reconnect schedule applies.
  case loss
  /// Send a ping, and close only if there is no response.
  case probe
  /// Ignore the change, since the link does not use the network.
  case ignore
}

/// The behavior of a link when the app leaves the foreground.
public enum BackgroundRule: Sendable, Hashable {
  /// Stay connected, since the host keeps the process alive.
  case stay
  /// Close after a delay, or earlier if the feature reports `flushed`, and continue with `then`.
  case leave(after: Duration, then: AfterLeaving)

  /// The behavior of a link after it left for the background.
  public enum AfterLeaving: String, Sendable, Hashable, CaseIterable {
    /// Wait for the foreground and reconnect automatically.
    case hold
    /// Keep the standby active in the background too.
    case standby
    /// End the link. The user must connect again.
    case idle
  }
}

/// The behavior of a link when the app returns to the foreground.
public enum ForegroundRule: Sendable, Hashable {
  /// Connect after a delay, with a fresh series.
  case connect(after: Duration)
  /// Wait until the user connects again.
  case wait
}
