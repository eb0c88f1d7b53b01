/// The result of the review of one practice.
public enum PracticeVerdict: String, Sendable, Hashable, CaseIterable {
  case met, partly, not
  /// Not visible from outside.
  case unseen

  /// The text of the review's `Status` line.
  public var status: String {
    switch self {
    case .met: "Implemented"
    case .partly: "Partially Implemented"
    case .not: "Not Implemented"
    case .unseen: "Not Visible From Outside"
    }
  }
}

/// The finding of one probe. It is thrown where a judgment cannot continue.
public struct Finding: Error, Sendable, Hashable {
  /// The extent to which the expected behavior was found.
  public enum Outcome: String, Sendable, Hashable, CaseIterable {
    case shown, partly, missing, unseen
  }

  /// The extent to which the expected behavior was found.
  public var outcome: Outcome
  /// What was sent, what came back, and how long it took. The text is never empty.
  public var evidence: String

  /// Creates a finding. Empty evidence is replaced by a default text.
  public init(_ outcome: Outcome, _ evidence: String) {
    self.outcome = outcome
    self.evidence = evidence.isEmpty ? "nothing was recorded" : evidence
  }

  static func shown(_ evidence: String) -> Finding { Finding(.shown, evidence) }
  static func partly(_ evidence: String) -> Finding { Finding(.partly, evidence) }
  static func missing(_ evidence: String) -> Finding { Finding(.missing, evidence) }
  static func unseen(_ evidence: String) -> Finding { Finding(.unseen, evidence) }

  /// Returns the worst of several findings about the same thing, and the first of equal ones.
  ///
  /// If all are good, the result has the evidence of each. If there are none, the result is
  /// `unseen`.
  static func worst(_ findings: [Finding]) -> Finding {
    for outcome in [Outcome.missing, .partly, .unseen] {
      if let found = findings.first(where: { $0.outcome == outcome }) { return found }
    }
    guard !findings.isEmpty else { return .unseen("it was not looked for") }
    return .shown(findings.map(\.evidence).joined(separator: "; "))
  }
}

/// The rule that turns the findings of a practice's probes into its verdict.
public enum VerdictRule: Sendable, Hashable {
  /// Each probe is a part of the practice. A part that is visibly missing counts even if another
  /// one cannot be seen. A practice is met only if all of its parts are seen.
  case all
  /// One of the probes suffices.
  case any

  /// Returns the verdict; `unseen` for no probes.
  public func verdict(_ outcomes: [Finding.Outcome]) -> PracticeVerdict {
    let hasShown = outcomes.contains(.shown) || outcomes.contains(.partly)
    let hasGap = outcomes.contains(.missing) || outcomes.contains(.partly)
    let hasUnseen = outcomes.contains(.unseen)
    switch self {
    case .all:
      if outcomes.isEmpty { return .unseen }
      if hasGap { return hasShown ? .partly : .not }
      return hasUnseen ? .unseen : .met
    case .any:
      if outcomes.contains(.shown) { return .met }
      if hasShown { return .partly }
      return hasUnseen || outcomes.isEmpty ? .unseen : .not
    }
  }
}
