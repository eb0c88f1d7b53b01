import HoldfastCore

/// A fault that the phone must detect and recover from, and the time that its policy allows.
enum HandoverTrouble: String {
  case routeMoves, linkDown, linkUp, carrierLost, blackHole, natForgotten, addressChanges
  case socketsKilled

  /// The maximum times that a policy allows.
  struct Bounds {
    /// The time from the fault to the phone's first status other than connected.
    var noticed: Duration
    /// The time until the timeline is complete and the link is live. It starts at the fault, or at
    /// the fault's end if it has one.
    var whole: Duration
  }

  /// The time that busy cores may need for all work whose duration the policy does not set.
  ///
  /// The work consists of starting the tools that cause the fault, posting, printing, and fetching
  /// missed messages.
  static let work = Duration.seconds(60)

  /// The maximum delay of a carrier report.
  ///
  /// The kernel reports a lost or restored carrier either immediately or on the next run of
  /// linkwatch, which runs once per second (net/core/link_watch.c).
  static let carrierNews = Duration.seconds(1)

  /// Returns the bounds of this fault.
  ///
  /// With the rig's settings, debouncing takes 0.5 s, an attempt 2 s, silence 3 s, and a wait at
  /// most 1.6 s.
  func bounds(_ policy: LinkPolicy) -> Bounds {
    let work = Self.work
    // An attempt over a working path.
    let attempt = policy.establish.timeout
    let silence = policy.liveness.silence ?? .zero
    let schedule = policy.retry.reconnect
    let waits = (0..<(schedule.attempts ?? 0)).compactMap {
      schedule.bounds(before: $0)?.upperBound
    }
    switch self {
    case .routeMoves, .linkDown, .linkUp, .addressChanges:
      // The kernel reports the change immediately. Then the network is debounced, and one attempt
      // succeeds.
      return Bounds(noticed: work, whole: work + policy.gate.debounce + attempt + work)
    case .carrierLost:
      // The loss is reported within a second. The return of the carrier is followed by the report,
      // debouncing and one attempt.
      return Bounds(
        noticed: Self.carrierNews + work,
        whole: Self.carrierNews + policy.gate.debounce + attempt + work)
    case .blackHole:
      // The full silence time-out passes. After the path returns, a hanging attempt times out, the
      // longest wait follows, and the next attempt succeeds.
      return Bounds(
        noticed: silence + work, whole: attempt + (waits.max() ?? .zero) + attempt + work)
    case .natForgotten:
      // The full silence time-out passes. New connections work throughout, so the attempt after the
      // first wait succeeds.
      return Bounds(
        noticed: silence + work, whole: silence + work + (waits.first ?? .zero) + attempt + work)
    case .socketsKilled:
      // The socket fails immediately, and the first attempt succeeds.
      return Bounds(noticed: work, whole: work + (waits.first ?? .zero) + attempt + work)
    }
  }
}
