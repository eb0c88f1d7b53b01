import LinkCore
import LinkSimulator
import Testing

/// The world of held sockets.
@Suite(.timeLimit(.minutes(3))) struct HeldSocketWorldTests {
  @Test(arguments: HeldFeature.presets)
  func `a held socket keeps its promises in many lives`(preset: DayPreset) {
    for seed in UInt64(1)...20 {
      let outcome = HeldFeature.play(.drawn(preset, seed: seed))
      #expect(outcome.findings == [], "seed \(seed)")
    }
  }

  @Test(arguments: HeldFeature.Defect.allCases)
  func `each deliberate defect of a held socket is caught`(defect: HeldFeature.Defect) {
    let caught = (1...UInt64(defect.seeds)).first { seed in
      HeldFeature.play(.drawn(.swarm, seed: seed), RunSetup(defect: defect)).findings
        .contains { defect.kinds.contains($0.kind) }
    }
    #expect(caught != nil)
    #expect(caught.map { HeldFeature.play(.drawn(.swarm, seed: $0)).findings } == [])
  }

  /// What is sent while nothing passes arrives behind what was on its way before.
  @Test func `a black hole does not change the order on a line`() {
    var plan = HeldFeature.Plan(seed: 1206, acts: [], length: .milliseconds(3500))
    plan.weather.delay = .milliseconds(25)
    plan.weather.jitter = .milliseconds(281)
    plan.weather.loss = 0.1
    plan.acts = [
      PlannedAct(at: .seconds(1), Act(.feed, 6)),
      PlannedAct(at: .seconds(2), Act(.blackHole, for: .milliseconds(500))),
    ]
    #expect(HeldFeature.play(plan).findings == [])
  }

  @Test func `a server that dies and is back at once is there in calm`() {
    var plan = HeldFeature.Plan.drawn(.lift, seed: 1)
    plan.acts = [PlannedAct(at: .seconds(10), Act(.kill, at: .backend))]
    #expect(HeldFeature.play(plan).findings == [])
  }

  @Test func `the same seed of a held socket makes the same run`() {
    let plan = HeldFeature.Plan.drawn(.swarm, seed: 5)
    #expect(HeldFeature.play(plan).digest == HeldFeature.play(plan).digest)
    #expect(
      HeldFeature.play(plan).digest != HeldFeature.play(.drawn(.swarm, seed: 6)).digest)
  }
}
