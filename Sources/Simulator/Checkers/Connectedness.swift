import LinkCore

/// Never a false "connected": only over a socket that the server took, and not for long over one on
/// which nothing passes any more.
struct Connectedness<Feature: SimulatedFeature>: LinkChecker {
  private(set) var found = Findings()
  /// Attempts of this run of the process that the server took.
  private var taken: Set<AttemptID> = []
  /// The one of them that was looked up last.
  private var known: AttemptID?
  /// The present connection, once nothing passes on it any more.
  private var dead: Dead?
  private var clock = Awake()
  private var toldOf: AttemptID?

  private struct Dead: Sendable {
    var attempt: AttemptID
    /// Time awake since then, or since the last sign of life that was still on its way.
    var since: Duration
  }

  mutating func told(_ role: InputRole, isLate: Bool, _ standing: Standing<Feature>) {
    clock.pass(standing)
    guard let dead, !isLate, role.attempt == dead.attempt else { return }
    self.dead?.since = clock.awake
  }

  mutating func ticked(_ standing: Standing<Feature>) { clock.pass(standing) }

  /// Something happened that says nothing about the link.
  mutating func passed(_ standing: Standing<Feature>) { clock.pass(standing) }

  mutating func met(_ seen: Observation<Feature>, _ standing: Standing<Feature>) {
    passed(standing)
    switch seen {
    case .launched:
      taken = []
      known = nil
      dead = nil
      toldOf = nil
    case .upgraded(_, let attempt, status: 101): taken.insert(attempt)
    case .wentDead(_, let attempt):
      if dead?.attempt != attempt { dead = Dead(attempt: attempt, since: clock.awake) }
    case .killed, .suspended, .resumed, .told, .ticked, .upgraded, .serverLost, .began, .ended,
      .calm, .fact:
      return
    }
  }

  mutating func settled(_ standing: Standing<Feature>) {
    guard standing.isAwake, standing.status.phase == .connected,
      let attempt = standing.currentAttempt,
      attempt != toldOf
    else { return }
    if attempt != known, taken.contains(attempt) { known = attempt }
    if attempt != known {
      tell(attempt, "connected, and the server never took it", standing.now)
    }
    guard let dead, dead.attempt == attempt, let bound = standing.policy.liveness.bound,
      clock.awake - dead.since > bound + Feature.patience
    else { return }
    tell(attempt, "connected for \(clock.awake - dead.since) over a dead connection", standing.now)
  }

  private mutating func tell(_ attempt: AttemptID, _ detail: String, _ now: Instant) {
    toldOf = attempt
    found.add(.falselyConnected, at: now, detail)
  }
}

/// Counts the time in which the process is awake.
struct Awake: Sendable {
  private(set) var awake = Duration.zero
  private var last: (now: Instant, isAwake: Bool)?

  mutating func pass<Feature>(_ standing: Standing<Feature>) {
    if let last, last.isAwake { awake += last.now.duration(to: standing.now) }
    last = (standing.now, standing.isAwake)
  }
}

extension LivenessPolicy {
  /// The longest that a link on which nothing passes may be taken for alive; `nil` without a rule.
  var bound: Duration? {
    let slowest = ping.map { max($0, degradedPing ?? $0, poorPing ?? $0) }
    let asked = slowest.map { $0 + pongTimeout * pongRoundTrips * pongTries }
    return [silence, asked].compactMap(\.self).min()
  }
}
