public import LinkCore

/// What a run is played with, beside its plan.
public struct RunSetup<Feature: SimulatedFeature>: Sendable {
  /// How the link behaves.
  public var policy: LinkPolicy
  /// The defect that is switched on.
  public var defect: Feature.Defect?

  /// The policy of the feature, and no defect, by default.
  public init(policy: LinkPolicy = Feature.policy, defect: Feature.Defect? = nil) {
    self.policy = policy
    self.defect = defect
  }
}

/// The result of one run.
public struct RunOutcome<Feature: SimulatedFeature>: Sendable, Hashable {
  /// The seed of the plan.
  public var seed: UInt64
  /// The server that it was played against.
  public var server: Feature.Server
  /// Every promise that was broken, in the order of the checkers.
  public var findings: [Finding]
  /// What the run amounted to.
  public var counts: RunCounts<Feature.Tally>
  /// A hash over everything that happened: equal for equal runs.
  public var digest: UInt64

  public init(
    seed: UInt64, server: Feature.Server, findings: [Finding], counts: RunCounts<Feature.Tally>,
    digest: UInt64
  ) {
    self.seed = seed
    self.server = server
    self.findings = findings
    self.counts = counts
    self.digest = digest
  }

  /// The kinds of what was found, each once, in the order of the feature's list.
  public var kinds: [Finding.Kind] {
    Feature.kinds.filter { kind in findings.contains { $0.kind == kind } }
  }
}

/// What a run, or many runs together, amounted to.
public struct RunCounts<Tally: RunTally>: Sendable, Hashable {
  /// Plans that were played.
  public var runs = 0
  /// Time that passed in the worlds, calm included.
  public var simulated = Duration.zero
  /// Time in which the link was wanted and its process was awake.
  public var wanted = Duration.zero
  /// Tries to connect.
  public var attempts = 0
  /// Requests beside the sockets.
  public var requests = 0
  /// Ends of processes on phones.
  public var kills = 0
  /// Inputs and ticks of the models.
  public var steps = 0
  /// How often each kind of act happened, by its name.
  public var acts: [String: Int] = [:]
  private var own: [Tally: Int] = [:]

  public init() {}

  /// What the feature counts.
  public subscript(tally: Tally) -> Int {
    get { own[tally] ?? 0 }
    set { own[tally] = newValue }
  }

  /// Adds the counts of another run.
  public mutating func add(_ other: RunCounts) {
    runs += other.runs
    simulated += other.simulated
    wanted += other.wanted
    attempts += other.attempts
    requests += other.requests
    kills += other.kills
    steps += other.steps
    acts.merge(other.acts, uniquingKeysWith: +)
    own.merge(other.own, uniquingKeysWith: +)
  }

  /// Tries to connect in an hour in which the link was wanted; `nil` when it never was.
  public var attemptsPerHour: Double? {
    wanted > .zero ? Double(attempts) * (.seconds(3600) / wanted) : nil
  }
}
