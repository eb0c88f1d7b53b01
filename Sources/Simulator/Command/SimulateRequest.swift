import HoldfastCommandKit
import HoldfastCore
import HoldfastLinkChecks
import HoldfastSimulator
import HoldfastWorlds

/// The parsed and checked arguments of the command `simulate WORLD`.
struct SimulateRequest<Feature: SimulatedFeature>: Sendable {
  var simulation: Simulation<Feature>
  var seeds: ClosedRange<UInt64>
  /// The plan to play instead of plans drawn from seeds; `nil` without `--plan`.
  var only: WorldPlan<Feature>?
  /// The watch that ends the process when a run takes too long or a signal arrives.
  let watch: SimulateWatch
  /// The findings that the file of `only` expects.
  private var expected: [Finding.Kind] = []
  /// The preset and policy options of the call, which `replay(_:)` repeats.
  private var options: [String] = []
  /// The path of the plan file.
  private let file: String?

  init(_ call: Invocation, _ watch: SimulateWatch) throws(CommandFailure) {
    try Self.checkOptions(call)
    file = call[SimulateParameters.plan]
    var corpusCase: CorpusCase<Feature>?
    if let file { corpusCase = try PlanFile<Feature>.read(file) }
    let setup = try Self.setup(call, corpusCase)
    let preset = call[SimulateParameters.preset(Feature.presets)]
    let server =
      Feature.Server.isChoice ? call[SimulateParameters.server(Feature.Server.self)] : nil
    self.watch = watch
    simulation = Simulation(
      servers: server.map { [$0] } ?? Array(Feature.Server.allCases), setup: setup,
      jobs: call[SimulateParameters.jobs]
    ) { seed, server in
      .drawn(
        (preset ?? .one(.swarm)).preset(of: seed, among: Feature.presets), seed: seed,
        server: server)
    }
    simulation.player = { plan, setup in
      watch.watching(Self.name(of: plan)) { Feature.play(plan, setup) }
    }
    seeds = call[SimulateParameters.seeds] ?? 1...1000
    only = corpusCase?.plan
    expected = corpusCase?.expected ?? []
    if let preset { options += ["--preset", preset.name] }
    if let name = call[SimulateParameters.policy(Feature.policy)] { options += ["--policy", name] }
    for setting in call[Shared.settings] {
      options += ["--set", "\(setting.key)=\(setting.value)"]
    }
  }

  /// Returns the setup. The plan file supplies the values that the call omits.
  private static func setup(
    _ call: Invocation, _ corpusCase: CorpusCase<Feature>?
  ) throws(CommandFailure) -> RunSetup<Feature> {
    let settings = call[Shared.settings]
    let policy =
      if let name = call[SimulateParameters.policy(Feature.policy)] {
        try PolicyFile.policy(name, settings)
      } else {
        try (corpusCase?.policy ?? Feature.policy).with(settings)
      }
    var defect = corpusCase?.defect
    if case .one(let chosen)? = call[SimulateParameters.defect(Feature.Defect.self)] {
      defect = chosen
    }
    return RunSetup(policy: policy, defect: defect)
  }

  /// Throws a usage error for options that would have no effect in this combination.
  private static func checkOptions(_ call: Invocation) throws(CommandFailure) {
    let (trace, shrink) = (call[SimulateParameters.trace], call[SimulateParameters.shrink])
    let breaksAll = call[SimulateParameters.defect(Feature.Defect.self)] == .all
    if trace && shrink { throw excess("--trace", beside: "--shrink, which prints the trace, too") }
    if breaksAll {
      if trace { throw excess("--trace", beside: "--break all") }
      if shrink { throw excess("--shrink", beside: "--break all") }
      if call[SimulateParameters.plan] != nil { throw excess("--plan", beside: "--break all") }
      if call[SimulateParameters.html] != nil { throw excess("--html", beside: "--break all") }
      if call[SimulateParameters.traceFile] != nil {
        throw excess("--trace-file", beside: "--break all")
      }
    }
    if call[SimulateParameters.isVerbose], !trace, !shrink {
      throw excess("--verbose", without: "--trace or --shrink")
    }
    if call[SimulateParameters.corpus] != nil, !shrink {
      throw excess("--corpus", without: "--shrink")
    }
    if call[SimulateParameters.corpus] == "-" {
      throw CommandFailure(
        .usage, "--corpus cannot be standard output, where the trace is printed",
        remedy: "name a file")
    }
    guard call[SimulateParameters.plan] != nil else { return }
    if call[SimulateParameters.seeds] != nil {
      throw excess("--seeds", beside: "--plan, which has a seed of its own")
    }
    if call[SimulateParameters.preset(Feature.presets)] != nil {
      throw excess("--preset", beside: "--plan, which says what happens")
    }
    if Feature.Server.isChoice, call[SimulateParameters.server(Feature.Server.self)] != nil {
      throw excess("--server", beside: "--plan, which names its server")
    }
  }

  private static func excess(_ option: String, beside other: String) -> CommandFailure {
    CommandFailure(.usage, "\(option) has no effect beside \(other)", remedy: "omit \(option)")
  }

  private static func excess(_ option: String, without other: String) -> CommandFailure {
    CommandFailure(.usage, "\(option) has no effect without \(other)", remedy: "add \(other)")
  }

  /// Returns the only plan of the call. Throws a usage error if the call has several plans.
  func onePlan(for option: String) throws(CommandFailure) -> WorldPlan<Feature> {
    if let only { return only }
    guard seeds.lowerBound == seeds.upperBound, simulation.servers.count == 1 else {
      throw CommandFailure(
        .usage, "\(option) is about one run", remedy: "add \(optionsForOneRun)")
    }
    return plan(seeds.lowerBound, simulation.servers[0])
  }

  /// The options that are missing to select one run.
  var optionsForOneRun: String {
    let isOne = seeds.lowerBound == seeds.upperBound
    let options = [
      isOne ? nil : "--seeds N", simulation.servers.count == 1 ? nil : "--server KIND",
    ]
    return options.compactMap(\.self).joined(separator: " and ")
  }

  func plan(_ seed: UInt64, _ server: Feature.Server) -> WorldPlan<Feature> {
    only ?? simulation.draw(seed, server)
  }

  /// Plays a plan under the time limit of the watch.
  func watched<Result>(_ plan: WorldPlan<Feature>, _ play: () -> Result) -> Result {
    watch.watching(Self.name(of: plan), play)
  }

  private static func name(of plan: WorldPlan<Feature>) -> String {
    "\(Feature.name), \(SimulateFormat.title(plan))"
  }

  /// Returns the findings that the plan file expects but that are missing; `nil` without a plan
  /// file.
  func missing(_ found: [Finding.Kind]) -> [Finding.Kind]? {
    guard only != nil else { return nil }
    return expected.filter { !found.contains($0) }
  }

  /// Returns the index of a run among all runs. The index wraps around on overflow.
  func index(of outcome: RunOutcome<Feature>) -> UInt64 {
    let servers = simulation.servers
    let server = servers.firstIndex(of: outcome.server) ?? 0
    return (outcome.seed &- seeds.lowerBound) &* UInt64(servers.count) &+ UInt64(server)
  }

  /// The number of runs, limited to the largest representable number.
  var runs: UInt64 { only == nil ? simulation.runs(of: seeds) : 1 }

  /// Returns the command that prints the trace of a run.
  func replay(_ outcome: RunOutcome<Feature>) -> String {
    var arguments = ["holdfast-sim", "simulate", Feature.name]
    if let file {
      arguments += ["--plan", file]
    } else {
      if Feature.Server.isChoice { arguments += ["--server", outcome.server.rawValue] }
      arguments += ["--seeds", "\(outcome.seed)"]
    }
    arguments += options
    if let defect = simulation.setup.defect { arguments += ["--break", defect.rawValue] }
    return (arguments + ["--trace"]).map(Self.quoted).joined(separator: " ")
  }

  /// Returns the text, quoted as one word for a POSIX shell (IEEE 1003.1 section 2.2.2).
  private static func quoted(_ argument: String) -> String {
    let isPlain = argument.utf8.allSatisfy {
      switch $0 {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: ","),
        UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "/"), UInt8(ascii: "="):
        true
      case _: false
      }
    }
    return isPlain ? argument : "'" + argument.replacing("'", with: "'\\''") + "'"
  }
}
