/// The result of an audit, with one entry for each practice.
public struct AuditReport: Sendable, Hashable {
  /// The audited server, in human-readable form.
  public var server: String
  /// The entries, in the order of the practices.
  public var entries: [Entry]

  /// The result for one practice.
  public struct Entry: Sendable, Hashable {
    /// The practice.
    public var practice: Practice
    /// The verdict.
    public var verdict: PracticeVerdict
    /// A text that states what was sent, what was received, how long it took, and what cannot be
    /// observed. It is never empty.
    public var evidence: String
    /// The probes that found a gap.
    public var gaps: [Probe]
  }

  /// Counts of entries, by verdict.
  public struct Counts: Sendable, Hashable {
    /// The number of practices that are met.
    public var met = 0
    /// The number of practices that are partly met.
    public var partly = 0
    /// The number of practices that are not met.
    public var not = 0
    /// The number of practices that cannot be observed from outside.
    public var unseen = 0
    /// The number of gaps. A probe is counted once for each practice that it affects.
    public var gaps = 0

    /// Counts a list of entries.
    public init(_ entries: [Entry]) {
      for entry in entries {
        switch entry.verdict {
        case .met: met += 1
        case .partly: partly += 1
        case .not: not += 1
        case .unseen: unseen += 1
        }
        gaps += entry.gaps.count
      }
    }

    /// The number of practices.
    public var all: Int { met + partly + not + unseen }
    /// The number of practices that could be judged.
    public var reviewed: Int { met + partly + not }
    /// The number of recommendations. There is one for each gap.
    public var recommendations: Int { gaps }
  }

  /// Creates a report whose verdicts follow from the findings of the probes.
  public init(server: String, finding: (Probe) -> Finding) {
    self.server = server
    var findings: [Probe: Finding] = [:]
    for probe in Probe.allCases { findings[probe] = finding(probe) }
    entries = Practice.all.map { practice in
      Self.entry(practice) { findings[$0] ?? .unseen("it was not looked for") }
    }
  }

  private static func entry(_ practice: Practice, _ finding: (Probe) -> Finding) -> Entry {
    let checked = practice.checked.map { ($0, finding($0)) }
    let isVoid = checked.contains { practice.essential.contains($0) && $1.outcome == .missing }
    let verdict = isVoid ? .not : practice.rule.verdict(checked.map(\.1.outcome))
    var lines = checked.map { evidence($0, $1, isChecked: true) }
    lines += practice.observed.map { evidence($0, finding($0), isChecked: false) }
    if !practice.limit.isEmpty { lines.append("Not visible from outside: \(practice.limit).") }
    let missing = checked.filter { [.missing, .partly].contains($0.1.outcome) }.map(\.0)
    return Entry(
      practice: practice, verdict: verdict, evidence: lines.joined(separator: " "),
      gaps: verdict == .partly || verdict == .not ? missing : [])
  }

  private static func evidence(_ probe: Probe, _ finding: Finding, isChecked: Bool) -> String {
    let label = isChecked ? "\(probe.rawValue) (\(finding.outcome.rawValue))" : "observed"
    let text = finding.evidence
    return "\(label): \(text)\(text.hasSuffix(".") ? "" : ".")"
  }

  /// The counts over all entries.
  public var counts: Counts { Counts(entries) }

  /// Returns the entries of a category.
  public func entries(of category: PracticeCategory) -> [Entry] {
    entries.filter { $0.practice.category == category }
  }
}
