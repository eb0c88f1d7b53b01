public import LinkCore

/// The relay between assistants and phones as a value.
public struct RelayServer: Machine {
  let policy: RelayServerPolicy

  /// What was counted since the start; `GET /metrics` renders it.
  public internal(set) var metrics = RelayMetrics()

  /// A relay that begins at `now`; `life` goes into the ids of its questions, so give each run its own.
  public init(policy: RelayServerPolicy = RelayServerPolicy(), life: String, at now: Instant) {
    self.policy = policy.workable
  }

  /// Takes one input; answers what to do, in order.
  public mutating func handle(_ input: Input, at now: Instant) -> [Effect] {
    []
  }

  /// Lets pings, deadlines, leases and the drain come due.
  public mutating func tick(at now: Instant) -> [Effect] {
    []
  }

  /// The next instant at which something may be due; early at most, never late.
  public var deadline: Instant? { nil }
}
/// What it counted.
public struct RelayMetrics: Sendable, Hashable, Codable {
  /// Nothing counted yet.
  public init() {}
}
