package import HoldfastCommandKit
package import HoldfastCore

/// The conditions under which a command that follows a link ends on its own.
package struct LinkEnding {
  /// Whether the command ends when its first connection ends.
  package let isOnce: Bool
  private let policy: LinkPolicy
  private var wasConnected = false

  /// - Parameter policy: The policy, which determines the failures after which the token is renewed
  ///   instead of ending the command.
  package init(isOnce: Bool, policy: LinkPolicy) {
    (self.isOnce, self.policy) = (isOnce, policy)
  }

  /// The end of a command, with a failure if it was not successful.
  package struct End {
    package let failure: CommandFailure?
  }

  /// Returns the end that a status causes; `nil` if the command continues.
  package mutating func end(after status: LinkStatus) -> End? {
    if status.isFinal { return End(failure: CommandFailure(status.reason)) }
    guard isOnce else { return nil }
    if status.phase == .connected { wasConnected = true }
    if wasConnected { return status.phase == .connected ? nil : End(failure: nil) }
    if case .failure(let failure) = status.reason, policy.action(on: failure) == .refresh {
      return nil
    }
    // A link that is only waiting for its next attempt may still connect.
    guard status.reason != .limited else { return nil }
    return status.reason.map { End(failure: CommandFailure($0)) }
  }
}

extension CommandFailure {
  /// Creates the failure for a command whose link has ended.
  package init(_ reason: LinkStatus.Reason?) {
    switch reason {
    case .failure(let failure), .exhausted(let failure): self.init(failure)
    case .signIn: self = .signIn
    case .blocked(.captivePortal): self.init(.captivePortal)
    case .blocked(.unreachable): self.init(.unreachable(detail: "this device is offline"))
    case .blocked(.background), .ended, .debouncing, .limited, nil:
      self.init(.failed, "the connection has ended")
    }
  }
}

extension LinkState {
  /// Creates the state of a link whose feature has no state names of its own.
  package init(_ status: LinkStatus) {
    self.init(
      name: status.phase.name, attempt: status.attempt, maxAttempts: status.maxAttempts,
      retryAt: status.retryAt, mode: status.mode, reason: status.reason)
  }
}

extension LinkStatus.Phase {
  /// The stable name of the phase, for scripts.
  fileprivate var name: String {
    switch self {
    case .disconnected, .held: "DISCONNECTED"
    case .connecting: "CONNECTING"
    case .connected: "CONNECTED"
    case .reconnecting: "RECONNECTING"
    case .standby, .failed: "FAILED"
    }
  }
}
