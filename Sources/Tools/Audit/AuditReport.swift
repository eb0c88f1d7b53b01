/// The result of an audit: one entry for each practice, in order.
public struct AuditReport: Sendable, Hashable {
  /// The audited server, in human-readable form.
  public var server: String
  /// The entries, in the order of the practices.
  public var entries: [Entry]

  /// One practice and its result.
  public struct Entry: Sendable, Hashable {
    /// The practice.
    public var practice: Practice
    /// The verdict.
    public var verdict: PracticeVerdict
    /// What was sent, what came back, how long it took, and what cannot be seen; never empty.
    public var evidence: String
    /// The probes that found something missing.
    public var gaps: [Probe]
  }

  /// The counts of a list of entries.
  public struct Counts: Sendable, Hashable {
    /// The number of practices that are met.
    public var met = 0
    /// The number of practices that are partly met.
    public var partly = 0
    /// The number of practices that are not met.
    public var not = 0
    /// The number of practices that cannot be seen from outside.
    public var unseen = 0
    /// The number of gaps. A probe counts once for each practice that it determines.
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
    /// The number of practices with a verdict.
    public var reviewed: Int { met + partly + not }
    /// The number of recommendations: one for each gap.
    public var recommendations: Int { gaps }
  }

  /// Creates a report that judges every practice by the findings of its probes.
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

  /// The counts of all entries.
  public var counts: Counts { Counts(entries) }

  /// Returns the entries of one category.
  public func entries(of category: PracticeCategory) -> [Entry] {
    entries.filter { $0.practice.category == category }
  }
}
