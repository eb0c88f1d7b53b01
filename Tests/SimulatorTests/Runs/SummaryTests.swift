import HoldfastCore
import HoldfastLinkChecks
import HoldfastMessageChecks
import HoldfastWorlds
import Testing

struct SummaryTests {
  private let outcomes = (1...50).flatMap { seed in
    ServerKind.allCases.map { server in
      var counts = Counts()
      counts.runs = 1
      counts.simulated = .seconds(3600)
      counts.wanted = .seconds(1800)
      counts.attempts = 3
      counts.events = ["reset": seed]
      let findings =
        seed.isMultiple(of: 2)
        ? [Finding(.lost, at: .second(1), "a"), Finding(.stuck, at: .second(2), "b")] : []
      return Outcome(
        seed: UInt64(seed), server: server, findings: findings, counts: counts,
        digest: UInt64(seed) &* 0x9E37_79B9_7F4A_7C15)
    }
  }

  @Test func `counts every run and every finding`() {
    let summary = outcomes.reduce(into: Summary()) { $0.add($1) }
    #expect(summary.counts.runs == 100)
    #expect(summary.counts.events == ["reset": 2550])
    #expect(summary.failed == 50)
    #expect(summary[.lost] == 50)
    #expect(summary[.late] == 0)
    #expect(summary.counts.attemptsPerHour == 6)
    #expect(!summary.isClean)
    #expect(Summary().isClean)
    #expect(Counts().attemptsPerHour == nil)
  }

  @Test func `a summary does not depend on the order or the number of parts`() {
    let whole = outcomes.reduce(into: Summary()) { $0.add($1) }
    for count in 1...7 {
      var parts = [Summary](repeating: Summary(), count: count)
      var generator = RandomSource(seed: UInt64(count))
      for outcome in outcomes.shuffled(using: &generator) {
        parts[Int.random(in: 0..<count, using: &generator)].add(outcome)
      }
      #expect(parts.reduce(into: Summary()) { $0.add($1) } == whole)
    }
  }

  @Test func `keeps the failures with the lowest seeds`() {
    let summary = outcomes.reversed().reduce(into: Summary()) { $0.add($1) }
    #expect(summary.failures.count == Summary.mostFailures)
    #expect(summary.failures.map(\.seed) == (1...10).flatMap { [2 * $0, 2 * $0] })
    #expect(summary.failures.prefix(2).map(\.server) == [.plain, .positions])
  }
}
