import LinkCore

/// Finds a world that does not become whole in calm, and a link that was left and still waits.
struct Healing<Feature: SimulatedFeature>: LinkChecker {
  private(set) var found = Findings()
  private var calm: Instant?
  /// A server asked before calm for no try before this.
  private var notBefore: Instant?
  /// The last attempt that began before calm: its refusal may come after it.
  private var lastAttempt: AttemptID?
  private var isWhole = false
  private var isLeft = false

  /// When everything must be whole; `nil` before calm.
  ///
  /// Calm does not shorten the time for which a server asked to be left alone.
  func limit(_ policy: LinkPolicy) -> Instant? {
    calm.map { max($0, notBefore ?? $0).advanced(by: policy.calmLimit) }
  }

  mutating func told(_ role: InputRole, isLate: Bool, _ standing: Standing<Feature>) {
    if case .left = role { isLeft = true }
    if case .wanted = role { isLeft = false }
    guard case .lost(let attempt, let failure) = role, !isLate,
      calm == nil || attempt == lastAttempt,
      let wish = standing.policy.retry.obeyed(failure.serverWish)
    else { return }
    let until = standing.now.advanced(by: wish)
    notBefore = max(notBefore ?? until, until)
  }

  mutating func asked(
    _ role: EffectRole, _ effect: Feature.Effect, _ standing: Standing<Feature>
  ) {
    if case .open(let attempt) = role, calm == nil { lastAttempt = attempt }
  }

  mutating func met(_ seen: Observation<Feature>, _ standing: Standing<Feature>) {
    if case .calm = seen { calm = standing.now }
    // A process that begins knows of no wish.
    if case .launched = seen { (notBefore, lastAttempt) = (nil, nil) }
  }

  mutating func settled(_ standing: Standing<Feature>) {
    if !isWhole, let until = Feature.restsUntil(standing) {
      notBefore = max(notBefore ?? until, until)
    }
    guard let limit = limit(standing.policy), !isWhole else { return }
    let isHeld = standing.status.phase == .connected || !standing.policy.holdsLink
    isWhole = isHeld && Feature.isHealed(standing) && standing.now <= limit
  }

  mutating func conclude(_ standing: Standing<Feature>) {
    if let calm, let limit = limit(standing.policy), !isWhole {
      let seconds = calm.duration(to: limit).components.seconds
      found.add(
        .unhealed, at: standing.now,
        "not whole within \(seconds) s of calm: \(standing.status.words)"
          + Feature.remains(standing))
    }
    if isLeft, let deadline = standing.deadline {
      found.add(
        .storm, at: standing.now, "was left, and still waits for \(deadline.nanoseconds) ns")
    }
  }
}

extension LinkPolicy {
  /// From calm until everything must be whole: the longest wait that the policy makes by itself (a
  /// probe of the slow standby), a series of tries after it, and 90 s for the work.
  var calmLimit: Duration {
    var wait = Duration.zero
    if case .poll(let poll) = standby {
      wait = max(poll.slowProbe, poll.probe) * (1 + poll.jitter)
    }
    return wait + retry.windows.map(\.per).reduce(.zero, max) + .seconds(90)
  }
}
