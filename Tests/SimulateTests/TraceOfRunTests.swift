import Foundation
import HoldfastCore
import HoldfastLinkChecks
import HoldfastLinkTrace
import HoldfastMessageChecks
import HoldfastRelayChecks
import HoldfastRunTraces
import HoldfastTestKit
import HoldfastWorlds
import Testing

/// Tests of the traces of simulated runs.
@Suite(.timeLimit(.minutes(60))) struct TraceOfRunTests {
  private static let tests = URL(filePath: #filePath).deletingLastPathComponent()
    .deletingLastPathComponent()

  /// The files of the simulator's corpus in a folder.
  static func corpus(_ folder: String) -> [String] {
    let path = tests.appending(path: "SimulatorTests/Corpus/\(folder)").path
    return ((try? FileManager.default.contentsOfDirectory(atPath: path)) ?? [])
      .filter { $0.hasSuffix(".json") }.sorted().map { "\(path)/\($0)" }
  }

  private func corpusCase<Feature: SimulatedFeature>(
    _ path: String, of feature: Feature.Type
  ) throws -> CorpusCase<Feature> {
    try JSONDecoder().decode(
      CorpusCase<Feature>.self, from: Data(contentsOf: URL(filePath: path)))
  }

  private func check<Feature: SimulatedFeature & TracedFeature>(
    _ plan: WorldPlan<Feature>, _ setup: RunSetup<Feature>, _ name: String
  ) throws {
    let run = SimulatedRun<Feature>(plan, setup)
    #expect(run.traces.count == Feature.hosts(plan.numbers).count { $0 == .phone })
    for trace in run.traces {
      #expect(try TraceForm.problems(trace.text) == [], "\(name)")
      #expect(!trace.facts.isEmpty)
    }
    let found = run.traces.flatMap(\.facts).filter { $0.event.lane == .finding }
    #expect(found.isEmpty == run.outcome.findings.isEmpty, "\(name)")
  }

  @Test func `the corpus is found`() {
    #expect(!Self.corpus("").isEmpty && !Self.corpus("relay").isEmpty)
  }

  @Test(arguments: corpus("")) func `a case of message streams has a trace`(path: String) throws {
    let one = try corpusCase(path, of: StreamFeature.self)
    try check(one.plan, one.setup, one.name)
  }

  @Test(arguments: corpus("relay")) func `a case of relays has a trace`(path: String) throws {
    let one = try corpusCase(path, of: RelayFeature.self)
    try check(one.plan, one.setup, one.name)
  }

  @Test func `every world has traces`() {
    #expect(Worlds.traced.count == Worlds.all.count)
  }

  @Test(arguments: Worlds.traced.map { $0.name }, DayPreset.allCases)
  func `each kind of day of each world has a trace`(world: String, preset: DayPreset) throws {
    for feature in Worlds.traced where feature.name == world { try draw(feature, preset) }
  }

  private func draw<Feature: SimulatedFeature & TracedFeature>(_: Feature.Type, _ preset: DayPreset)
    throws
  {
    guard Feature.presets.contains(preset) else { return }
    for server in Feature.Server.allCases {
      let plan = WorldPlan<Feature>.drawn(preset, seed: 3, server: server)
      try check(plan, RunSetup(), "\(Feature.name), \(preset.rawValue)")
    }
  }
}

/// Tests of what only the world knows, in traces of hand-written plans.
struct TraceOfWorldTests {
  private static func trace(
    _ events: [TimedEvent<StreamFeature.EventKind>], _ setup: RunSetup<StreamFeature> = RunSetup()
  ) throws -> [TraceFact] {
    let plan = WorldPlan<StreamFeature>(
      seed: 1, server: .positions, events: events, length: .seconds(120))
    return try #require(SimulatedRun<StreamFeature>(plan, setup).traces.first).facts
  }

  private static func fact(_ kind: String, in facts: [TraceFact]) throws -> TraceFact {
    try #require(facts.first { $0.event.kind == kind && $0.at > .seconds(1) })
  }

  @Test func `a crash is a fault, and the server is down meanwhile`() throws {
    let facts = try Self.trace([.init(at: .seconds(30), .init(.crash, for: .seconds(20)))])
    let fault = try Self.fact("trouble", in: facts)
    #expect(fault.event == .trouble(name: "crash"))
    #expect(fault.at == .seconds(30) && fault.until == .seconds(50))
    let down = try Self.fact("down", in: facts)
    #expect(down.at == .seconds(30) && down.until == .seconds(50))
  }

  @Test func `a fault without a length ends at once`() throws {
    let facts = try Self.trace([.init(at: .seconds(30), .init(.reset))])
    let fault = try Self.fact("trouble", in: facts)
    #expect(fault.at == .seconds(30) && fault.until == .seconds(30))
    #expect(fault.say == "Every connection is reset.")
  }

  @Test func `a message is made when the server accepts it, whatever its clock shows`() throws {
    let facts = try Self.trace([
      .init(at: .seconds(20), .init(.serverClock, by: .seconds(-3600))),
      .init(at: .seconds(30), .init(.unreachable, for: .seconds(20))),
      .init(at: .seconds(40), .init(.others, 1)),
    ])
    #expect(facts.contains { $0.say == "Others post 1 message." })
    let accepted = try Self.fact("accepted", in: facts)
    #expect(accepted.at >= .seconds(40) && accepted.at < .seconds(42))
    let shown = facts.filter { $0.event.kind == "message" && $0.at > .seconds(50) }
    guard case .message(let made, _, _)? = shown.first?.event else {
      Issue.record("no message after the fault: \(facts.map(\.say))")
      return
    }
    #expect(made == accepted.at)
  }

  @Test func `a finding of one phone is not in the trace of another`() throws {
    var finding = Finding(.stuck, at: .zero, "x")
    finding.phone = 1
    var tellers = [0, 1].map {
      LinkTeller<RelayFeature>(phone: $0, start: .zero, startedAt: RunClock.start)
    }
    for index in tellers.indices { tellers[index].add(finding) }
    #expect(tellers.map { $0.facts.count } == [0, 1])
  }
}
