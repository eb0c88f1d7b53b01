import LinkCore

/// A checker that finds live connections that are closed as silent.
///
/// The policy sets the bound. A timer may close a connection only if nothing was received over it
/// for `liveness.silence`, or for the minimum time that a ping's pong and those of its retries may
/// take.
struct Haste<Feature: SimulatedFeature>: LinkChecker {
  private(set) var found = Findings()
  private var line: Line?
  /// Whether the present step is a tick.
  private var isTick = false
  private var wasConnected = false
  /// The time at which the link must close because its app is in the background.
  private var leavesAt: Instant?

  /// The open connection.
  private struct Line: Sendable {
    let attempt: AttemptID
    var heard: Instant
    var pinged: Instant?

    /// Returns whether neither the silence rule nor the ping rule may end the connection.
    func lives(at now: Instant, _ policy: LivenessPolicy) -> Bool {
      let quiet = heard.duration(to: now)
      if let silence = policy.silence, quiet >= silence { return false }
      guard let pinged else { return true }
      return min(quiet, pinged.duration(to: now)) < policy.leastPatience
    }
  }

  mutating func told(_ role: InputRole, isLate: Bool, _ standing: Standing<Feature>) {
    isTick = false
    if case .lifecycle(let lifecycle) = role { turn(lifecycle, standing) }
    guard !isLate, let attempt = role.attempt else { return }
    if case .opened = role { line = Line(attempt: attempt, heard: standing.now) }
    if line?.attempt == attempt { line?.heard = standing.now }
  }

  mutating func ticked(_ standing: Standing<Feature>) { isTick = true }

  mutating func asked(
    _ role: EffectRole, _ effect: Feature.Effect, _ standing: Standing<Feature>
  ) {
    if case .ping(let attempt) = role, attempt == line?.attempt {
      // The first ping that may be unanswered.
      let first = line?.pinged ?? standing.now
      line?.pinged = first
    }
    guard case .close(let attempt) = role, let line, line.attempt == attempt else { return }
    self.line = nil
    guard isTick, wasConnected, standing.status.reason != .ended(.idle),
      leavesAt.map({ standing.now < $0 }) ?? true,
      line.lives(at: standing.now, standing.policy.liveness)
    else { return }
    let quiet = line.heard.duration(to: standing.now)
    found.add(.needless, at: standing.now, "closed as silent \(quiet) after a sign of life")
  }

  mutating func met(_ seen: Observation<Feature>, _ standing: Standing<Feature>) {
    guard case .launched = seen else { return }
    line = nil
    leavesAt = nil
  }

  mutating func settled(_ standing: Standing<Feature>) {
    wasConnected = standing.status.phase == .connected
  }

  private mutating func turn(_ lifecycle: Lifecycle, _ standing: Standing<Feature>) {
    switch (lifecycle, standing.policy.gate.background) {
    case (.background, .leave(let after, _)):
      leavesAt = leavesAt ?? standing.now.advanced(by: after)
    case (.background, .stay), (.foreground, _): leavesAt = nil
    }
  }
}

extension LivenessPolicy {
  /// The minimum time from an unanswered ping to the end of the link: a link being verified is
  /// pinged once, and has the time of a second try.
  fileprivate var leastPatience: Duration { pongTimeout * min(pongTries, pongRoundTrips, 2) }
}
