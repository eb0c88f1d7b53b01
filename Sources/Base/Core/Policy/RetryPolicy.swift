/// The schedules and limits of attempts.
public struct RetryPolicy: Sendable, Hashable {
  /// The waits after failed attempts of the first connection. The first attempt itself is
  /// immediate.
  public var first: Schedule
  /// The waits before attempts after a lost link.
  ///
  /// If the link was lost before it was stable, the longer of both schedules is used.
  public var reconnect: Schedule
  /// The windows. Each of them must allow an attempt.
  public var windows: [AttemptWindow]
  /// A pause of all attempts after many failures; `nil` for none.
  public var breaker: Breaker?
  /// The rule that decides when a link is stable, so that the next loss starts a new series.
  public var stability: Stability
  /// The jitter window of retries that follow a refusal or a close by the server.
  public var serverJitter: Duration
  /// The longest retry-after or drain window that a link honors.
  public var maxRetryAfter: Duration

  public init(
    first: Schedule, reconnect: Schedule, windows: [AttemptWindow], breaker: Breaker? = nil,
    stability: Stability, serverJitter: Duration, maxRetryAfter: Duration
  ) {
    self.first = first
    self.reconnect = reconnect
    self.windows = windows
    self.breaker = breaker
    self.stability = stability
    self.serverJitter = serverJitter
    self.maxRetryAfter = maxRetryAfter
  }

  /// Returns the part of a server's retry-after that is honored: at least zero, at most
  /// `maxRetryAfter`.
  public func honored(_ retryAfter: Duration?) -> Duration? {
    retryAfter.map { min(max($0, .zero), maxRetryAfter) }
  }
}

/// A limit of `attempts` attempts within any time window of length `per`.
public struct AttemptWindow: Sendable, Hashable {
  /// The number of attempts. It must be at least 1.
  public var attempts: Int
  /// The length of the window. It must be more than zero.
  public var per: Duration

  public init(attempts: Int, per: Duration) {
    self.attempts = attempts
    self.per = per
  }
}

/// A pause of length `pause` after `failures` failed attempts within `within`.
public struct Breaker: Sendable, Hashable {
  /// The number of failures that start the pause. It must be at least 1.
  public var failures: Int
  /// The time window in which failures are counted.
  public var within: Duration
  /// The length of the pause.
  public var pause: Duration

  public init(failures: Int, within: Duration, pause: Duration) {
    self.failures = failures
    self.within = within
    self.pause = pause
  }
}

/// The rule that decides when a link is stable: after it lasted for `after`, or when it receives
/// valid data.
public struct Stability: Sendable, Hashable {
  /// The time after which the link counts as stable.
  public var after: Duration
  /// Whether one valid message makes the link stable before `after` is over.
  public var provenByData: Bool

  public init(after: Duration, provenByData: Bool) {
    self.after = after
    self.provenByData = provenByData
  }
}
