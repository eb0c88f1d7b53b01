import LinkCore
import Testing

@testable import LinkSimulator

/// Phones, a backend and assistants in one world.
struct RelayWorldTests {
  @Test(arguments: 1...100)
  func `every question has one answer or one honest error`(seed: UInt64) {
    let run = RelayRun.play(.drawn(seed: seed))
    #expect(run.findings == [])
    #expect(run.counts.questions > 10)
  }

  @Test(arguments: RelayBreak.allCases)
  func `each defect is caught within its seeds, where nothing is found without it`(
    defect: RelayBreak
  ) {
    #expect(defect.proof(from: 1) != nil)
  }

  @Test func `the same seed makes the same run`() {
    let plan = RelayPlan.drawn(seed: 7)
    #expect(RelayRun.play(plan) == RelayRun.play(plan))
    #expect(RelayRun.play(plan).digest != RelayRun.play(.drawn(seed: 8)).digest)
  }

  @Test func `much happens in a hundred runs`() {
    var counts = RelayRun.Counts()
    for seed in UInt64(1)...100 { counts.add(RelayRun.play(.drawn(seed: seed)).counts) }
    #expect(counts.answered > counts.questions / 2)
    #expect(counts.refused > 100)
    #expect(counts.pulls > 10)
    #expect(counts.pushes >= counts.pulls)
  }
}
