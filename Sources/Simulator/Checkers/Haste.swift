import LinkCore

/// Finds a connection that is closed as silent although the line lives.
///
/// The bound is the policy's: a connection may be closed by a timer only if nothing came over it
/// for `liveness.silence`, or since a ping for as long as its pong and those of the tries behind it
/// may take at least.
struct Haste<Feature: SimulatedFeature>: LinkChecker {
  private(set) var found = Findings()
  private var line: Line?
  /// Whether a timer led to what happens now.
  private var isTick = false
  private var wasConnected = false
  /// When the link must leave, since its app is in background.
  private var leavesAt: Instant?

  /// The connection that stands.
  private struct Line: Sendable {
    let attempt: AttemptID
    var heard: Instant
    var pinged: Instant?

    /// Whether neither the rule of silence nor that of pings may end it.
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
      // The first one that may be without its answer.
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
  /// The least time from a ping without an answer to the end of the link: a suspect one is asked
  /// once, and has as long as a second try.
  fileprivate var leastPatience: Duration { pongTimeout * min(pongTries, pongRoundTrips, 2) }
}
