import LinkCore

/// Finds tries to connect outside the windows of the policy.
struct AttemptWindows<Feature: SimulatedFeature>: LinkChecker {
  private(set) var found = Findings()
  /// When this run of the process tried, oldest first; as many as the largest window needs.
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
