import HoldfastCore

/// A checker that detects a wanted link for which nothing is outstanding, and missed deadlines.
struct Outstanding<Feature: ObservedFeature>: LinkChecker {
  private(set) var found = Findings()
  private var before: Moment?
  private var awakeSince = Instant.zero
  /// The time since which the link has been held without a cause.
  private var heldSince: Instant?
  /// The deadline at the start of the suspension; `nil` if the process is not suspended.
  private var sleeping: Instant??
  /// Whether the current step starts an operation. The operation is pending from then on.
  private var asks = false
  /// Whether the current state has been reported. Each state is reported once.
  private var isReported = false

  /// The state after the previous step.
  private struct Moment: Sendable {
    var now: Instant
    var deadline: Instant?
    var isAwake: Bool
    var isIdle: Bool
  }

  mutating func received(_ role: InputRole, isLate: Bool, _ phoneState: PhoneState<Feature>) {
    checkDeadlines(until: phoneState.now)
  }

  mutating func ticked(_ phoneState: PhoneState<Feature>) {
    checkDeadlines(until: phoneState.now)
    guard let deadline = phoneState.deadline, deadline <= phoneState.now else { return }
    report(phoneState.now, "was woken, and its deadline did not move")
  }

  mutating func requested(
    _ role: EffectRole, _ effect: Feature.Effect, _ phoneState: PhoneState<Feature>
  ) {
    if role.asks { asks = true }
  }

  mutating func handle(_ seen: Observation<Feature>, _ phoneState: PhoneState<Feature>) {
    switch seen {
    case .launched, .killed:
      before = nil
      heldSince = nil
      sleeping = nil
      isReported = false
      awakeSince = phoneState.now
    case .suspended: sleeping = .some(phoneState.deadline)
    case .resumed:
      awakeSince = phoneState.now
      heldSince = nil
      if let sleeping, sleeping != phoneState.deadline {
        report(phoneState.now, "its deadline moved while it was suspended")
      }
      sleeping = nil
    case .received, .ticked, .upgraded, .serverLost, .wentDead, .server, .began, .ended, .calm,
      .fact:
      passed(phoneState)
    }
  }

  /// Checks the time before an observation that does not concern the link.
  mutating func passed(_ phoneState: PhoneState<Feature>) { checkDeadlines(until: phoneState.now) }

  mutating func stepEnded(_ phoneState: PhoneState<Feature>) {
    let isIdle = phoneState.isIdle && !asks
    asks = false
    if !isIdle, before?.isIdle ?? false { isReported = false }
    before = Moment(
      now: phoneState.now, deadline: phoneState.deadline, isAwake: phoneState.isAwake,
      isIdle: isIdle)
    guard phoneState.isHeldInVain else {
      heldSince = nil
      return
    }
    let since = heldSince ?? phoneState.now
    heldSince = since
    if since.advanced(by: phoneState.longestHold) < phoneState.now {
      report(phoneState.now, "is held without a cause: \(phoneState.status)")
    }
  }

  /// Checks the time until the end of the run.
  mutating func conclude(_ phoneState: PhoneState<Feature>) {
    checkDeadlines(until: phoneState.now)
  }

  /// Checks the time that passed since the last observation.
  private mutating func checkDeadlines(until now: Instant) {
    guard let before, before.isAwake, before.now < now else { return }
    if before.isIdle { report(before.now, "is wanted, and nothing is outstanding") }
    if let deadline = before.deadline, max(deadline, awakeSince) < now {
      report(now, "its deadline passed, and it was not woken")
    }
  }

  private mutating func report(_ now: Instant, _ detail: @autoclosure () -> String) {
    if !isReported { found.add(.stuck, at: now, detail()) }
    isReported = true
  }
}

extension PhoneState {
  /// Whether the link is wanted but has no pending event, although nothing blocks it and no failure
  /// ended it.
  fileprivate var isIdle: Bool {
    deadline == nil && mayWork && currentAttempt == nil && queuedAttempt == nil && underWay == 0
      && !storeFails && status.phase != .failed
  }

  fileprivate var isHeldInVain: Bool { status.phase == .held && mayWork }

  /// The maximum time for which a link may be held although the device reports a network.
  ///
  /// It is the debounce time of the network, or the wait for a login page that the link itself
  /// detected.
  fileprivate var longestHold: Duration {
    guard status.reason == .blocked(.captivePortal), let portal = policy.gate.portal else {
      return policy.gate.debounce
    }
    return max(policy.gate.debounce, portal.wait)
  }

  private var mayWork: Bool { isWanted && isAwake && isReachable && isSignedIn }
}

/// A checker that detects more attempts within a time window than the policy permits.
struct AttemptWindows<Feature: ObservedFeature>: LinkChecker {
  private(set) var found = Findings()
  /// The times of this process's attempts, oldest first. The list is as long as the largest window
  /// requires.
  private var tries: [Instant] = []

  mutating func requested(
    _ role: EffectRole, _ effect: Feature.Effect, _ phoneState: PhoneState<Feature>
  ) {
    guard case .open = role else { return }
    let windows = phoneState.policy.retry.windows
    for window in windows where tries.count >= window.attempts {
      guard tries[tries.count - window.attempts].advanced(by: window.per) > phoneState.now else {
        continue
      }
      let detail = "more than \(window.attempts) tries within \(window.per)"
      found.add(.storm, at: phoneState.now, detail)
    }
    tries.append(phoneState.now)
    let count = windows.map(\.attempts).max() ?? 0
    if tries.count > count { tries.removeFirst(tries.count - count) }
  }

  mutating func handle(_ seen: Observation<Feature>, _ phoneState: PhoneState<Feature>) {
    if case .launched = seen { tries = [] }
  }
}

/// A checker that detects network activity while the user does not want the link: before the first
/// start, and after the user has left.
struct Leaving<Feature: ObservedFeature>: LinkChecker {
  private(set) var found = Findings()
  private var isAway = true

  mutating func received(_ role: InputRole, isLate: Bool, _ phoneState: PhoneState<Feature>) {
    switch role {
    case .wanted: isAway = false
    case .left: isAway = true
    case .changed, .lifecycle, .trigger, .credentials, .opened, .data, .draining, .received, .lost,
      .answered, .refused, .other:
      return
    }
  }

  mutating func requested(
    _ role: EffectRole, _ effect: Feature.Effect, _ phoneState: PhoneState<Feature>
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
    found.add(.storm, at: phoneState.now, "\(what) after the user left")
  }

  mutating func handle(_ seen: Observation<Feature>, _ phoneState: PhoneState<Feature>) {
    if case .launched = seen { isAway = true }
  }
}
