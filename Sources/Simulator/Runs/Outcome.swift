/// What came of one run.
public struct Outcome: Sendable, Hashable, Codable {
  public var seed: UInt64
  public var server: ServerKind
  public var findings: [Finding]
  public var counts: Counts
  /// A hash over everything that happened: equal for equal runs.
  public var digest: UInt64

  public init(
    seed: UInt64, server: ServerKind, findings: [Finding], counts: Counts, digest: UInt64
  ) {
    self.seed = seed
    self.server = server
    self.findings = findings
    self.counts = counts
    self.digest = digest
  }
}

/// What a run, or many runs together, amounted to.
public struct Counts: Sendable, Hashable, Codable {
  public var runs = 0
  /// Time that passed in the worlds, calm included.
  public var simulated = Duration.zero
  /// Time in which the link was wanted and its process was awake.
  public var wanted = Duration.zero
  public var accepted = 0
  public var shown = 0
  public var attempts = 0
  public var requests = 0
  public var kills = 0
  /// Inputs and ticks of the client.
  public var steps = 0
  /// How often each kind of action happened, by its name.
  public var actions: [String: Int] = [:]

  public init() {}

  /// Takes the counts of another run in.
  public mutating func add(_ other: Counts) {
    runs += other.runs
    simulated += other.simulated
    wanted += other.wanted
    accepted += other.accepted
    shown += other.shown
    attempts += other.attempts
    requests += other.requests
    kills += other.kills
    steps += other.steps
    actions.merge(other.actions, uniquingKeysWith: +)
  }
}
