/// What stays armed when tries are exhausted.
public enum StandbyPolicy: Sendable, Hashable {
  /// Nothing: an error that the user sees, and acts on.
  case none
  /// Another way to the data, asked now and then, and a way back up.
  case poll(PollPolicy)
  /// The OS's own queued connect, which never ends. It is armed whenever the link is wanted,
  /// allowed and not open: through tries and waits too, since the app's own timers do not run while
  /// the system has suspended it.
  case queuedConnect(QueuePolicy)
}

/// When a queued connect is armed again.
public struct QueuePolicy: Sendable, Hashable {
  /// The wait before it is armed again after it broke.
  public var rearm: Duration
  /// What ends sooner than this after it was armed has failed fast. A link that was ready has not,
  /// unless the one before it was shorter than the stability time, too.
  public var fastFailure: Duration
  /// After a fast failure it is armed again no sooner than this after it was armed last, so that a
  /// peer that takes and drops every link cannot make it spin.
  public var floor: Duration
  /// The longest such wait while the app is in background: the system suspends an app about 10 s
  /// after an event of its radio (TN3115), and with it the timer that would arm again.
  public var background: Duration
  /// How long the OS leaves a peer alone after this side closed a link on which nothing was left to
  /// do: one that still advertises would be connected again at once, and never sleep.
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

  /// When it may be armed, if it was armed last at `last` and broke.
  func next(after last: Instant?, brokeAt now: Instant, in lifecycle: Lifecycle) -> Instant {
    guard let last, last.duration(to: now) < fastFailure else { return now.advanced(by: rearm) }
    let least = lifecycle == .background ? min(floor, background) : floor
    return last.advanced(by: max(least, rearm))
  }
}

/// How standby polls, and when it probes the link again.
public struct PollPolicy: Sendable, Hashable {
  /// Between polls; the first comes at once, after a failure within `RetryPolicy.serverSpread`,
  /// and the second anywhere in an interval.
  public var interval: Duration
  /// Each wait is spread by this share of itself, so that a fleet does not poll in step.
  public var jitter: Double
  /// Between probes of the link.
  public var probe: Duration
  /// Between probes after the server said that it does not offer the link (503, 404).
  public var slowProbe: Duration

  public init(interval: Duration, jitter: Double, probe: Duration, slowProbe: Duration) {
    self.interval = interval
    self.jitter = jitter
    self.probe = probe
    self.slowProbe = slowProbe
  }
}
