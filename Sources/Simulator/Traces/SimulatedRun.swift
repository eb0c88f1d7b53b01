import HoldfastCore
package import HoldfastLinkChecks
package import HoldfastLinkTrace
package import HoldfastWorlds

/// A simulated run and its traces, one for the link of each phone.
///
/// The traces contain what only the world knows: the faults in force, when servers ran, what they
/// accepted, and the findings of the checkers.
package struct SimulatedRun<Feature: SimulatedFeature & TracedFeature> {
  /// The result of the run.
  package let outcome: RunOutcome<Feature>
  /// The traces, in the order of the phones.
  package let traces: [Trace]

  /// The trace of the link of one phone.
  package struct Trace: Sendable {
    /// The first line.
    package var header: TraceHeader
    /// The facts in order of time.
    package var facts: [TraceFact]

    /// The trace in the format of `TraceWriter`.
    package var text: [UInt8] { TraceWriter.text(header, facts) }
  }

  /// A function that plays one plan and passes its observations to a watcher.
  package typealias Player =
    (WorldPlan<Feature>, RunSetup<Feature>, @escaping RunWatch<Feature>) -> RunOutcome<Feature>

  /// Plays a plan and writes its traces.
  ///
  /// - Parameter play: The function that plays the plan.
  package init(
    _ plan: WorldPlan<Feature>, _ setup: RunSetup<Feature> = RunSetup(),
    play: Player = { Feature.play($0, $1, watch: $2) }
  ) {
    let phones = Feature.hosts(plan.numbers).count { $0 == .phone }
    let tellers = RunTellers<Feature>(phones: phones)
    outcome = play(plan, setup) { tellers.see($0, $1) }
    for finding in outcome.findings { tellers.add(finding) }
    let end = outcome.counts.simulated
    traces = tellers.tellers.enumerated().map { phone, teller in
      let name = Self.name(phone: phones > 1 ? phone : nil, plan, setup)
      return Trace(
        header: TraceHeader(
          .simulator, machine: Feature.name, name: name, startedAt: RunTellers<Feature>.startedAt,
          end: end, policy: setup.policy, seed: plan.seed, hasWorld: true),
        facts: teller.finished())
    }
  }

  /// Returns the name of a link, with the server and the deliberate defect if there is a choice.
  private static func name(
    phone: Int?, _ plan: WorldPlan<Feature>, _ setup: RunSetup<Feature>
  ) -> String {
    var details: [String] = []
    if Feature.Server.isChoice { details.append("server \(plan.server.rawValue)") }
    if let defect = setup.defect { details.append("defect \(defect.rawValue)") }
    let name = phone.map { "Phone \($0)" } ?? "Phone"
    return details.isEmpty ? name : "\(name), \(details.joined(separator: ", "))"
  }
}

/// The tellers of a run, one for each phone.
private final class RunTellers<Feature: TracedFeature> {
  var tellers: [LinkTeller<Feature>]

  /// The time that wall clocks show when a run begins.
  static var startedAt: Timestamp { RunClock.start }

  init(phones: Int) {
    tellers = (0..<phones).map {
      LinkTeller(phone: $0, start: .zero, startedAt: Self.startedAt)
    }
  }

  func see(_ seen: Observation<Feature>, _ state: PhoneState<Feature>) {
    for phone in tellers.indices { tellers[phone].see(seen, state) }
  }

  func add(_ finding: Finding) {
    for phone in tellers.indices { tellers[phone].add(finding) }
  }
}

extension Worlds {
  /// The worlds whose runs have traces.
  package static var traced: [any (SimulatedFeature & TracedFeature).Type] {
    all.compactMap { $0 as? any (SimulatedFeature & TracedFeature).Type }
  }
}
