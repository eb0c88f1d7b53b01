import HoldfastBottleChecks
import HoldfastCore
import HoldfastHeldChecks
import HoldfastHeldSocket
import HoldfastLinkChecks
import HoldfastLinkTrace
import HoldfastMessageChecks
import HoldfastRelayChecks
import HoldfastRunTraces
import HoldfastSessionChecks
import HoldfastWorlds
import Testing

/// Tests of the traces of simulated runs.
@Suite struct TellerTests {
  @Test func `the attempts of each feature begin, open and end in order`() {
    checkAttempts(StreamFeature.self)
    checkAttempts(RelayFeature.self)
    checkAttempts(HeldFeature.self)
    checkAttempts(SessionsFeature.self)
    checkAttempts(BottleFeature.self)
  }

  private func checkAttempts<Feature: SimulatedFeature & TracedFeature>(_ feature: Feature.Type) {
    let facts = SimulatedRun<Feature>(.drawn(.swarm, seed: 1)).traces[0].facts
    var open: [AttemptID: Bool] = [:]
    var opened = 0
    for fact in facts {
      guard let attempt = fact.attempt else { continue }
      switch fact.event {
      case .open:
        #expect(open[attempt] == nil, "\(Feature.name): \(fact.say)")
        open[attempt] = false
      case .up:
        #expect(open[attempt] == false, "\(Feature.name): \(fact.say)")
        open[attempt] = true
        opened += 1
      case .end(let why, _):
        #expect(open.removeValue(forKey: attempt) != nil, "\(Feature.name): \(fact.say)")
        let isCoded = why.hasPrefix("close ") || why.hasPrefix("HTTP ")
        #expect(TraceReason(rawValue: why) != nil || isCoded, "\(why)")
      case _: continue
      }
    }
    // At most one attempt is in progress at the end; in addition, one can be queued.
    #expect(open.count <= 2)
    #expect(opened > 3)
  }

  @Test func `a link is not connected after its app was killed`() throws {
    let event = PlannedEvent<HeldFeature.EventKind>(.kill, for: .seconds(20))
    let plan = WorldPlan<HeldFeature>(
      seed: 1, events: [TimedEvent(at: .seconds(30), event)], length: .seconds(90))
    let facts = SimulatedRun<HeldFeature>(plan).traces[0].facts
    let killed = try #require(facts.firstIndex { $0.event == .app("killed") })
    let after = facts[killed...]
    let end = try #require(after.first { if case .end = $0.event { true } else { false } })
    #expect(end.event == .end(why: "killed", isLost: true))
    #expect(end.at == facts[killed].at)
    let states = after.compactMap {
      if case .state(let state) = $0.event { (state.phase, $0.at) } else { nil }
    }
    #expect(states.first?.0 == .idle)
    #expect(states.first?.1 == facts[killed].at)
    #expect(states.contains { $0.0 == .connected && $0.1 >= facts[killed].at + .seconds(20) })
  }

  @Test(arguments: SocketSettings.Outbox.allCases)
  func `entries of the user do not wait for ever, with any outbox`(outbox: SocketSettings.Outbox) {
    let says = (1...20).map {
      TimedEvent(at: .seconds(30 + 5 * $0), PlannedEvent<HeldFeature.EventKind>(.say))
    }
    var plan = WorldPlan<HeldFeature>(seed: 1, events: says, length: .seconds(300))
    plan.numbers.outbox = outbox
    let facts = SimulatedRun<HeldFeature>(plan).traces[0].facts
    let waiting = facts.compactMap { fact -> Int? in
      switch fact.event {
      case .outbox(let count), .sent(_, let count): count
      case _: nil
      }
    }
    #expect(waiting.count >= 40 && waiting.last == 0, "\(waiting)")
    let sent = facts.count { if case .sent = $0.event { true } else { false } }
    #expect(sent == 20)
  }

  @Test func `a fact follows its cause`() {
    for trace in SimulatedRun<StreamFeature>(.drawn(.swarm, seed: 3)).traces {
      for (index, fact) in trace.facts.enumerated() {
        if let cause = fact.cause { #expect(cause < index, "\(fact.say)") }
      }
    }
  }

  @Test func `each explained wait of simulated days has its parts in the trace`() throws {
    let facts = try #require(SimulatedRun<HeldFeature>(.drawn(.swarm, seed: 1)).traces.first).facts
    let waits = facts.compactMap { fact -> TraceEvent.State? in
      guard case .state(let state) = fact.event, state.rule != nil else { return nil }
      return state
    }
    #expect(waits.count > 3)
    #expect(waits.allSatisfy { $0.retryAt != nil })
    #expect(facts.contains { $0.say.contains("jitter") })
  }
}
