public import HoldfastCore
import HoldfastLinkChecks

// Policies from which one rule is removed.
extension LinkPolicy {
  /// The policy with the maximum number of attempts, each after the schedule's first wait.
  var countingFromTheStart: LinkPolicy {
    var retry = retry
    retry.first = retry.first.repeatingItsStart
    retry.reconnect = retry.reconnect.repeatingItsStart
    return with(retry)
  }

  func stable(after time: Duration) -> LinkPolicy {
    var retry = retry
    retry.stability.after = time
    return with(retry)
  }

  func withServerJitter(_ time: Duration) -> LinkPolicy {
    var retry = retry
    retry.serverJitter = time
    return with(retry)
  }

  /// The policy without its ping and silence rules.
  var withoutPings: LinkPolicy {
    var liveness = liveness
    liveness.ping = nil
    // A policy that never detects a half-open link is invalid. Where necessary, the silence rule is
    // therefore set to a day.
    let needsOne = standby == .none && liveness.idle == nil
    liveness.silence = needsOne ? .seconds(86_400) : nil
    return with(retry, liveness)
  }

  /// The policy with time-outs that are so short that a quiet connection is treated as dead.
  var hasty: LinkPolicy {
    var liveness = liveness
    liveness.silence = liveness.silence.map { $0 / 3 }
    liveness.ping = liveness.ping.map { $0 / 3 }
    liveness.pongTimeout = .milliseconds(100)
    liveness.pongRoundTrips = 1
    liveness.pongTries = 1
    return with(retry, liveness)
  }

  var ignoringRetryAfter: LinkPolicy {
    var retry = retry
    retry.maxRetryAfter = retry.serverJitter
    return with(retry)
  }

  /// The policy with credentials that are refreshed after half of their lifetime.
  var refreshingEarly: LinkPolicy {
    var gate = gate
    gate.refreshLead = .seconds(86_400)
    return with(retry, gate: gate)
  }

  var blamingCredentials: LinkPolicy {
    let blamed: [FailureClass] = [.serverError, .unavailable, .notFound]
    return with(retry, actions: actions.merging(blamed.map { ($0, .refresh) }) { $1 })
  }

  /// Returns the policy with some parts replaced, or unchanged if the result would be invalid.
  public func with(
    _ retry: RetryPolicy, _ liveness: LivenessPolicy? = nil, gate: GatePolicy? = nil,
    standby: StandbyPolicy? = nil, actions: [FailureClass: FailureAction]? = nil
  ) -> LinkPolicy {
    do {
      return try LinkPolicy(
        name: name, retry: retry, gate: gate ?? self.gate, liveness: liveness ?? self.liveness,
        establish: establish, standby: standby ?? self.standby,
        actions: actions ?? self.actions)
    } catch {
      return self  // The policy has no such rule.
    }
  }
}

extension Schedule {
  /// The minimum for each wait in a list after the first.
  private static let shortest = Duration.milliseconds(100)
  /// The maximum number of waits in a list.
  private static let longest = 1000

  fileprivate var repeatingItsStart: Schedule {
    switch self {
    case .list(let waits):
      guard let start = waits.first else { return self }
      let rest = Array(repeating: max(start, Self.shortest), count: Self.longest - 1)
      return .list([start] + rest)
    case .exponential(let first, _, let cap, let jitter, let floor, _):
      return .exponential(
        first: first, factor: 1, cap: cap, jitter: jitter, floor: floor, attempts: nil)
    }
  }
}
