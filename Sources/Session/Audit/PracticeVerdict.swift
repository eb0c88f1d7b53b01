/// The result of reviewing one practice.
public enum PracticeVerdict: String, Sendable, Hashable, CaseIterable {
  case met, partly, not
  /// A practice that cannot be observed from outside.
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

/// The finding of one probe. A check throws a finding when it cannot continue.
public struct Finding: Error, Sendable, Hashable {
  /// The extent to which the expected behavior was observed.
  public enum Outcome: String, Sendable, Hashable, CaseIterable {
    case shown, partly, missing, unseen
  }

  /// The extent to which the expected behavior was observed.
  public var outcome: Outcome
  /// A text that states what was sent, what was received, and how long it took. It is never empty.
  public var evidence: String

  /// Creates a finding. Empty evidence is replaced with a default text.
  public init(_ outcome: Outcome, _ evidence: String) {
    self.outcome = outcome
    self.evidence = evidence.isEmpty ? "nothing was recorded" : evidence
  }

  static func shown(_ evidence: String) -> Finding { Finding(.shown, evidence) }
  static func partly(_ evidence: String) -> Finding { Finding(.partly, evidence) }
  static func missing(_ evidence: String) -> Finding { Finding(.missing, evidence) }
  static func unseen(_ evidence: String) -> Finding { Finding(.unseen, evidence) }

  /// Returns the worst of several findings on the same subject. If several are equally bad, returns
  /// the first one.
  ///
  /// If all findings are good, the result combines their evidence. If there are none, the result is
  /// `unseen`.
  static func worst(_ findings: [Finding]) -> Finding {
    for outcome in [Outcome.missing, .partly, .unseen] {
      if let found = findings.first(where: { $0.outcome == outcome }) { return found }
    }
    guard !findings.isEmpty else { return .unseen("it was not looked for") }
    return .shown(findings.map(\.evidence).joined(separator: "; "))
  }
}

/// The rule that derives a practice's verdict from the findings of its probes.
public enum VerdictRule: Sendable, Hashable {
  /// Each probe covers one part of the practice. A part that is known to be missing counts even if
  /// another part cannot be observed. The practice is met only if all parts are observed.
  case all
  /// One probe with a good finding is enough.
  case any

  /// Returns the verdict. Without probes, the verdict is `unseen`.
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
