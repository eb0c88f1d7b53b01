import LinkCore

/// What the device of a session last reported about its network and the app.
struct SessionDevice: Sendable, Hashable {
  /// Whether a login page of the network is in the way.
  var portal: PortalWatch
  /// The way out of the device, if it is known.
  private(set) var network: String?
  /// Whether the app is in background.
  private(set) var isInBackground = false

  init(_ policy: GatePolicy) { portal = PortalWatch(policy) }

  /// Takes a change that the device reports.
  mutating func note(_ change: DeviceChange) {
    switch change {
    case .reachability(let reachability):
      portal.note(reachability)
      switch reachability {
      case .reachable(let path, _): network = path.name
      case .unreachable, .captivePortal: network = nil
      }
    case .lifecycle(let lifecycle): isInBackground = lifecycle == .background
    case .woke, .again: return
    }
  }
}
