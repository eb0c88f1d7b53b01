/// A gate for attempts that combines network, lifecycle, credentials and the user's intent.
///
/// A link sets these values and decides what follows. Work without a link sets them from its inputs
/// and reads `isOpen` before each attempt.
public struct Gate: Sendable, Hashable {
  /// The policy of the gate.
  public let policy: GatePolicy
  /// The user's connection intent.
  public var intent = ConnectionIntent.none
  /// The device's connectivity. It is `nil`, and attempts are allowed, until the first report.
  public var reachability: Reachability?
  /// Whether the app is in the foreground.
  public var lifecycle = AppLifecycle.foreground
  /// The instant at which the work stops because the app went to the background; `nil` if it is not
  /// leaving.
  public var leavesAt: Instant?
  /// The credentials and their refresh.
  public var credentials: Credentials

  /// Creates a gate that has received no reports.
  public init(_ policy: GatePolicy) {
    self.policy = policy
    credentials = Credentials(policy)
  }

  /// Whether an attempt is allowed now: the live link is wanted, nothing blocks an attempt, and
  /// credentials are available.
  public var isOpen: Bool {
    intent == .live && blockedReason == nil && credentials.state == .available
  }

  /// The reason why attempts are blocked; `nil` if there is none. Network reasons come first.
  public var blockedReason: BlockedReason? {
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

extension Gate: SelfChecking {
  public func check(_ check: inout InvariantCheck) {
    check.require(
      leavesAt == nil || lifecycle == .background, "gate: it is left only in the background")
    credentials.check(&check)
  }
}

/// The user's connection intent for a link.
public enum ConnectionIntent: String, Sendable, Hashable, Codable {
  /// No connection.
  case none
  /// Only the standby, because the user switched the live link off.
  case standbyOnly
  /// The live link.
  case live
}

/// The reason why a wanted link is blocked, shown to the user.
public enum BlockedReason: String, Sendable, Hashable, Codable {
  case unreachable
  case captivePortal
  case background
}
