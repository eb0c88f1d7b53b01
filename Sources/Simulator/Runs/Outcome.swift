/// What came of one run.
public struct Outcome: Sendable, Hashable, Codable {
  /// The seed of the plan.
  public var seed: UInt64
  /// Which contract the server spoke.
  public var server: ServerKind
  /// Every promise that was broken, in the order of the judges.
  public var findings: [Finding]
  /// What the run amounted to.
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
  /// Plans that were played.
  public var runs = 0
  /// Time that passed in the worlds, calm included.
  public var simulated = Duration.zero
  /// Time in which the link was wanted and its process was awake.
  public var wanted = Duration.zero
  /// Messages that the server took.
  public var accepted = 0
  /// Messages that the client showed, in each run of its process.
  public var shown = 0
  /// Tries to connect.
  public var attempts = 0
  /// Requests for pages, and posts.
  public var requests = 0
  /// Ends of the process.
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
