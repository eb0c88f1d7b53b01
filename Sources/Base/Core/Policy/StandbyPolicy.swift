/// The standby that remains active when attempts are exhausted.
public enum StandbyPolicy: Sendable, Hashable {
  /// No standby: the user sees an error and must act.
  case none
  /// Another source of data that is polled, with probes of the link.
  case poll(PollPolicy)
  /// The OS's own queued connect, which never ends.
  ///
  /// It is armed whenever the link is wanted, allowed and not open, even during attempts and waits.
  /// The app's own timers do not run while the system has suspended the app.
  case queuedConnect(QueuePolicy)
}

/// The rules for arming a queued connect again.
public struct QueuePolicy: Sendable, Hashable {
  /// The wait before the connect is armed again after it failed.
  public var rearm: Duration
  /// The time after arming within which the end of the link counts as a fast failure.
  ///
  /// The end of a link that was ready does not count, unless the previous link was also lost before
  /// it was stable.
  public var fastFailure: Duration
  /// The shortest time between two arms of the connect after a fast failure. It prevents a loop if
  /// a peer accepts and drops every link.
  public var floor: Duration
  /// The upper limit of `floor` while the app is in the background.
  ///
  /// The system suspends an app about 10 s after an event of its radio (TN3115). The timer that
  /// arms the connect again would then not run.
  public var background: Duration
  /// The time for which the OS ignores a peer after this side closed a link with no work left.
  ///
  /// Otherwise, a peer that still advertises would be connected again at once and never sleep.
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

  /// Returns the instant at which the connect may be armed again, after it was armed at `last` and
  /// failed at `now`.
  func next(after last: Instant?, brokeAt now: Instant, in lifecycle: AppLifecycle) -> Instant {
    guard let last, last.duration(to: now) < fastFailure else { return now.advanced(by: rearm) }
    let least = lifecycle == .background ? min(floor, background) : floor
    return last.advanced(by: max(least, rearm))
  }
}

/// The rules for polls in standby and for probes of the link.
public struct PollPolicy: Sendable, Hashable {
  /// The time between polls.
  ///
  /// The first poll is immediate or, after a failure, made within `RetryPolicy.serverJitter`. The
  /// second poll follows at a random time within one interval.
  public var interval: Duration
  /// The jitter of each wait as a fraction of the wait, so that a fleet does not poll in step.
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
