import CommandKit
import LinkCore

/// The conditions under which a command that follows a link ends by itself.
struct LinkEnding {
  /// Whether it ends with the first connection.
  let isOnce: Bool
  private let policy: LinkPolicy
  private var wasConnected = false

  /// - Parameter policy: says which failures ask for another token, and are no end yet.
  init(isOnce: Bool, policy: LinkPolicy) {
    (self.isOnce, self.policy) = (isOnce, policy)
  }

  /// The end, and its failure if it has one.
  struct End {
    let failure: CommandFailure?
  }

  /// Returns `nil` while it goes on.
  mutating func end(after status: LinkStatus) -> End? {
    if status.phase == .failed { return End(failure: CommandFailure(status.reason)) }
    guard isOnce else { return nil }
    if status.phase == .connected { wasConnected = true }
    if wasConnected { return status.phase == .connected ? nil : End(failure: nil) }
    if case .failure(let failure) = status.reason, policy.verdict(on: failure) == .refresh {
      return nil
    }
    // What only waits for its time may still connect.
    guard status.reason != .limited else { return nil }
    return status.reason.map { End(failure: CommandFailure($0)) }
  }
}

extension CommandFailure {
  /// The failure of a command whose link has ended for a reason.
  init(_ reason: LinkStatus.Reason?) {
    switch reason {
    case .failure(let failure), .exhausted(let failure): self.init(failure)
    case .signIn: self = .signIn
    case .obstacle(.captivePortal): self.init(.captivePortal)
    case .obstacle(.unreachable): self.init(.unreachable(detail: "this device is offline"))
    case .obstacle(.background), .ended, .settling, .limited, nil:
      self.init(.failed, "the connection has ended")
    }
  }
}

extension LinkState {
  /// The state of a link whose feature has no words of its own.
  init(_ status: LinkStatus) {
    self.init(
      word: status.phase.word, attempt: status.attempt, of: status.of, retryAt: status.retryAt,
      mode: status.mode, reason: status.reason)
  }
}

extension LinkStatus.Phase {
  /// A stable word for scripts.
  fileprivate var word: String {
    switch self {
    case .disconnected, .held: "DISCONNECTED"
    case .connecting: "CONNECTING"
    case .connected: "CONNECTED"
    case .reconnecting: "RECONNECTING"
    case .standby, .failed: "FAILED"
    }
  }
}
