/// What stays armed when tries are exhausted.
public enum StandbyPolicy: Sendable, Hashable {
  /// Nothing: an error that the user sees, and acts on.
  case none
  /// Another way to the data, asked now and then, and a way back up.
  case poll(PollPolicy)
  /// The OS's own queued connect, which never ends; armed again this long after it broke.
  case queuedConnect(rearm: Duration)
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
