package import HoldfastCore

/// The state that all servers share: the current time, the effects so far, and the phase of the
/// drain.
package struct ServerFrame<Effect: Sendable>: Sendable {
  /// The time of the input that is being handled.
  package private(set) var now: Instant
  package private(set) var mode = ServerMode.serving
  /// The effects of the current input. The list is empty between inputs.
  private var effects: [Effect] = []

  /// Creates the frame of a server that starts at `now`.
  package init(at now: Instant) {
    self.now = now
  }

  /// Whether the server accepts new work.
  package var isServing: Bool { mode == .serving }

  /// Whether a drain has ended.
  package var isFinished: Bool { mode == .finished }

  /// Starts to handle an input or a deadline at `now`.
  package mutating func begin(at now: Instant) {
    self.now = now
  }

  /// Appends an effect.
  package mutating func emit(_ effect: Effect) {
    effects.append(effect)
  }

  /// Appends effects in order.
  package mutating func emit(_ more: [Effect]) {
    effects += more
  }

  /// Removes and returns the effects of the current input.
  package mutating func takeEffects() -> [Effect] {
    defer { effects = [] }
    return effects
  }

  // MARK: The drain

  /// Starts a drain that sends the close frames after `grace` and ends after `limit`.
  ///
  /// Returns false if a drain has already started.
  package mutating func drain(within window: Duration, grace: Duration, limit: Duration) -> Bool {
    mode.drain(within: window, at: now, grace: grace, limit: limit)
  }

  /// Advances to `leaving` if that is due, and returns the time over which clients reconnect.
  package mutating func leave() -> Duration? {
    mode.leave(at: now)
  }

  /// Whether the time limit of a drain has passed.
  package var givesUp: Bool { mode.givesUp(at: now) }

  /// Ends a drain, if one is under way, and adds `effect`.
  package mutating func finish(with effect: Effect? = nil) {
    if mode.finish(), let effect { effects.append(effect) }
  }
}

extension ServerFrame: SelfChecking {
  package func check(_ check: inout InvariantCheck) {
    check.require(effects.isEmpty, "server frame: no effect is pending between two inputs")
  }
}

/// The policy of a server. Lower bounds of its values prevent busy loops and deadlocks.
package protocol ServerPolicy: Sendable {
  /// The durations that must be at least 1 ms.
  static var times: [WritableKeyPath<Self, Duration>] { get }
  /// The counts that must be at least 1.
  static var counts: [WritableKeyPath<Self, Int>] { get }
}

extension ServerPolicy {
  /// The policy with all values raised to their lower bounds.
  package var workable: Self {
    var policy = self
    for time in Self.times { policy[keyPath: time] = max(policy[keyPath: time], .milliseconds(1)) }
    for count in Self.counts { policy[keyPath: count] = max(policy[keyPath: count], 1) }
    return policy
  }
}
