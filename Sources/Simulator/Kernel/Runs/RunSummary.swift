public import HoldfastLinkChecks

/// A summary of many runs. It does not depend on the order in which the runs are added.
public struct RunSummary<Feature: SimulatedFeature>: Sendable, Hashable {
  /// The maximum number of failures that are stored in full. Further failures are only counted.
  public static var mostFailures: Int { 20 }

  /// The counts of all runs.
  public private(set) var counts = RunCounts<Feature.Counter>()
  /// The number of runs that have findings.
  public private(set) var failed = 0
  /// The failures with the lowest seeds, ordered by seed and server.
  public private(set) var failures: [RunOutcome<Feature>] = []
  /// A sum of the digests of all runs.
  public private(set) var digest: UInt64 = 0
  private var found: [Finding.Kind: Int] = [:]

  public init() {}

  /// The number of findings of a kind.
  public subscript(kind: Finding.Kind) -> Int { found[kind] ?? 0 }

  /// The number of all findings.
  public var findings: Int { found.values.reduce(0, +) }

  /// Whether no run has a finding.
  public var isClean: Bool { failed == 0 }

  /// Adds a run.
  public mutating func add(_ outcome: RunOutcome<Feature>) {
    counts.add(outcome.counts)
    digest &+= outcome.digest
    guard !outcome.findings.isEmpty else { return }
    failed += 1
    for finding in outcome.findings { found[finding.kind, default: 0] += 1 }
    store([outcome])
  }

  /// Adds another summary.
  public mutating func add(_ other: RunSummary) {
    counts.add(other.counts)
    digest &+= other.digest
    failed += other.failed
    found.merge(other.found, uniquingKeysWith: +)
    store(other.failures)
  }

  private mutating func store(_ more: [RunOutcome<Feature>]) {
    guard !more.isEmpty else { return }
    failures += more
    failures.sort { ($0.seed, $0.server.rawValue) < ($1.seed, $1.server.rawValue) }
    failures.removeLast(max(0, failures.count - Self.mostFailures))
  }
}

extension RunSummary: CustomStringConvertible {
  /// The number of runs, and the first findings of each failure in `failures`, one line each.
  ///
  /// A line begins with the seed, with which the same run can be played again.
  public var description: String {
    let lines = failures.flatMap { outcome -> [String] in
      let server = Feature.Server.isChoice ? ", \(outcome.server.rawValue)" : ""
      return outcome.findings.prefix(3).map { "seed \(outcome.seed)\(server): \($0)" }
    }
    return (["\(counts.runs) runs, \(failed) with findings"] + lines).joined(separator: "\n")
  }
}
