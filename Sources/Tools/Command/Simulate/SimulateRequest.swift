import CommandKit
import HoldfastTestKit
import LinkCore
import LinkSimulator

/// The arguments of a call of `simulate WORLD`, read and checked.
struct SimulateRequest<Feature: SimulatedFeature>: Sendable {
  var simulation: Simulation<Feature>
  var seeds: ClosedRange<UInt64>
  /// Played instead of what seeds draw.
  var only: WorldPlan<Feature>?
  /// Ends the process when a run takes too long.
  let watchdog: RunWatchdog
  /// The file of that plan.
  private var file: String?
  /// How the call named the days and the policy, to say it again.
  private var words: [String] = []

  init(_ call: Invocation) throws(CommandFailure) {
    try Self.checkOptions(call)
    let asked = call[SimulateParameters.defect(Feature.Defect.self)]
    let defect: Feature.Defect? =
      switch asked {
      case .one(let defect): defect
      case .all, nil: nil
      }
    let preset = call[SimulateParameters.preset(Feature.presets)]
    let server =
      Feature.Server.isChoice ? call[SimulateParameters.server(Feature.Server.self)] : nil
    let watchdog = SimulateCommands.watchdog(of: Feature.name, call)
    self.watchdog = watchdog
    simulation = Simulation(
      servers: server.map { [$0] } ?? Array(Feature.Server.allCases),
      setup: RunSetup(
        policy: try Self.policy(call), defect: defect, only: try Self.part(call)),
      jobs: call[SimulateParameters.jobs]
    ) { seed, server in
      .drawn(
        (preset ?? .one(.swarm)).preset(of: seed, among: Feature.presets), seed: seed,
        server: server)
    }
    simulation.player = { plan, setup in
      watchdog.watching(SimulateFormat.title(plan)) { Feature.play(plan, setup) }
    }
    seeds = call[SimulateParameters.seeds]
    if let preset { words += ["--preset", preset.name] }
    if let name = call[SimulateParameters.policy(Feature.policy)] { words += ["--policy", name] }
    for setting in call[Shared.settings] {
      words += ["--set", "\(setting.key)=\(setting.value)"]
    }
    if let file = call[SimulateParameters.plan] { try read(file, call) }
  }

  /// Takes the plan of a file, and what it was shrunk with unless the call says otherwise.
  private mutating func read(_ file: String, _ call: Invocation) throws(CommandFailure) {
    let kept = try PlanFile<Feature>.read(file)
    only = kept.plan
    if call[SimulateParameters.defect(Feature.Defect.self)] == nil {
      simulation.setup.defect = kept.defect
    }
    let isChosen = call[SimulateParameters.policy(Feature.policy)] != nil
    if !isChosen, call[Shared.settings].isEmpty, let policy = kept.policy {
      simulation.setup.policy = policy
    }
    guard simulation.setup.only != .walks || simulation.setup.defect == nil else {
      throw CommandFailure(
        .usage, "no walks are taken with the defect of \(file)", remedy: "omit --only")
    }
    self.file = file
  }

  /// Refuses options that would have no effect beside others.
  private static func checkOptions(_ call: Invocation) throws(CommandFailure) {
    let (trace, shrink) = (call[SimulateParameters.trace], call[SimulateParameters.shrink])
    let breaksAll = call[SimulateParameters.defect(Feature.Defect.self)] == .all
    if trace && shrink { throw excess("--trace", beside: "--shrink, which tells the story, too") }
    if breaksAll {
      if trace { throw excess("--trace", beside: "--break all") }
      if shrink { throw excess("--shrink", beside: "--break all") }
      if call[SimulateParameters.plan] != nil { throw excess("--plan", beside: "--break all") }
    }
    if call[SimulateParameters.isVerbose], !trace, !shrink {
      throw excess("--verbose", without: "--trace or --shrink")
    }
    if call[SimulateParameters.corpus] != nil, !shrink {
      throw excess("--corpus", without: "--shrink")
    }
    guard call[SimulateParameters.plan] != nil else { return }
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

  private static func part(_ call: Invocation) throws(CommandFailure) -> RunPart? {
    let part = call[SimulateParameters.part]
    guard part == .walks else { return part }
    guard Feature.takesWalks else {
      throw CommandFailure(
        .usage, "\(Feature.name) has no walks after its days", remedy: "omit --only")
    }
    guard call[SimulateParameters.defect(Feature.Defect.self)] == nil else {
      throw CommandFailure(
        .usage, "no walks are taken with a defect", remedy: "omit --only or --break")
    }
    return part
  }

  /// The one plan that is asked for; wrong usage when there are several.
  func onePlan(for option: String) throws(CommandFailure) -> WorldPlan<Feature> {
    if let only { return only }
    guard seeds.lowerBound == seeds.upperBound, simulation.servers.count == 1 else {
      throw CommandFailure(
        .usage, "\(option) is about one run",
        remedy: Feature.Server.isChoice ? "add --seeds N and --server KIND" : "add --seeds N")
    }
    return plan(seeds.lowerBound, simulation.servers[0])
  }

  func plan(_ seed: UInt64, _ server: Feature.Server) -> WorldPlan<Feature> {
    only ?? simulation.draw(seed, server)
  }

  /// Plays a plan under the watch.
  func watched<Result>(_ plan: WorldPlan<Feature>, _ play: () -> Result) -> Result {
    watchdog.watching(SimulateFormat.title(plan), play)
  }

  /// How many runs there are, saturated.
  var runs: UInt64 { only == nil ? simulation.runs(of: seeds) : 1 }

  /// The command that tells the story of a run.
  func replay(_ outcome: RunOutcome<Feature>) -> String {
    var words = ["holdfast", "simulate", Feature.name]
    if let file {
      words += ["--plan", file]
    } else {
      if Feature.Server.isChoice { words += ["--server", outcome.server.rawValue] }
      words += ["--seeds", "\(outcome.seed)"]
    }
    words += self.words
    if let part = simulation.setup.only { words += ["--only", part.rawValue] }
    if let defect = simulation.setup.defect { words += ["--break", defect.rawValue] }
    return (words + ["--trace"]).map(Self.quoted).joined(separator: " ")
  }

  /// As a POSIX shell takes it for one word (IEEE 1003.1 section 2.2.2).
  private static func quoted(_ word: String) -> String {
    let isPlain = word.utf8.allSatisfy {
      switch $0 {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: ","),
        UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "/"), UInt8(ascii: "="):
        true
      case _: false
      }
    }
    return isPlain ? word : "'" + word.replacing("'", with: "'\\''") + "'"
  }

  private static func policy(_ call: Invocation) throws(CommandFailure) -> LinkPolicy {
    guard let name = call[SimulateParameters.policy(Feature.policy)] else {
      return try Feature.policy.with(call[Shared.settings])
    }
    if let preset = LinkPolicy.preset(named: name) {
      return try preset.with(call[Shared.settings])
    }
    let file = try PolicyFile.read(name)
    let policy: LinkPolicy
    do {
      policy = try file.preset.setting(file.changes().map { ($0.key, $0.new) })
    } catch {
      throw CommandFailure(.failed, "\(file.name): " + error.problems.joined(separator: "; "))
    }
    return try policy.with(call[Shared.settings])
  }
}
