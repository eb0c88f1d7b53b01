/// May we try now? Reachability, the app's lifecycle, credentials, and the user's wish together.
struct Gate: Sendable, Hashable {
  var wish = Wish.none
  /// `nil` until the device said anything: then trying is allowed.
  var reachability: Reachability?
  var lifecycle = Lifecycle.foreground
  /// Set while the link is leaving for the background: it closes at this instant.
  var leavesAt: Instant?
  var credentials: Credentials

  init(_ policy: LinkPolicy) {
    credentials = Credentials(policy)
  }

  /// What closes the gate; `nil` when trying is allowed. The most telling reason wins.
  func obstacle(_ policy: GatePolicy) -> Obstacle? {
    switch reachability {
    case .unreachable: return .unreachable
    case .captivePortal: return .captivePortal
    case .reachable, nil: break
    }
    if lifecycle == .background, case .leave(_, let then) = policy.background, leavesAt == nil {
      return then == .standby ? nil : .background
    }
    return nil
  }
}

/// What the user wants of a link.
public enum Wish: String, Sendable, Hashable, Codable {
  /// Nothing.
  case none
  /// Only the standby: the user switched the live link off.
  case standbyOnly
  /// The live link.
  case live
}

/// Why trying waits although the link is wanted; shown to the user.
public enum Obstacle: String, Sendable, Hashable, Codable {
  case unreachable
  case captivePortal
  case background
}
