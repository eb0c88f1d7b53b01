import LinkCore

/// Finds more in memory than the feature's bounds allow.
struct Bounds<Feature: SimulatedFeature>: LinkChecker {
  private(set) var found = Findings()
  /// Each bound is reported once in a run of the process.
  private var told: [String] = []

  mutating func met(_ seen: Observation<Feature>, _ standing: Standing<Feature>) {
    if case .launched = seen { told = [] }
  }

  mutating func settled(_ standing: Standing<Feature>) {
    guard standing.isAwake else { return }
    Feature.checkBounds(standing) { what, count, bound in
      guard !told.contains(what) else { return }
      told.append(what)
      found.add(.unbounded, at: standing.now, "\(what): \(count), and the bound is \(bound)")
    }
  }
}
