import LinkCore

/// The phases of a server from its start to the end of its drain.
enum ServerMode: Sendable, Equatable {
  /// Exits: draining.
  case serving
  /// New work is refused; what is open may still end well. Exits: leaving.
  case draining(within: Duration, closeAt: Instant, giveUpAt: Instant)
  /// The close frames were sent. Exits: finished.
  case leaving(within: Duration, giveUpAt: Instant)
  /// Nothing is left to wait for.
  case finished

  /// The next instant at which the drain goes on.
  var deadline: Instant? {
    switch self {
    case .serving, .finished: nil
    case .draining(_, let closeAt, let giveUpAt): min(closeAt, giveUpAt)
    case .leaving(_, let giveUpAt): giveUpAt
    }
  }

  /// The time over which clients are told to spread their return; `nil` while it is not known.
  var window: Duration? {
    switch self {
    case .serving, .finished: nil
    case .draining(let window, _, _), .leaving(let window, _): window
    }
  }

  /// Whether the drain has left and waits for nothing any more at `now`.
  func givesUp(at now: Instant) -> Bool {
    switch self {
    case .serving, .draining, .finished: false
    case .leaving(_, let giveUpAt): now >= giveUpAt
    }
  }

  /// Begins a drain at `now` that sends the close frames after `grace` and ends after `limit`;
  /// returns false if one has begun before.
  mutating func drain(
    within window: Duration, at now: Instant, grace: Duration, limit: Duration
  ) -> Bool {
    guard self == .serving else { return false }
    self = .draining(
      within: window, closeAt: now.advanced(by: grace), giveUpAt: now.advanced(by: limit))
    return true
  }

  /// Goes on to `leaving` when that is due; returns the window if the close frames are to be sent.
  mutating func leave(at now: Instant) -> Duration? {
    guard case .draining(let window, let closeAt, let giveUpAt) = self,
      now >= min(closeAt, giveUpAt)
    else { return nil }
    self = .leaving(within: window, giveUpAt: giveUpAt)
    return window
  }

  /// Ends a drain; returns false if none is under way.
  mutating func finish() -> Bool {
    switch self {
    case .serving, .finished: return false
    case .draining, .leaving:
      self = .finished
      return true
    }
  }
}
