/// What many runs amounted to; the same in whatever order they were added.
public struct RunSummary<Feature: SimulatedFeature>: Sendable, Hashable {
  /// Failures that are kept whole; further ones are only counted.
  public static var mostFailures: Int { 20 }

  /// Of all runs together.
  public private(set) var counts = RunCounts<Feature.Tally>()
  /// How many runs had a finding.
  public private(set) var failed = 0
  /// The failures with the lowest seeds, by seed and server.
  public private(set) var failures: [RunOutcome<Feature>] = []
  /// Made of the digests of all runs.
  public private(set) var digest: UInt64 = 0
  private var found: [Finding.Kind: Int] = [:]

  public init() {}

  /// How many findings of a kind there were.
  public subscript(kind: Finding.Kind) -> Int { found[kind] ?? 0 }

  /// How many findings there were.
  public var findings: Int { found.values.reduce(0, +) }

  /// Whether nothing was found.
  public var isClean: Bool { failed == 0 }

  /// Takes a run in.
  public mutating func add(_ outcome: RunOutcome<Feature>) {
    counts.add(outcome.counts)
    digest &+= outcome.digest
    guard !outcome.findings.isEmpty else { return }
    failed += 1
    for finding in outcome.findings { found[finding.kind, default: 0] += 1 }
    keep([outcome])
  }

  /// Takes what another summed up in.
  public mutating func add(_ other: RunSummary) {
    counts.add(other.counts)
    digest &+= other.digest
    failed += other.failed
    found.merge(other.found, uniquingKeysWith: +)
    keep(other.failures)
  }

  private mutating func keep(_ more: [RunOutcome<Feature>]) {
    guard !more.isEmpty else { return }
    failures += more
    failures.sort { ($0.seed, $0.server.rawValue) < ($1.seed, $1.server.rawValue) }
    failures.removeLast(max(0, failures.count - Self.mostFailures))
  }
}
