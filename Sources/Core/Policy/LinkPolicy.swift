/// Everything that makes one link behave unlike another: plain data, valid by construction.
///
/// Take a preset and change single numbers with `setting(_:)`; an invalid combination throws one
/// `PolicyError` that lists every problem.
public struct LinkPolicy: Sendable, Hashable {
  private let parts: Shared<Parts>

  private struct Parts: Sendable, Hashable {
    let name: String
    let retry: RetryPolicy
    let gate: GatePolicy
    let liveness: LivenessPolicy
    let establish: EstablishPolicy
    let standby: StandbyPolicy
    let verdicts: [FailureClass: Verdict]
    let holdsLink: Bool
  }

  /// What it is called in tables; presets are named after their feature.
  public var name: String { parts.value.name }
  /// When to try again, and how often.
  public var retry: RetryPolicy { parts.value.retry }
  /// When trying is allowed at all.
  public var gate: GatePolicy { parts.value.gate }
  /// What proves life, and what its absence leads to.
  public var liveness: LivenessPolicy { parts.value.liveness }
  /// What counts as connected, and how long it may take.
  public var establish: EstablishPolicy { parts.value.establish }
  /// What stays armed between tries.
  public var standby: StandbyPolicy { parts.value.standby }
  /// One verdict for each class of failure.
  public var verdicts: [FailureClass: Verdict] { parts.value.verdicts }

  /// Whether it is the policy of a link. Work that holds none, such as uploads, is tried again by
  /// `retry` alone: nothing else of it is shown or can be changed.
  public var holdsLink: Bool { parts.value.holdsLink }

  /// Checks all parts together.
  ///
  /// - Parameters:
  ///   - verdicts: rows that differ from `.retry`.
  ///   - holdsLink: false for work that is only tried again.
  /// - Throws: one error with every problem found.
  public init(
    name: String, retry: RetryPolicy, gate: GatePolicy, liveness: LivenessPolicy,
    establish: EstablishPolicy, standby: StandbyPolicy, verdicts: [FailureClass: Verdict],
    holdsLink: Bool = true
  ) throws(PolicyError) {
    var whole: [FailureClass: Verdict] = [:]
    for row in FailureClass.allCases {
      whole[row] = verdicts[row] ?? .retry
    }
    parts = Shared(
      Parts(
        name: name, retry: retry, gate: gate, liveness: liveness, establish: establish,
        standby: standby, verdicts: whole, holdsLink: holdsLink))
    let problems = self.problems
    guard problems.isEmpty else { throw PolicyError(problems: problems) }
  }

  /// What this policy does about `failure`.
  public func verdict(on failure: LinkFailure) -> Verdict {
    let verdict = verdicts[failure.failureClass] ?? .retry
    // A server that names a time for a retry still offers the link.
    return verdict == .standbySlow && failure.serverWish != nil ? .retrySpread : verdict
  }
}

/// A value that many hold: copies of it are copies of a reference.
final class Shared<Value: Sendable & Hashable>: Sendable, Hashable {
  let value: Value

  init(_ value: Value) {
    self.value = value
  }

  static func == (left: Shared, right: Shared) -> Bool {
    left === right || left.value == right.value
  }

  func hash(into hasher: inout Hasher) {
    value.hash(into: &hasher)
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
