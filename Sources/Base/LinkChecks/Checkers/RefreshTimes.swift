import HoldfastCore

/// A checker that detects credentials that are refreshed too early, or not refreshed when they are
/// due.
///
/// Credentials are due `gate.refreshLead` before they expire, or after half of a shorter lifetime,
/// but not within `gate.refreshTimeout` of the last refresh. A refusal makes them due immediately,
/// and until others arrive each attempt begins with a refresh.
/// While the link is wanted and its process is running, a due refresh may be up to a second late.
struct RefreshTimes<Feature: ObservedFeature>: LinkChecker {
  private(set) var found = Findings()
  /// Whether the phone has credentials that the server has not refused.
  private var isThere = false
  /// The earliest time of a refresh that has no other cause; `nil` if no such refresh is permitted.
  private var allowed: Instant?
  /// The time at which a refresh must begin; `nil` if none is required.
  private var due: Instant?
  /// Whether the current input refuses the credentials.
  private var isRefused = false
  /// The time since which nothing has prevented a due refresh.
  private var readySince: Instant?

  private static var slack: Duration { .seconds(1) }

  mutating func received(_ role: InputRole, isLate: Bool, _ phoneState: PhoneState<Feature>) {
    checkDeadlines(phoneState)
    isRefused = false
    switch role {
    case .credentials(let event): take(event, phoneState)
    case .lost(_, let failure), .refused(let failure):
      isRefused = phoneState.policy.action(on: failure) == .refresh
      if isRefused, !isLate { isThere = false }
    case .wanted, .left, .changed, .lifecycle, .trigger, .opened, .data, .draining, .received,
      .answered, .other:
      return
    }
  }

  mutating func ticked(_ phoneState: PhoneState<Feature>) {
    checkDeadlines(phoneState)
    isRefused = false
  }

  mutating func requested(
    _ role: EffectRole, _ effect: Feature.Effect, _ phoneState: PhoneState<Feature>
  ) {
    guard case .refreshCredentials = role else { return }
    let now = phoneState.now
    if isThere, !isRefused, allowed.map({ now < $0 }) ?? true {
      let detail =
        allowed.map { "\(now.duration(to: $0)) before they are due" } ?? "without a cause"
      found.add(.storm, at: now, "credentials were refreshed \(detail)")
    }
    // A refresh without an answer fails after its time-out. The next refresh waits for the same
    // time again.
    allowed = now.advanced(by: phoneState.policy.gate.refreshTimeout * 2)
    due = nil
  }

  mutating func handle(_ seen: Observation<Feature>, _ phoneState: PhoneState<Feature>) {
    checkDeadlines(phoneState)
    guard case .launched = seen else { return }
    isThere = false
    allowed = nil
    due = nil
  }

  mutating func passed(_ phoneState: PhoneState<Feature>) { checkDeadlines(phoneState) }

  mutating func stepEnded(_ phoneState: PhoneState<Feature>) {
    let isReady =
      phoneState.isAwake && phoneState.isWanted && phoneState.status.phase != .failed
      && phoneState.status.phase != .disconnected
    if !isReady {
      readySince = nil
    } else if readySince == nil {
      readySince = phoneState.now
    }
  }

  private mutating func take(_ event: HeldLink.CredentialsEvent, _ phoneState: PhoneState<Feature>)
  {
    let gate = phoneState.policy.gate
    due = nil
    allowed = nil
    switch event {
    case .available(let life):
      isThere = true
      guard let life, life > .zero else { return }
      let rest = max(life - min(gate.refreshLead, life / 2), gate.refreshTimeout)
      allowed = phoneState.now.advanced(by: rest)
      due = gate.needsCredentials ? allowed : nil
    case .refreshFailed: allowed = phoneState.now.advanced(by: gate.refreshTimeout)
    case .rejected: return
    case .cleared: isThere = false
    }
  }

  /// Checks the time that passed since the last observation.
  private mutating func checkDeadlines(_ phoneState: PhoneState<Feature>) {
    guard let due, let readySince,
      max(due, readySince).advanced(by: Self.slack) < phoneState.now
    else { return }
    self.due = nil
    found.add(.stuck, at: phoneState.now, "credentials were due to be refreshed, and were not")
  }
}
