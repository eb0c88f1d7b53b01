public import HoldfastCore
public import HoldfastLinkChecks

/// The parameters of a run, in addition to its plan.
public struct RunSetup<Feature: SimulatedFeature>: Sendable {
  /// The policy of the link.
  public var policy: LinkPolicy
  /// The active defect, if any.
  public var defect: Feature.Defect?

  /// Creates a setup. The defaults are the feature's policy and no defect.
  public init(policy: LinkPolicy = Feature.policy, defect: Feature.Defect? = nil) {
    self.policy = policy
    self.defect = defect
  }
}

/// The result of one run.
public struct RunOutcome<Feature: SimulatedFeature>: Sendable, Hashable {
  /// The seed of the plan.
  public var seed: UInt64
  /// The server with which the plan was run.
  public var server: Feature.Server
  /// All findings, in the order of the checkers.
  public var findings: [Finding]
  /// The counters of the run.
  public var counts: RunCounts<Feature.Counter>
  /// A hash of all events of the run. Equal runs have equal hashes.
  public var digest: UInt64

  public init(
    seed: UInt64, server: Feature.Server, findings: [Finding], counts: RunCounts<Feature.Counter>,
    digest: UInt64
  ) {
    self.seed = seed
    self.server = server
    self.findings = findings
    self.counts = counts
    self.digest = digest
  }

  /// The kinds of the findings, each listed once, in the order of the feature's list.
  public var kinds: [Finding.Kind] {
    Feature.kinds.filter { kind in findings.contains { $0.kind == kind } }
  }
}

/// The counts of one or more runs.
public struct RunCounts<Counter: RunCounter>: Sendable, Hashable {
  /// The number of plans that were run.
  public var runs = 0
  /// The time that passed in the worlds, including the calm phase.
  public var simulated = Duration.zero
  /// The time for which the link was wanted and its process was awake.
  public var wanted = Duration.zero
  /// The number of connection attempts.
  public var attempts = 0
  /// The number of requests outside the sockets.
  public var requests = 0
  /// The number of processes that ended on phones.
  public var kills = 0
  /// The number of inputs and ticks of the models.
  public var steps = 0
  /// The number of events of each kind, by name.
  public var events: [String: Int] = [:]
  private var own: [Counter: Int] = [:]

  public init() {}

  /// The feature's own counts.
  public subscript(counter: Counter) -> Int {
    get { own[counter] ?? 0 }
    set { own[counter] = newValue }
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
    events.merge(other.events, uniquingKeysWith: +)
    own.merge(other.own, uniquingKeysWith: +)
  }

  /// The number of connection attempts per hour for which the link was wanted; `nil` if it never
  /// was.
  public var attemptsPerHour: Double? {
    wanted > .zero ? Double(attempts) * (.seconds(3600) / wanted) : nil
  }
}
