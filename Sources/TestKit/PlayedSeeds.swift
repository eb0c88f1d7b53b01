import Foundation

/// The seeds that a test with random input plays.
///
/// By default, a test plays the first tenth of its seeds. With `HOLDFAST_SEEDS=all`, which
/// `make nightly PART=suites` sets, it plays all of them.
package enum PlayedSeeds {
  /// Whether all seeds are played, and tests run at their full size.
  package static let areAll = ProcessInfo.processInfo.environment["HOLDFAST_SEEDS"] == "all"

  /// Returns all seeds of a range, or the first tenth of them.
  package static func of(_ seeds: ClosedRange<UInt64>) -> ClosedRange<UInt64> {
    if areAll { return seeds }
    return seeds.lowerBound...seeds.lowerBound + UInt64(seeds.count - 1) / 10
  }
}
