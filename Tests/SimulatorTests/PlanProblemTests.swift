import Foundation
import HoldfastCore
import HoldfastLinkChecks
import HoldfastMessageChecks
import HoldfastSyncChecks
import HoldfastWorlds
import Testing

/// Tests of the hosts and times that a plan may contain.
struct PlanProblemTests {
  @Test func `drawn plans can be read back in all worlds`() throws {
    for world in Worlds.all { try readDrawn(world) }
  }

  private func readDrawn<Feature: SimulatedFeature>(_ world: Feature.Type) throws {
    let (encoder, decoder) = (JSONEncoder(), JSONDecoder())
    encoder.outputFormatting = .sortedKeys
    for preset in Feature.presets {
      for seed in UInt64(1)...40 {
        let text = try encoder.encode(WorldPlan<Feature>.drawn(preset, seed: seed))
        let read = try decoder.decode(WorldPlan<Feature>.self, from: text)
        #expect(try encoder.encode(read) == text, "\(Feature.name) \(preset) \(seed)")
      }
    }
  }

  private static let wrong: [(at: String, action: String, phones: Int, problem: String)] = [
    ("1s", "kill@1 1s", 1, "kill@1 1s: there is 1 phone, number 0"),
    ("1s", "kill@2 1s", 2, "kill@2 1s: there are 2 phones, numbers 0 to 1"),
    ("1s", "crash@1 1s", 2, "crash@1 1s: there is 1 backend, number 0"),
    ("1m", "kill 1s", 2, "1m is not before the end of the plan, 1m"),
    ("61s", "kill 1s", 2, "61s is not before the end of the plan, 1m"),
  ]

  private static func text(_ at: String, _ action: String, _ phones: Int) -> Data {
    let event = #"{"at":"\#(at)","action":"\#(action)"}"#
    let rest = #""seed":1,"length":"1m","conditions":{"phones":\#(phones)}"#
    return Data(#"{"actions":[\#(event)],\#(rest)}"#.utf8)
  }

  @Test(arguments: wrong) func `a planned event that cannot happen is refused`(
    at: String, action: String, phones: Int, problem: String
  ) throws {
    let error = try #require(throws: DecodingError.self) {
      try JSONDecoder().decode(
        WorldPlan<SyncFeature>.self, from: Self.text(at, action, phones))
    }
    guard case .dataCorrupted(let context) = error else {
      Issue.record(error)
      return
    }
    #expect(context.debugDescription == problem)
  }

  @Test(arguments: [("59s", "kill@1 1s"), ("0s", "kill 1s"), ("1s", "kill@backend0 1s")])
  func `an event on an existing host before the end is accepted`(
    at: String, action: String
  ) throws {
    let plan = try JSONDecoder().decode(
      WorldPlan<SyncFeature>.self, from: Self.text(at, action, 2))
    #expect(plan.events.map(\.event.text) == [action])
  }

  @Test func `a shrunk plan has no event on a removed host`() {
    let event = PlannedEvent<SyncFeature.EventKind>(.kill, for: .seconds(1), on: 1)
    var plan = WorldPlan<SyncFeature>(
      seed: 1, events: [TimedEvent(at: .seconds(1), event)], length: .seconds(60))
    plan.numbers.phones = 2
    var shrink = Shrink<SyncFeature>(plan) { $0.events.contains { $0.event.host == 1 } }
    shrink.run()
    #expect(shrink.plan.events.map(\.event.host) == [1])
    #expect(shrink.plan.numbers.phones == 2)
  }

  @Test(arguments: ["lst", "doubled", ""])
  func `a plan cannot expect a finding that its world does not have`(kind: String) throws {
    let plan = Plan(seed: 1, server: .plain, events: [], length: .seconds(60))
    let bytes = try JSONEncoder().encode(
      Case(name: "x", plan: plan, expected: [.lost, Finding.Kind(rawValue: kind)]))
    #expect(throws: DecodingError.self) { try JSONDecoder().decode(Case.self, from: bytes) }
  }
}
