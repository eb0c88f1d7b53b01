import LinkCore
import LinkSimulator
import MessageStream
import Testing

@Suite struct WorldTests {
  static func plan(_ actions: [Planned] = [], server: ServerKind = .positions) -> Plan {
    Plan(
      seed: 1, server: server, weather: Weather(), actions: actions, length: .seconds(600))
  }

  @Test(arguments: ServerKind.allCases)
  func `a quiet day becomes whole`(_ server: ServerKind) {
    let plan = Self.plan(
      [Planned(at: .seconds(10), .others(messages: 5)), Planned(at: .seconds(20), .send)],
      server: server)
    let outcome = play(plan, as: StreamModel.self)
    #expect(outcome.findings.isEmpty)
    #expect(outcome.counts.accepted == 60 + 5 + 1 + 1)
    #expect(outcome.counts.shown == outcome.counts.accepted)
  }

  @Test func `the same plan makes the same run`() {
    let plan = Self.plan([Planned(at: .seconds(10), .others(messages: 5))])
    #expect(play(plan, as: StreamModel.self) == play(plan, as: StreamModel.self))
  }
}
