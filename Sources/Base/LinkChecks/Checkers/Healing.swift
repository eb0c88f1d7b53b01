import HoldfastCore

/// A checker that verifies that the world recovers fully in the calm phase, and that a link has no
/// deadline after the user has left.
struct Healing<Feature: ObservedFeature>: LinkChecker {
  private(set) var found = Findings()
  private var calm: Instant?
  /// The earliest time at which a server permits an attempt, according to a response before the
  /// calm phase.
  private var notBefore: Instant?
  /// The last attempt that began before the calm phase. Its refusal may arrive later.
  private var lastAttempt: AttemptID?
  private var isWhole = false
  private var isLeft = false

  /// Returns the time by which everything must be complete; `nil` before the calm phase.
  ///
  /// The calm phase does not shorten a server's `Retry-After`.
  func limit(_ policy: LinkPolicy) -> Instant? {
    calm.map { max($0, notBefore ?? $0).advanced(by: policy.calmLimit) }
  }

  mutating func received(_ role: InputRole, isLate: Bool, _ phoneState: PhoneState<Feature>) {
    if case .left = role { isLeft = true }
    if case .wanted = role { isLeft = false }
    guard case .lost(let attempt, let failure) = role, !isLate,
      calm == nil || attempt == lastAttempt,
      let retryAfter = phoneState.policy.retry.honored(failure.retryAfter)
    else { return }
    let until = phoneState.now.advanced(by: retryAfter)
    notBefore = max(notBefore ?? until, until)
  }

  mutating func requested(
    _ role: EffectRole, _ effect: Feature.Effect, _ phoneState: PhoneState<Feature>
  ) {
    if case .open(let attempt) = role, calm == nil { lastAttempt = attempt }
  }

  mutating func handle(_ seen: Observation<Feature>, _ phoneState: PhoneState<Feature>) {
    if case .calm = seen { calm = phoneState.now }
    // A new process has no stored `Retry-After`.
    if case .launched = seen { (notBefore, lastAttempt) = (nil, nil) }
  }

  mutating func stepEnded(_ phoneState: PhoneState<Feature>) {
    if !isWhole, let until = Feature.restsUntil(phoneState) {
      notBefore = max(notBefore ?? until, until)
    }
    guard let limit = limit(phoneState.policy), !isWhole else { return }
    let isHeld = phoneState.status.phase == .connected || !phoneState.policy.holdsLink
    isWhole = isHeld && Feature.isHealed(phoneState) && phoneState.now <= limit
  }

  mutating func conclude(_ phoneState: PhoneState<Feature>) {
    if let calm, let limit = limit(phoneState.policy), !isWhole {
      let seconds = calm.duration(to: limit).components.seconds
      found.add(
        .unhealed, at: phoneState.now,
        "not whole within \(seconds) s of calm: \(phoneState.status)"
          + Feature.remains(phoneState))
    }
    if isLeft, let deadline = phoneState.deadline {
      found.add(
        .storm, at: phoneState.now, "was left, and still waits for \(deadline.nanoseconds) ns")
    }
  }
}

extension LinkPolicy {
  /// The time from the start of the calm phase until everything must be complete.
  ///
  /// It is the sum of the policy's longest wait (a probe of the slow standby), a subsequent series
  /// of attempts, and 90 s for the remaining work.
  var calmLimit: Duration {
    var wait = Duration.zero
    if case .poll(let poll) = standby {
      wait = max(poll.slowProbe, poll.probe) * (1 + poll.jitter)
    }
    return wait + retry.windows.map(\.per).reduce(.zero, max) + .seconds(90)
  }
}
