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
    let caught = (1...UInt64(defect.seeds)).contains { seed in
      HeldFeature.play(.drawn(.swarm, seed: seed), RunSetup(defect: defect)).findings
        .contains { defect.kinds.contains($0.kind) }
    }
    #expect(caught)
  }

  @Test func `the same seed of a held socket makes the same run`() {
    let plan = HeldFeature.Plan.drawn(.swarm, seed: 5)
    #expect(HeldFeature.play(plan).digest == HeldFeature.play(plan).digest)
    #expect(
      HeldFeature.play(plan).digest != HeldFeature.play(.drawn(.swarm, seed: 6)).digest)
  }
}
