/// When to try again, and how often at most.
public struct RetryPolicy: Sendable, Hashable {
  /// Waits after failed tries of the first connection; its very first try is immediate and free.
  public var first: Schedule
  /// Waits before tries after an established link was lost; for one that was lost before it was
  /// stable, the longer schedule of both counts.
  public var reconnect: Schedule
  /// Every one of these must permit a try.
  public var windows: [AttemptWindow]
  /// Pauses all tries after many failures; `nil` for none.
  public var breaker: Breaker?
  /// When a link counts as recovered, so that the next loss starts a new series.
  public var stability: Stability
  /// Retries that follow a refusal or a close by the server are spread over this much.
  public var serverSpread: Duration
  /// The longest wish of a server (Retry-After, drain window) that is obeyed.
  public var longestWish: Duration

  public init(
    first: Schedule, reconnect: Schedule, windows: [AttemptWindow], breaker: Breaker? = nil,
    stability: Stability, serverSpread: Duration, longestWish: Duration
  ) {
    self.first = first
    self.reconnect = reconnect
    self.windows = windows
    self.breaker = breaker
    self.stability = stability
    self.serverSpread = serverSpread
    self.longestWish = longestWish
  }

  /// The part of a server's wish to be left alone that is obeyed: none below zero or above
  /// `longestWish`.
  public func obeyed(_ wish: Duration?) -> Duration? {
    wish.map { min(max($0, .zero), longestWish) }
  }
}

/// At most `attempts` tries within any stretch of `per`.
public struct AttemptWindow: Sendable, Hashable {
  /// How many tries; at least 1.
  public var attempts: Int
  /// The length of the stretch; more than zero.
  public var per: Duration

  public init(attempts: Int, per: Duration) {
    self.attempts = attempts
    self.per = per
  }
}

/// After `failures` failed tries within `within`, none is made for `pause`.
public struct Breaker: Sendable, Hashable {
  /// How many failures open it; at least 1.
  public var failures: Int
  /// The stretch in which they are counted.
  public var within: Duration
  /// How long nothing is tried.
  public var pause: Duration

  public init(failures: Int, within: Duration, pause: Duration) {
    self.failures = failures
    self.within = within
    self.pause = pause
  }
}

/// The count of failures starts again when the link stood for `after`, or brought valid data.
public struct Stability: Sendable, Hashable {
  /// How long the link must stand.
  public var after: Duration
  /// Whether one valid message proves the link before `after` is over.
  public var provenByData: Bool

  public init(after: Duration, provenByData: Bool) {
    self.after = after
    self.provenByData = provenByData
  }
}
