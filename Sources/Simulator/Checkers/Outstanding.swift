import LinkCore

/// A checker that finds a wanted link for which nothing is outstanding, and deadlines that are
/// missed.
struct Outstanding<Feature: SimulatedFeature>: LinkChecker {
  private(set) var found = Findings()
  private var before: Moment?
  private var awakeSince = Instant.zero
  /// The time since which the link has been held without a cause.
  private var heldSince: Instant?
  /// The deadline at the time of suspension.
  private var sleeping: Instant??
  /// Whether the present step starts an operation, which is pending from now on.
  private var asks = false
  /// Whether the present state was reported, since each is reported once.
  private var isTold = false

  /// The state after the previous step.
  private struct Moment: Sendable {
    var now: Instant
    var deadline: Instant?
    var isAwake: Bool
    var isIdle: Bool
  }

  mutating func told(_ role: InputRole, isLate: Bool, _ standing: Standing<Feature>) {
    lapse(until: standing.now)
  }

  mutating func ticked(_ standing: Standing<Feature>) {
    lapse(until: standing.now)
    guard let deadline = standing.deadline, deadline <= standing.now else { return }
    tell(standing.now, "was woken, and its deadline did not move")
  }

  mutating func asked(
    _ role: EffectRole, _ effect: Feature.Effect, _ standing: Standing<Feature>
  ) {
    if role.asks { asks = true }
  }

  mutating func met(_ seen: Observation<Feature>, _ standing: Standing<Feature>) {
    switch seen {
    case .launched, .killed:
      before = nil
      heldSince = nil
      sleeping = nil
      isTold = false
      awakeSince = standing.now
    case .suspended: sleeping = .some(standing.deadline)
    case .resumed:
      awakeSince = standing.now
      heldSince = nil
      if let sleeping, sleeping != standing.deadline {
        tell(standing.now, "its deadline moved while it was suspended")
      }
      sleeping = nil
    case .told, .ticked, .upgraded, .serverLost, .wentDead, .began, .ended, .calm, .fact:
      passed(standing)
    }
  }

  /// Records an observation that does not concern the link.
  mutating func passed(_ standing: Standing<Feature>) { lapse(until: standing.now) }

  mutating func settled(_ standing: Standing<Feature>) {
    let isIdle = standing.isIdle && !asks
    asks = false
    if !isIdle, before?.isIdle ?? false { isTold = false }
    before = Moment(
      now: standing.now, deadline: standing.deadline, isAwake: standing.isAwake, isIdle: isIdle)
    guard standing.isHeldInVain else {
      heldSince = nil
      return
    }
    let since = heldSince ?? standing.now
    heldSince = since
    if since.advanced(by: standing.longestHold) < standing.now {
      tell(standing.now, "is held without a cause: \(standing.status.words)")
    }
  }

  /// Checks the time until the end of the run.
  mutating func conclude(_ standing: Standing<Feature>) { lapse(until: standing.now) }

  /// Checks the time that passed since the last observation.
  private mutating func lapse(until now: Instant) {
    guard let before, before.isAwake, before.now < now else { return }
    if before.isIdle { tell(before.now, "is wanted, and nothing is outstanding") }
    if let deadline = before.deadline, max(deadline, awakeSince) < now {
      tell(now, "its deadline passed, and it was not woken")
    }
  }

  private mutating func tell(_ now: Instant, _ detail: @autoclosure () -> String) {
    if !isTold { found.add(.stuck, at: now, detail()) }
    isTold = true
  }
}

extension Standing {
  /// Whether the link is wanted and nothing would ever happen again, although nothing blocks it and
  /// no failure ended it.
  fileprivate var isIdle: Bool {
    deadline == nil && mayWork && currentAttempt == nil && queuedAttempt == nil && underWay == 0
      && !storeFails && status.phase != .failed
  }

  fileprivate var isHeldInVain: Bool { status.phase == .held && mayWork }

  /// The maximum time for which a link may be held although the device reports a network: the
  /// debounce time of the network, or the wait for a login page that the link itself detected.
  fileprivate var longestHold: Duration {
    guard status.reason == .blocked(.captivePortal), let portal = policy.gate.portal else {
      return policy.gate.settle
    }
    return max(policy.gate.settle, portal.wait)
  }

  private var mayWork: Bool { isWanted && isAwake && isReachable && isSignedIn }
}

extension LinkStatus {
  /// A description of the phase and its reason, for people.
  var words: String {
    guard let reason else { return phase.rawValue }
    return "\(phase.rawValue), \(reason)"
  }
}

/// A checker that finds attempts that exceed the windows of the policy.
struct AttemptWindows<Feature: SimulatedFeature>: LinkChecker {
  private(set) var found = Findings()
  /// The times of this process's attempts, oldest first, as many as the largest window needs.
  private var tries: [Instant] = []

  mutating func asked(
    _ role: EffectRole, _ effect: Feature.Effect, _ standing: Standing<Feature>
  ) {
    guard case .open = role else { return }
    let windows = standing.policy.retry.windows
    for window in windows where tries.count >= window.attempts {
      guard tries[tries.count - window.attempts].advanced(by: window.per) > standing.now else {
        continue
      }
      let detail = "more than \(window.attempts) tries within \(window.per)"
      found.add(.storm, at: standing.now, detail)
    }
    tries.append(standing.now)
    let kept = windows.map(\.attempts).max() ?? 0
    if tries.count > kept { tries.removeFirst(tries.count - kept) }
  }

  mutating func met(_ seen: Observation<Feature>, _ standing: Standing<Feature>) {
    if case .launched = seen { tries = [] }
  }
}

/// A checker that finds network activity while the user does not want the link: before first
/// connecting, and after leaving.
struct Leaving<Feature: SimulatedFeature>: LinkChecker {
  private(set) var found = Findings()
  private var isAway = true

  mutating func told(_ role: InputRole, isLate: Bool, _ standing: Standing<Feature>) {
    switch role {
    case .wanted: isAway = false
    case .left: isAway = true
    case .changed, .lifecycle, .trigger, .credentials, .opened, .data, .draining, .heard, .lost,
      .answered, .refused, .other:
      return
    }
  }

  mutating func asked(
    _ role: EffectRole, _ effect: Feature.Effect, _ standing: Standing<Feature>
  ) {
    guard isAway else { return }
    let what: String
    switch role {
    case .open: what = "a connection was tried"
    case .ping: what = "a ping was sent"
    case .refreshCredentials: what = "credentials were refreshed"
    case .request: what = "a request was sent"
    case .close, .store, .notice, .signIn, .other: return
    }
    found.add(.storm, at: standing.now, "\(what) after the user left")
  }

  mutating func met(_ seen: Observation<Feature>, _ standing: Standing<Feature>) {
    if case .launched = seen { isAway = true }
  }
}
