import Foundation
import HoldfastLinkChecks
import HoldfastTestKit
import HoldfastWorlds
import Testing

/// Tests of the simulated world of a cluster.
@Suite(.timeLimit(.minutes(60))) struct ClusterWorldTests {
  /// The seeds. `HOLDFAST_CLUSTER_SEEDS=10000` plays that many.
  private static let seeds =
    ProcessInfo.processInfo.environment["HOLDFAST_CLUSTER_SEEDS"].flatMap(UInt64.init)
    .map { 1...max($0, 20) } ?? PlayedSeeds.of(1...200)

  @Test func `a cluster keeps its promises in many runs, in which everything happens`() {
    var (losses, epochs, holders) = (0, 0, Set<Int>())
    for seed in Self.seeds {
      var world = ClusterWorld(seed: seed)
      #expect(world.run() == [], "seed \(seed)")
      let counts = world.counts
      #expect(counts.acknowledged > 50 && counts.delivered > 100 && counts.reads > 20)
      #expect(counts.facts > 20)
      (losses, epochs) = (losses + counts.losses, epochs + counts.epochs)
      holders.formUnion(counts.holders)
    }
    #expect(losses > 0 && epochs > 0)
    #expect(holders == [0, 1, 2])
  }

  @Test(arguments: ClusterDefect.allCases)
  func `each deliberate defect of a cluster is caught`(defect: ClusterDefect) {
    let caught = (1...40 as ClosedRange<UInt64>).first { seed in
      var world = ClusterWorld(seed: seed, defect: defect)
      return !defect.findings.isDisjoint(with: world.run())
    }
    #expect(caught != nil)
  }

  @Test func `each promise of a cluster is broken by a deliberate defect`() {
    var broken: Set<ClusterFinding> = []
    for defect in ClusterDefect.allCases {
      // A listener sees another event in 2 of 100 runs, and is accepted without a lease in 1 of 100.
      for seed in 1...120 as ClosedRange<UInt64> {
        var world = ClusterWorld(seed: seed, defect: defect)
        broken.formUnion(world.run())
        if defect.findings.isSubset(of: broken) { break }
      }
    }
    #expect(broken == Set(ClusterFinding.allCases))
  }

  @Test func `the same seed produces the same run of a cluster`() {
    var worlds = [7, 7, 8].map { ClusterWorld(seed: $0) }
    for index in worlds.indices { _ = worlds[index].run() }
    #expect(worlds[0].counts == worlds[1].counts)
    #expect(worlds[0].counts != worlds[2].counts)
  }
}
