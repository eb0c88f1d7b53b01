import HoldfastCore

/// A checker that detects live connections that are closed as if they were silent.
///
/// The policy determines the limit. A timer may close a connection only if nothing was received
/// over it for `liveness.silence`, or for the minimum time that a ping's pong and those of its
/// retries may take.
struct RetryRateChecker<Feature: ObservedFeature>: LinkChecker {
  private(set) var found = Findings()
  private var line: Line?
  /// Whether the current step is a tick.
  private var isTick = false
  private var wasConnected = false
  /// The time at which the link must close because its app is in the background.
  private var leavesAt: Instant?

  /// A connection that is open.
  private struct Line: Sendable {
    let attempt: AttemptID
    var lastReceived: Instant
    var pinged: Instant?

    /// Returns whether the silence rule and the ping rule both require the connection to stay open.
    func lives(at now: Instant, _ policy: LivenessPolicy) -> Bool {
      let quiet = lastReceived.duration(to: now)
      if let silence = policy.silence, quiet >= silence { return false }
      guard let pinged else { return true }
      return min(quiet, pinged.duration(to: now)) < policy.leastPatience
    }
  }

  mutating func received(_ role: InputRole, isLate: Bool, _ phoneState: PhoneState<Feature>) {
    isTick = false
    if case .lifecycle(let lifecycle) = role { turn(lifecycle, phoneState) }
    guard !isLate, let attempt = role.attempt else { return }
    if case .opened = role { line = Line(attempt: attempt, lastReceived: phoneState.now) }
    if line?.attempt == attempt { line?.lastReceived = phoneState.now }
  }

  mutating func ticked(_ phoneState: PhoneState<Feature>) { isTick = true }

  mutating func requested(
    _ role: EffectRole, _ effect: Feature.Effect, _ phoneState: PhoneState<Feature>
  ) {
    if case .ping(let attempt) = role, attempt == line?.attempt {
      // The time of the first ping that may be unanswered.
      let first = line?.pinged ?? phoneState.now
      line?.pinged = first
    }
    guard case .close(let attempt, _) = role, let line, line.attempt == attempt else { return }
    self.line = nil
    guard isTick, wasConnected, phoneState.status.reason != .ended(.idle),
      leavesAt.map({ phoneState.now < $0 }) ?? true,
      line.lives(at: phoneState.now, phoneState.policy.liveness)
    else { return }
    let quiet = line.lastReceived.duration(to: phoneState.now)
    found.add(.needless, at: phoneState.now, "closed as silent \(quiet) after a sign of life")
  }

  mutating func handle(_ seen: Observation<Feature>, _ phoneState: PhoneState<Feature>) {
    guard case .launched = seen else { return }
    line = nil
    leavesAt = nil
  }

  mutating func stepEnded(_ phoneState: PhoneState<Feature>) {
    wasConnected = phoneState.status.phase == .connected
  }

  private mutating func turn(_ lifecycle: AppLifecycle, _ phoneState: PhoneState<Feature>) {
    switch (lifecycle, phoneState.policy.gate.background) {
    case (.background, .leave(let after, _)):
      leavesAt = leavesAt ?? phoneState.now.advanced(by: after)
    case (.background, .stay), (.foreground, _): leavesAt = nil
    }
  }
}

extension LivenessPolicy {
  /// The minimum time from an unanswered ping to the end of the link. A link that is being verified
  /// is pinged once, and has the time of a second ping.
  fileprivate var leastPatience: Duration { pongTimeout * min(pongTries, pongRoundTrips, 2) }
}
