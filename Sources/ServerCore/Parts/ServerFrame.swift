import LinkCore

/// The state that every server has: the moment of the present input, the effects that it asks for
/// so far, and the phase of its drain.
struct ServerFrame<Effect: Sendable>: Sendable {
  /// The moment of the input that is being handled.
  private(set) var now: Instant
  private(set) var mode = ServerMode.serving
  /// Empty between inputs.
  private var effects: [Effect] = []

  /// A frame of a server that begins at `now`.
  init(at now: Instant) {
    self.now = now
  }

  /// Whether the server takes new work.
  var isServing: Bool { mode == .serving }

  /// Whether a drain has ended.
  var isFinished: Bool { mode == .finished }

  /// Begins to handle what comes, or what is due, at `now`.
  mutating func begin(at now: Instant) {
    self.now = now
  }

  /// Asks for an effect, behind those that were asked for before.
  mutating func emit(_ effect: Effect) {
    effects.append(effect)
  }

  /// Asks for effects in their order.
  mutating func emit(_ more: [Effect]) {
    effects += more
  }

  /// Hands out the effects of the present input.
  mutating func takeEffects() -> [Effect] {
    defer { effects = [] }
    return effects
  }

  // MARK: The drain

  /// Begins a drain that leaves after `grace` and ends after `limit`; returns false if one has
  /// begun before.
  mutating func drain(within window: Duration, grace: Duration, limit: Duration) -> Bool {
    mode.drain(within: window, at: now, grace: grace, limit: limit)
  }

  /// Begins to leave if that is due; returns the time over which clients spread their return.
  mutating func leave() -> Duration? {
    mode.leave(at: now)
  }

  /// Whether the time of a drain is up.
  var givesUp: Bool { mode.givesUp(at: now) }

  /// Ends a drain, if one is under way, and asks for `effect`.
  mutating func finish(with effect: Effect? = nil) {
    if mode.finish(), let effect { effects.append(effect) }
  }
}

extension ServerFrame: SelfChecking {
  func check(_ check: inout InvariantCheck) {
    check.require(effects.isEmpty, "server frame: nothing is asked for between two inputs")
  }
}

/// A policy of a server, whose smallest numbers keep it from spinning or standing still.
protocol ServerPolicy: Sendable {
  /// The times that are at least 1 ms.
  static var times: [WritableKeyPath<Self, Duration>] { get }
  /// The counts that are at least 1.
  static var counts: [WritableKeyPath<Self, Int>] { get }
}

extension ServerPolicy {
  /// The policy with numbers that a server can work with.
  var workable: Self {
    var policy = self
    for time in Self.times { policy[keyPath: time] = max(policy[keyPath: time], .milliseconds(1)) }
    for count in Self.counts { policy[keyPath: count] = max(policy[keyPath: count], 1) }
    return policy
  }
}
