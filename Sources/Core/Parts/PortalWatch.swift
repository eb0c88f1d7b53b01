/// A watch for a login page of the network that answers in the server's place.
///
/// A try that a login page may have ended has a page of the server asked for. A login page instead
/// of it holds the link for a while; then one try shows whether it is gone.
///
///     idle ──suspicious try──▶ asking ──login page──▶ held ──time, foreground, user──▶ idle
///      ▲                         │ anything else        │ the device reports a way out
///      └─────────────────────────┴──────────────────────┘
public struct PortalWatch: Sendable, Hashable {
  private enum State: Sendable, Hashable {
    case idle
    case asking
    case held(until: Instant)
  }

  private let policy: PortalPolicy?
  private var state = State.idle
  /// No check before.
  private var earliest: Instant?
  /// What the device reported last: what holds again once no login page is believed in.
  private var way: Reachability?

  /// Watches for nothing yet.
  public init(_ policy: GatePolicy) {
    self.policy = policy.portal
  }

  /// When a link that is held is to be released.
  public var deadline: Instant? { if case .held(let until) = state { until } else { nil } }

  /// Takes what ended a try; returns how long a check may take, or `nil` for none.
  public mutating func tryEnded(by failure: LinkFailure, at now: Instant) -> Duration? {
    guard let policy, let probe = policy.probe, state == .idle, Self.isSuspicious(failure),
      earliest.map({ $0 <= now }) ?? true
    else { return nil }
    (state, earliest) = (.asking, now.advanced(by: policy.wait))
    return probe
  }

  /// Takes the outcome of a check; returns whether the link is held from now on.
  public mutating func checked(isPortal: Bool, at now: Instant) -> Bool {
    guard let policy, state == .asking else { return false }
    state = isPortal ? .held(until: now.advanced(by: policy.wait)) : .idle
    return isPortal
  }

  /// Takes the device's word, which ends the belief in a login page: it knows more.
  public mutating func note(_ reachability: Reachability) {
    (way, state, earliest) = (reachability, .idle, nil)
  }

  /// Ends the belief in a login page; returns what to tell a link that it held.
  public mutating func release() -> Reachability? {
    guard case .held = state else { return nil }
    state = .idle
    return way ?? .reachable(path: PathID(""))
  }

  /// Whether a login page may have ended a try: it answers by itself, breaks TLS, or lets nothing
  /// through.
  private static func isSuspicious(_ failure: LinkFailure) -> Bool {
    switch failure {
    case .captivePortal, .tls, .timeout, .reset, .ended, .protocolError: true
    case .unreachable, .dns, .refused, .closed, .http, .proxy, .local: false
    }
  }
}
