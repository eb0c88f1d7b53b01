public import LinkCore

/// What became of one run of the relay's world.
public struct RelayRun: Sendable, Hashable {
  /// The start of its chance.
  public var seed: UInt64
  /// What was broken, by time; at most 20.
  public var findings: [RelayFinding]
  /// What happened in it.
  public var counts: Counts
  /// Equal for equal runs, on every machine.
  public var digest: UInt64

  /// How often things happened.
  public struct Counts: Sendable, Hashable {
    /// Questions, those with an answer of a phone, and calls that were refused.
    public var questions = 0, answered = 0, refused = 0
    /// Tries of phones to connect, pushes, and visits without a socket.
    public var attempts = 0, pushes = 0, pulls = 0
    /// Planned things.
    public var actions = 0
    /// On the clock of the world.
    public var simulated = Duration.zero

    /// Nothing yet.
    public init() {}

    /// Adds those of another run.
    public mutating func add(_ other: Counts) {
      questions += other.questions
      answered += other.answered
      refused += other.refused
      attempts += other.attempts
      pushes += other.pushes
      pulls += other.pulls
      actions += other.actions
      simulated += other.simulated
    }
  }

  /// Plays one plan before the judges.
  ///
  /// - Parameter listen: Hears what happens, line by line.
  public static func play(
    _ plan: RelayPlan, _ defect: RelayBreak? = nil,
    listen: ((Instant, String) -> Void)? = nil
  ) -> RelayRun {
    var world = RelayWorld(plan, defect, listen: listen)
    world.play()
    world.counts.simulated = Instant.zero.duration(to: world.now)
    return RelayRun(
      seed: plan.seed, findings: world.judge.findings, counts: world.counts,
      digest: world.digest.value)
  }
}
