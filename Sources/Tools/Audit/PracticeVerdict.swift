/// The result of the review of one practice.
public enum PracticeVerdict: String, Sendable, Hashable, CaseIterable {
  case met, partly, not
  /// Not visible from outside.
  case unseen

  /// The words of the review's `Status` line.
  public var status: String {
    switch self {
    case .met: "Implemented"
    case .partly: "Partially Implemented"
    case .not: "Not Implemented"
    case .unseen: "Not Visible From Outside"
    }
  }
}

/// What one probe found; thrown where a judgment cannot go on.
public struct Finding: Error, Sendable, Hashable {
  /// How much of what was looked for is there.
  public enum Outcome: String, Sendable, Hashable, CaseIterable {
    case shown, partly, missing, unseen
  }

  /// How much is there.
  public var outcome: Outcome
  /// What was sent, what came back, and how long it took; never empty.
  public var evidence: String

  /// A finding; empty evidence is replaced by a text that says so.
  public init(_ outcome: Outcome, _ evidence: String) {
    self.outcome = outcome
    self.evidence = evidence.isEmpty ? "nothing was recorded" : evidence
  }

  static func shown(_ evidence: String) -> Finding { Finding(.shown, evidence) }
  static func partly(_ evidence: String) -> Finding { Finding(.partly, evidence) }
  static func missing(_ evidence: String) -> Finding { Finding(.missing, evidence) }
  static func unseen(_ evidence: String) -> Finding { Finding(.unseen, evidence) }

  /// The worst of several tries of one thing, the first one of equals; what was seen of each of
  /// them if all were good. `unseen` for none.
  static func worst(_ findings: [Finding]) -> Finding {
    for outcome in [Outcome.missing, .partly, .unseen] {
      if let found = findings.first(where: { $0.outcome == outcome }) { return found }
    }
    guard !findings.isEmpty else { return .unseen("it was not looked for") }
    return .shown(findings.map(\.evidence).joined(separator: "; "))
  }
}

/// How the findings of a practice's probes make its verdict.
public enum VerdictRule: Sendable, Hashable {
  /// Each probe is a part of the practice. What is visibly missing counts even if another part
  /// cannot be seen; a practice is met only if all of its parts are seen.
  case all
  /// One of the probes is enough.
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
