/// Counts what was done lately, so that no stretch of time holds too much of it.
struct Windows: Sendable, Hashable {
  private let policy: LinkPolicy
  /// When it was done, oldest first; as often as the largest window needs.
  private var times: [Instant] = []

  init(_ policy: LinkPolicy) {
    self.policy = policy
  }

  private var limits: [AttemptWindow] { policy.retry.windows }

  mutating func note(at now: Instant) {
    times.append(now)
    let kept = limits.map(\.attempts).max() ?? 0
    if times.count > kept { times.removeFirst(times.count - kept) }
  }

  /// The earliest instant from `now` that every window allows.
  func earliest(at now: Instant) -> Instant {
    var earliest = now
    for window in limits where times.count >= window.attempts {
      let blocking = times[times.count - window.attempts]
      earliest = max(earliest, blocking.advanced(by: window.per))
    }
    return earliest
  }
}
