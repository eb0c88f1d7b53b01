import Foundation

/// The seeds that a test with random input plays.
///
/// Such a test plays a tenth of its seeds, and all of them with `HOLDFAST_SEEDS=all`, as
/// `make nightly PART=suites` does with optimized modules.
package enum PlayedSeeds {
  /// Returns all seeds of a range, or the first tenth of them.
  package static func of(_ seeds: ClosedRange<UInt64>) -> ClosedRange<UInt64> {
    if ProcessInfo.processInfo.environment["HOLDFAST_SEEDS"] == "all" { return seeds }
    return seeds.lowerBound...seeds.lowerBound + UInt64(seeds.count - 1) / 10
  }
}
