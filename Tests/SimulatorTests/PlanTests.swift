import LinkSimulator
import Testing

struct PlanTests {
  @Test func `a plan lasts an hour at least`() {
    #expect(Plan.drawn(.swarm, seed: 1, server: .plain).length >= .seconds(3600))
  }
}
