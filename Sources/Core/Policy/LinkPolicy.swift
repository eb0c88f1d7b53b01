/// Everything that makes one link behave unlike another: plain data, valid by construction.
///
/// Take a preset and change single numbers with `setting(_:)`; an invalid combination throws one
/// `PolicyError` that lists every problem.
public struct LinkPolicy: Sendable, Hashable {
  /// What it is called in tables; presets are named after their feature.
  public let name: String
  /// When to try again, and how often.
  public let retry: RetryPolicy
  /// When trying is allowed at all.
  public let gate: GatePolicy
  /// What proves life, and what its absence leads to.
  public let liveness: LivenessPolicy
  /// What counts as connected, and how long it may take.
  public let establish: EstablishPolicy
  /// What stays armed between tries.
  public let standby: StandbyPolicy
  /// One verdict for each class of failure.
  public let verdicts: [FailureClass: Verdict]

  /// Checks all parts together.
  ///
  /// - Parameter verdicts: rows that differ from `.retry`.
  /// - Throws: one error with every problem found.
  public init(
    name: String, retry: RetryPolicy, gate: GatePolicy, liveness: LivenessPolicy,
    establish: EstablishPolicy, standby: StandbyPolicy, verdicts: [FailureClass: Verdict]
  ) throws(PolicyError) {
    var whole: [FailureClass: Verdict] = [:]
    for row in FailureClass.allCases {
      whole[row] = verdicts[row] ?? .retry
    }
    self.name = name
    self.retry = retry
    self.gate = gate
    self.liveness = liveness
    self.establish = establish
    self.standby = standby
    self.verdicts = whole
    let problems = self.problems
    guard problems.isEmpty else { throw PolicyError(problems: problems) }
  }

  /// How much of a server's wish to be left alone is obeyed.
  public func obeyed(_ wish: Duration?) -> Duration? {
    wish.map { min(max($0, .zero), retry.longestWish) }
  }

  /// What this policy does about `failure`.
  public func verdict(on failure: LinkFailure) -> Verdict {
    verdicts[failure.failureClass] ?? .retry
  }
}

/// Why a policy cannot be: every problem, in the order of the policy's keys.
public struct PolicyError: Error, Sendable, Hashable, CustomStringConvertible {
  /// One sentence each; never empty.
  public let problems: [String]

  public init(problems: [String]) {
    self.problems = problems
  }

  public var description: String {
    "invalid policy:" + problems.map { "\n  - \($0)" }.joined()
  }
}
