import LinkCore
import LinkWire
import Testing

@testable import MessageStream

/// Random hours of trouble, from seeds.
struct TortureTests {
  @Test(arguments: Shop.Kind.allCases)
  func `the same seed makes the same run`(kind: Shop.Kind) {
    var first = Torture(kind, seed: 42)
    var second = Torture(kind, seed: 42)
    #expect(first.run() == second.run())
    #expect(first.world.ledger.updates == second.world.ledger.updates)
    #expect(first.world.fetches == second.world.fetches)
    #expect(first.world.now == second.world.now)
  }

  @Test(arguments: Shop.Kind.allCases, 0..<6)
  func `after any trouble everything is shown once and in order`(kind: Shop.Kind, part: Int) {
    var failures: [String] = []
    for seed in UInt64(part * 50)..<UInt64(part * 50 + 50) {
      var torture = Torture(kind, seed: seed)
      let problems = torture.run()
      if !problems.isEmpty { failures.append("seed \(seed): \(problems)") }
    }
    #expect(
      failures == [], "\(failures.count) of 50: \(failures.prefix(6).joined(separator: "\n"))")
  }
}
