import LinkCore
import LinkSimulator
import Session
import Testing

/// The world of sessions.
@Suite(.timeLimit(.minutes(3))) struct SessionWorldTests {
  @Test(arguments: SessionsFeature.presets)
  func `sessions keep their promises in many lives`(preset: DayPreset) {
    for seed in UInt64(1)...2 {
      let outcome = SessionsFeature.play(.drawn(preset, seed: seed))
      #expect(outcome.findings == [], "seed \(seed)")
    }
  }

  @Test func `a server that dies while the program runs runs it for no prompt twice`() {
    var plan = SessionsFeature.Plan(seed: 3, acts: [], length: .seconds(120))
    plan.numbers.work = .seconds(20)
    for second in stride(from: Int64(10), to: 60, by: 5) {
      plan.acts.append(PlannedAct(at: .seconds(second), Act(.says, Int(second / 5 % 2))))
    }
    for second in [Int64(21), 33, 46] {
      plan.acts.append(
        PlannedAct(at: .seconds(second), Act(.kill, for: .seconds(2), at: .backend)))
    }
    #expect(SessionsFeature.play(plan).findings == [])
  }

  @Test(arguments: [(0, 0), (0, 1), (1, 0), (1, 1)])
  func `both versions are spoken, with and without additions`(old: Int, plain: Int) {
    var plan = SessionsFeature.Plan.drawn(.lift, seed: 11)
    (plan.numbers.old, plan.numbers.plain) = (old, plain)
    #expect(SessionsFeature.play(plan).findings == [])
  }
}
