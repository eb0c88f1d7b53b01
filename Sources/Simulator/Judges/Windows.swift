import LinkCore
import MessageStream

/// Tries to connect stay inside every window of the policy.
struct Windows {
  private(set) var found = Findings()
  /// When this run of the process tried, oldest first; as many as the largest window needs.
  private var tries: [Instant] = []

  init() {}
}

extension Windows: Watch {
  mutating func asked(_ effect: StreamModel.Effect, _ facts: Facts) {
    guard case .open = effect else { return }
    let windows = facts.settings.policy.retry.windows
    for window in windows where tries.count >= window.attempts {
      guard tries[tries.count - window.attempts].advanced(by: window.per) > facts.now else {
        continue
      }
      let detail = "more than \(window.attempts) tries within \(window.per)"
      found.add(.storm, at: facts.now, detail)
    }
    tries.append(facts.now)
    let kept = windows.map(\.attempts).max() ?? 0
    if tries.count > kept { tries.removeFirst(tries.count - kept) }
  }

  mutating func met(_ happening: Happening, _ facts: Facts) {
    if case .launched = happening { tries = [] }
  }
}
