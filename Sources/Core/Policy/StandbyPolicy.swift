/// The standby that remains active when attempts are exhausted.
public enum StandbyPolicy: Sendable, Hashable {
  /// No standby: the user sees an error and must act.
  case none
  /// Another source of data that is polled, with probes of the link.
  case poll(PollPolicy)
  /// The OS's own queued connect, which never ends.
  ///
  /// It is armed whenever the link is wanted, allowed and not open, also during attempts and waits,
  /// since the app's own timers do not run while the system has suspended it.
  case queuedConnect(QueuePolicy)
}

/// The rules for arming a queued connect again.
public struct QueuePolicy: Sendable, Hashable {
  /// The wait before the connect is armed again after it broke.
  public var rearm: Duration
  /// The time after arming within which an end counts as a fast failure.
  ///
  /// A link that was ready does not count as one, unless the previous link was also lost before it
  /// was stable.
  public var fastFailure: Duration
  /// The shortest time between arming the connect twice after a fast failure, so that a peer that
  /// accepts and drops every link cannot cause a loop.
  public var floor: Duration
  /// The longest such wait in the background.
  ///
  /// The system suspends an app about 10 s after an event of its radio (TN3115), and with it the
  /// timer that would arm again.
  public var background: Duration
  /// The time for which the OS ignores a peer after this side closed a link with no work left.
  ///
  /// A peer that still advertises would otherwise be connected again at once and never sleep.
  public var rest: Duration

  public init(
    rearm: Duration, fastFailure: Duration, floor: Duration, background: Duration = .seconds(8),
    rest: Duration = .seconds(30)
  ) {
    self.rearm = rearm
    self.fastFailure = fastFailure
    self.floor = floor
    self.background = background
    self.rest = rest
  }

  /// Returns when the connect may be armed after it was armed at `last` and broke at `now`.
  func next(after last: Instant?, brokeAt now: Instant, in lifecycle: Lifecycle) -> Instant {
    guard let last, last.duration(to: now) < fastFailure else { return now.advanced(by: rearm) }
    let least = lifecycle == .background ? min(floor, background) : floor
    return last.advanced(by: max(least, rearm))
  }
}

/// The rules for polls in standby and for probes of the link.
public struct PollPolicy: Sendable, Hashable {
  /// The time between polls.
  ///
  /// The first poll is immediate, or after a failure within `RetryPolicy.serverJitter`. The second
  /// one follows anywhere in an interval.
  public var interval: Duration
  /// The jitter of each wait as a share of it, so that a fleet does not poll in step.
  public var jitter: Double
  /// The time between probes of the link.
  public var probe: Duration
  /// The time between probes after the server refused the link itself (503, 404).
  public var slowProbe: Duration

  public init(interval: Duration, jitter: Double, probe: Duration, slowProbe: Duration) {
    self.interval = interval
    self.jitter = jitter
    self.probe = probe
    self.slowProbe = slowProbe
  }
}
