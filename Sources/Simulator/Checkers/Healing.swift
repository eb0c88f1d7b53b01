import LinkCore

/// Finds a world that does not become whole in calm, and a link that was left and still waits.
struct Healing<Feature: SimulatedFeature>: LinkChecker {
  private(set) var found = Findings()
  private var calm: Instant?
  private var isWhole = false
  private var isLeft = false

  mutating func told(_ role: InputRole, isLate: Bool, _ standing: Standing<Feature>) {
    if case .left = role { isLeft = true }
    if case .wanted = role { isLeft = false }
  }

  mutating func met(_ seen: Observation<Feature>, _ standing: Standing<Feature>) {
    if case .calm = seen { calm = standing.now }
  }

  mutating func settled(_ standing: Standing<Feature>) {
    guard let calm, !isWhole else { return }
    isWhole =
      standing.status.phase == .connected && Feature.isHealed(standing)
      && calm.duration(to: standing.now) <= standing.policy.calmLimit
  }

  mutating func conclude(_ standing: Standing<Feature>) {
    if calm != nil, !isWhole {
      let limit = standing.policy.calmLimit.components.seconds
      found.add(
        .unhealed, at: standing.now,
        "not whole within \(limit) s of calm: \(standing.status.words)"
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
