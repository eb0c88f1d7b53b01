import LinkCore

/// What the phone must notice and get over, and how long its policy lets it take.
enum HandoverTrouble: String {
  case routeMoves, linkDown, linkUp, carrierLost, blackHole, natForgotten, addressChanges
  case socketsKilled

  /// The longest times that a policy allows.
  struct Bounds {
    /// From the trouble to the phone's first status that is not connected.
    var noticed: Duration
    /// From the trouble, or from its end where it ends, to a whole timeline on a live link.
    var whole: Duration
  }

  /// What two busy cores may take for what a policy has no number for: starting the tools that
  /// make the trouble, posting, printing, fetching what was missed.
  static let work = Duration.seconds(2)

  /// The kernel tells of a lost or found carrier at once or at its next turn, once a second
  /// (linkwatch in net/core/link_watch.c).
  static let carrierNews = Duration.seconds(1)

  /// With the rig's settings: settle 0.5 s, a try 2 s, silence 3 s, waits of at most 1.6 s.
  func bounds(_ policy: LinkPolicy) -> Bounds {
    let work = Self.work
    // One try on a path that works.
    let attempt = policy.establish.timeout
    let silence = policy.liveness.silence ?? .zero
    let schedule = policy.retry.reconnect
    let waits = (0..<(schedule.attempts ?? 0)).compactMap {
      schedule.bounds(before: $0)?.upperBound
    }
    switch self {
    case .routeMoves, .linkDown, .linkUp, .addressChanges:
      // The kernel tells at once: 0 + 2 = 2 s. Then it settles and one try works:
      // 2 + 0.5 + 2 + 2 = 6.5 s.
      return Bounds(noticed: work, whole: work + policy.gate.settle + attempt + work)
    case .carrierLost:
      // Told within a second: 1 + 2 = 3 s. From the carrier's return: told, settled, tried:
      // 1 + 0.5 + 2 + 2 = 5.5 s.
      return Bounds(
        noticed: Self.carrierNews + work,
        whole: Self.carrierNews + policy.gate.settle + attempt + work)
    case .blackHole:
      // A whole silence: 3 + 2 = 5 s. From the path's return: a try that hangs ends by its own
      // time, the longest wait follows, the next try works: 2 + 1.6 + 2 + 2 = 7.6 s.
      return Bounds(
        noticed: silence + work, whole: attempt + (waits.max() ?? .zero) + attempt + work)
    case .natForgotten:
      // A whole silence: 3 + 2 = 5 s. New connections work all the while, so the first try does,
      // after the first wait: 5 + 0 + 2 + 2 = 9 s.
      return Bounds(
        noticed: silence + work, whole: silence + work + (waits.first ?? .zero) + attempt + work)
    case .socketsKilled:
      // The socket fails at once: 0 + 2 = 2 s; the first try works: 2 + 0 + 2 + 2 = 6 s.
      return Bounds(noticed: work, whole: work + (waits.first ?? .zero) + attempt + work)
    }
  }
}
