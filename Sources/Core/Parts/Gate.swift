/// A gate for tries: reachability, the app's lifecycle, credentials and the user's wish together.
///
/// A link sets these and decides what follows. Work that holds no link sets them as its inputs say
/// and asks `isOpen` before each try.
public struct Gate: Sendable, Hashable {
  /// The numbers and rules.
  public let policy: GatePolicy
  /// What the user wants.
  public var wish = Wish.none
  /// `nil` until the device reported anything; tries are allowed until then.
  public var reachability: Reachability?
  /// Whether a person looks at the app.
  public var lifecycle = Lifecycle.foreground
  /// When the work stops because the app left for the background; `nil` if it is not leaving.
  public var leavesAt: Instant?
  /// The credentials and their refresh.
  public var credentials: Credentials

  /// Creates a gate that nothing was reported to.
  public init(_ policy: GatePolicy) {
    self.policy = policy
    credentials = Credentials(policy)
  }

  /// Whether a try is allowed now: it is wanted, nothing is in the way, and credentials are there.
  public var isOpen: Bool { wish == .live && obstacle == nil && credentials.state == .available }

  /// What is in the way of tries, the network before the app; `nil` if nothing is.
  public var obstacle: Obstacle? {
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

/// What the user wants of a link.
public enum Wish: String, Sendable, Hashable, Codable {
  /// Nothing.
  case none
  /// Only the standby: the user switched the live link off.
  case standbyOnly
  /// The live link.
  case live
}

/// Why a link that is wanted waits; shown to the user.
public enum Obstacle: String, Sendable, Hashable, Codable {
  case unreachable
  case captivePortal
  case background
}
