import HoldfastCore

/// A checker that detects attempts that are earlier than the server permits: before the end of a
/// `Retry-After`, or too early in the window within which clients of a draining server must
/// reconnect.
///
/// A `Retry-After` applies to each attempt. A window applies to all attempts of a run together:
/// early attempts may be no more frequent than with uniformly drawn times. For each attempt, the
/// checker counts how often the time since the drain can be doubled within the window. By chance,
/// the sum of these counts exceeds its bound in one of a billion runs.
struct RetryAfterChecker<Feature: ObservedFeature>: LinkChecker {
  private(set) var found = Findings()
  /// The earliest time at which the server permits an attempt.
  private var notBefore: Instant?
  /// The window that the server announced on the current connection.
  private var window: (attempt: AttemptID, length: Duration)?
  /// The time at which a connection was lost, and the window that applies to it; `nil` once there
  /// is another reason to connect.
  private var drained: (at: Instant, window: Duration)?
  private var returns = 0
  private var doublings = 0

  /// The maximum sum of doublings for the number of returns. Chance does not exceed it.
  private var bound: Int { 30 + 3 * returns }

  mutating func received(_ role: InputRole, isLate: Bool, _ phoneState: PhoneState<Feature>) {
    if role.isNewStart { drained = nil }
    guard !isLate else { return }
    let retry = phoneState.policy.retry
    switch role {
    case .draining(let attempt, let length):
      window = (attempt, min(max(length, .zero), retry.maxRetryAfter))
    case .lost(let attempt, let failure):
      if let retryAfter = retry.honored(failure.retryAfter) {
        let until = phoneState.now.advanced(by: retryAfter)
        notBefore = max(notBefore ?? until, until)
      }
      noteReturn(attempt, failure, phoneState)
    case .wanted, .left, .changed, .lifecycle, .trigger, .credentials, .opened, .data, .received,
      .answered, .refused, .other:
      return
    }
  }

  mutating func requested(
    _ role: EffectRole, _ effect: Feature.Effect, _ phoneState: PhoneState<Feature>
  ) {
    guard case .open = role else { return }
    if let notBefore, phoneState.now < notBefore {
      let early = phoneState.now.duration(to: notBefore)
      found.add(.storm, at: phoneState.now, "tried \(early) before the server wants it")
    }
    guard let drained else { return }
    self.drained = nil
    returns += 1
    doublings += drained.window.doublings(of: drained.at.duration(to: phoneState.now))
    if doublings > bound {
      let detail = "came back \(returns) times too early in the window of a drain"
      found.add(.storm, at: phoneState.now, detail)
      (returns, doublings) = (0, 0)
    }
  }

  mutating func handle(_ seen: Observation<Feature>, _ phoneState: PhoneState<Feature>) {
    guard case .launched = seen else { return }
    notBefore = nil
    window = nil
    drained = nil
  }

  private mutating func noteReturn(
    _ attempt: AttemptID, _ failure: LinkFailure, _ phoneState: PhoneState<Feature>
  ) {
    drained = nil
    guard let window, window.attempt == attempt else { return }
    self.window = nil
    switch phoneState.policy.action(on: failure) {
    case .retry, .retryJittered: drained = (phoneState.now, window.length)
    case .refresh, .standby, .standbySlow, .stop: return
    }
  }
}

extension Duration {
  /// Returns how often a part can be doubled without exceeding the duration; at most 20.
  fileprivate func doublings(of part: Duration) -> Int {
    var (length, count) = (part * 2, 0)
    while length <= self, count < 20 { (length, count) = (length * 2, count + 1) }
    return count
  }
}
