/// A detector of login pages that answer in place of the server.
///
/// If a login page may have ended an attempt, the caller requests a page from the server. If the
/// login page arrives instead, the link is held for a while. Afterwards, one attempt shows whether
/// the login page is gone.
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
  /// The instant before which no check is made.
  private var earliest: Instant?
  /// The device's most recent report, which applies again after a hold ends.
  private var way: Reachability?

  /// Creates an idle detector.
  public init(_ policy: GatePolicy) {
    self.policy = policy.portal
  }

  /// The instant at which a held link is to be released.
  public var deadline: Instant? { if case .held(let until) = state { until } else { nil } }

  /// Whether a check is being made.
  public var isChecking: Bool { state == .asking }

  /// Handles the end of an attempt. Returns the time-out of the check to make; `nil` for no check.
  public mutating func tryEnded(by failure: LinkFailure, at now: Instant) -> Duration? {
    guard let policy, let probe = policy.probe, state == .idle, Self.isSuspicious(failure),
      earliest.map({ $0 <= now }) ?? true
    else { return nil }
    (state, earliest) = (.asking, now.advanced(by: policy.wait))
    return probe
  }

  /// Handles the result of a check. Returns whether the link is held from now on.
  public mutating func checked(isPortal: Bool, at now: Instant) -> Bool {
    guard let policy, state == .asking else { return false }
    state = isPortal ? .held(until: now.advanced(by: policy.wait)) : .idle
    return isPortal
  }

  /// Stores a report of the device, which overrides the detection of a login page.
  public mutating func note(_ reachability: Reachability) {
    (way, state, earliest) = (reachability, .idle, nil)
  }

  /// Ends a hold. Returns the reachability to report to the held link.
  public mutating func release() -> Reachability? {
    guard case .held = state else { return nil }
    state = .idle
    return way ?? .reachable(path: PathID(""))
  }

  /// Returns whether a login page may have caused a failure. Such a page answers in place of the
  /// server, breaks TLS, or blocks traffic.
  private static func isSuspicious(_ failure: LinkFailure) -> Bool {
    switch failure {
    case .captivePortal, .tls, .timeout, .reset, .ended, .protocolError: true
    case .unreachable, .dns, .refused, .closed, .http, .proxy, .local: false
    }
  }
}
