public import LinkCore

/// What a run is played with, beside its plan.
public struct Setup: Sendable {
  /// How the link behaves.
  public var policy: LinkPolicy
  /// The defect that is switched on.
  public var defect: Break?

  public init(policy: LinkPolicy = .messageStream, defect: Break? = nil) {
    self.policy = policy
    self.defect = defect
  }
}

/// Plays one plan with a client of a kind, before all judges.
///
/// - Parameter watch: Sees everything that happens, with how things stand right after it.
public func play<Client: StreamClient>(
  _ plan: Plan, _ setup: Setup = Setup(), as client: Client.Type,
  watch: (Happening, Facts) -> Void = { _, _ in }
) -> Outcome {
  Outcome(seed: plan.seed, server: plan.server, findings: [], counts: Counts(), digest: 0)
}
