import HoldfastCore

/// A checker that detects a link that is wrongly shown as connected: over a socket that the server
/// did not accept, or for too long over a dead connection.
struct Connectedness<Feature: ObservedFeature>: LinkChecker {
  private(set) var found = Findings()
  /// The attempts in this run of the process that the server accepted.
  private var taken: Set<AttemptID> = []
  /// The accepted attempt that was looked up most recently.
  private var known: AttemptID?
  /// The current connection, if it is dead.
  private var dead: Dead?
  private var clock = Awake()
  private var reportedAttempt: AttemptID?

  private struct Dead: Sendable {
    var attempt: AttemptID
    /// The value of the awake-time counter when the connection died, or when the last data that was
    /// still in transit arrived.
    var since: Duration
  }

  mutating func received(_ role: InputRole, isLate: Bool, _ phoneState: PhoneState<Feature>) {
    clock.pass(phoneState)
    guard let dead, !isLate, role.attempt == dead.attempt else { return }
    self.dead?.since = clock.awake
  }

  mutating func ticked(_ phoneState: PhoneState<Feature>) { clock.pass(phoneState) }

  /// Passes the time of an observation that does not concern the link to the clock.
  mutating func passed(_ phoneState: PhoneState<Feature>) { clock.pass(phoneState) }

  mutating func handle(_ seen: Observation<Feature>, _ phoneState: PhoneState<Feature>) {
    passed(phoneState)
    switch seen {
    case .launched:
      taken = []
      known = nil
      dead = nil
      reportedAttempt = nil
    case .upgraded(_, let attempt, status: 101): taken.insert(attempt)
    case .wentDead(_, let attempt):
      if dead?.attempt != attempt { dead = Dead(attempt: attempt, since: clock.awake) }
    case .killed, .suspended, .resumed, .received, .ticked, .upgraded, .serverLost, .server,
      .began, .ended, .calm, .fact:
      return
    }
  }

  mutating func stepEnded(_ phoneState: PhoneState<Feature>) {
    guard phoneState.isAwake, phoneState.status.phase == .connected,
      let attempt = phoneState.currentAttempt,
      attempt != reportedAttempt
    else { return }
    if attempt != known, taken.contains(attempt) { known = attempt }
    if attempt != known {
      report(attempt, "connected, and the server never took it", phoneState.now)
    }
    guard let dead, dead.attempt == attempt, let bound = phoneState.policy.liveness.bound,
      clock.awake - dead.since > bound + Feature.timeLimit
    else { return }
    report(
      attempt, "connected for \(clock.awake - dead.since) over a dead connection", phoneState.now)
  }

  private mutating func report(_ attempt: AttemptID, _ detail: String, _ now: Instant) {
    reportedAttempt = attempt
    found.add(.falselyConnected, at: now, detail)
  }
}

/// A counter of the time for which a process is awake.
package struct Awake: Sendable {
  package private(set) var awake = Duration.zero
  private var last: (now: Instant, isAwake: Bool)?

  package init() {}

  package mutating func pass<Feature>(_ phoneState: PhoneState<Feature>) {
    if let last, last.isAwake { awake += last.now.duration(to: phoneState.now) }
    last = (phoneState.now, phoneState.isAwake)
  }
}

extension LivenessPolicy {
  /// The maximum time for which a dead link may be shown as connected; `nil` if no rule limits it.
  var bound: Duration? {
    let slowest = ping.map { max($0, degradedPing ?? $0, poorPing ?? $0) }
    let unanswered = slowest.map { $0 + pongTimeout * pongRoundTrips * pongTries }
    return [silence, unanswered].compactMap(\.self).min()
  }
}
