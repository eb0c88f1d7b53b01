extension HeldLink {
  /// Where a link stands. `mayTry`, `proceed`, `rest` and `end` are the ways between them.
  enum State: Sendable, Hashable {
    /// Not wanted, or ended by a rule. Exits: settling, preparing, opening, held, resting.
    case idle(LinkStatus.Reason?)
    /// Wanted, but the gate is closed. Exits: settling, preparing, opening, idle, failed.
    case held(Held)
    /// Waits for the network to settle or the app to come up. Exits: preparing, opening, held.
    case settling(Settling)
    /// Waits for the time of the next try. Exits: preparing, opening, held, settling, idle.
    case waiting(Waiting)
    /// Waits for credentials. Exits: preparing, opening, waiting, failed, held.
    case refreshing(Refreshing)
    /// The feature does what comes before a connect. Exits: opening, waiting, resting, failed.
    case preparing(Trying)
    /// The transport opens. Exits: establishing, ready, waiting, resting, refreshing, failed.
    case opening(Trying)
    /// Open, but the milestone is not reached. Exits: ready, waiting, resting, refreshing, failed.
    case establishing(Trying)
    /// Connected. Exits: waiting, settling, held, resting, refreshing, failed, idle.
    case ready(Ready)
    /// Not tried; the standby works. Exits: preparing, opening, establishing, held, failed, idle.
    case resting(LinkStatus.Reason)
    /// Ended until the user wants it again. Exits: preparing, opening, held, idle.
    case failed(LinkStatus.Reason)
  }

  struct Held: Sendable, Hashable {
    var obstacle: Obstacle
    var series: Series
  }

  struct Settling: Sendable, Hashable {
    var until: Instant
    var series: Series
  }

  struct Waiting: Sendable, Hashable {
    var until: Instant
    var series: Series
    /// What the wait follows.
    var failure: LinkFailure?
    /// Whether the try is put off only by the windows or the breaker.
    var isLimited: Bool

    var reason: LinkStatus.Reason? { isLimited ? .limited : failure.map { .failure($0) } }
  }

  struct Refreshing: Sendable, Hashable {
    var series: Series
    var failure: LinkFailure?
  }

  struct Trying: Sendable, Hashable {
    let attempt: AttemptID
    /// When the present step has taken too long.
    var until: Instant
    /// When the whole attempt has taken too long.
    var establishBy: Instant
    var series: Series
    /// Which credentials it uses.
    let generation: UInt64

    /// The same attempt; if it fails, the waits begin anew.
    var restarted: Trying {
      var trying = self
      trying.series = series.restarted
      return trying
    }
  }

  struct Ready: Sendable, Hashable {
    let attempt: AttemptID
    let generation: UInt64
    var liveness: Liveness
    /// When it became ready.
    let since: Instant
    /// When it counts as recovered; `nil` once it does.
    var stableAt: Instant?
    /// The series that it ended; goes on when it is lost before it is stable.
    var series: Series
    /// The window that the server announced for everyone's return.
    var drainWindow: Duration?

    init(_ trying: Trying, policy: LinkPolicy, at now: Instant) {
      attempt = trying.attempt
      generation = trying.generation
      liveness = Liveness(policy, at: now)
      since = now
      stableAt = now.advanced(by: policy.retry.stability.after)
      series = trying.series
    }
  }
}
