import LinkCore

/// A fault that the phone must notice and recover from, and the time that its policy allows.
enum HandoverTrouble: String {
  case routeMoves, linkDown, linkUp, carrierLost, blackHole, natForgotten, addressChanges
  case socketsKilled

  /// The longest times that a policy allows.
  struct Bounds {
    /// The time from the fault to the phone's first status that is not connected.
    var noticed: Duration
    /// The time from the fault, or from its end if it has one, to a complete timeline on a live
    /// link.
    var whole: Duration
  }

  /// The time that two busy cores may need for everything without a number in the policy.
  ///
  /// That is starting the tools that cause the fault, posting, printing, and fetching missed
  /// messages.
  static let work = Duration.seconds(2)

  /// The longest delay of a carrier report.
  ///
  /// The kernel reports a lost or restored carrier at once or at its next turn, once a second
  /// (linkwatch in net/core/link_watch.c).
  static let carrierNews = Duration.seconds(1)

  /// Returns the bounds of this fault.
  ///
  /// With the rig's settings: settle 0.5 s, an attempt 2 s, silence 3 s, waits of at most 1.6 s.
  func bounds(_ policy: LinkPolicy) -> Bounds {
    let work = Self.work
    // One attempt on a path that works.
    let attempt = policy.establish.timeout
    let silence = policy.liveness.silence ?? .zero
    let schedule = policy.retry.reconnect
    let waits = (0..<(schedule.attempts ?? 0)).compactMap {
      schedule.bounds(before: $0)?.upperBound
    }
    switch self {
    case .routeMoves, .linkDown, .linkUp, .addressChanges:
      // The kernel reports the change at once: 0 + 2 = 2 s. Then the network settles and one
      // attempt succeeds: 2 + 0.5 + 2 + 2 = 6.5 s.
      return Bounds(noticed: work, whole: work + policy.gate.debounce + attempt + work)
    case .carrierLost:
      // The loss is reported within a second: 1 + 2 = 3 s. From the carrier's return: report,
      // settling, attempt: 1 + 0.5 + 2 + 2 = 5.5 s.
      return Bounds(
        noticed: Self.carrierNews + work,
        whole: Self.carrierNews + policy.gate.debounce + attempt + work)
    case .blackHole:
      // One full silence: 3 + 2 = 5 s. From the path's return: a hanging attempt times out, the
      // longest wait follows, the next attempt succeeds: 2 + 1.6 + 2 + 2 = 7.6 s.
      return Bounds(
        noticed: silence + work, whole: attempt + (waits.max() ?? .zero) + attempt + work)
    case .natForgotten:
      // One full silence: 3 + 2 = 5 s. New connections work throughout, so the first attempt
      // succeeds after the first wait: 5 + 0 + 2 + 2 = 9 s.
      return Bounds(
        noticed: silence + work, whole: silence + work + (waits.first ?? .zero) + attempt + work)
    case .socketsKilled:
      // The socket fails at once: 0 + 2 = 2 s. The first attempt succeeds: 2 + 0 + 2 + 2 = 6 s.
      return Bounds(noticed: work, whole: work + (waits.first ?? .zero) + attempt + work)
    }
  }
}
