import CommandKit
import HoldfastTestKit
import LinkCore
import LinkSimulator

/// What a call of `simulate message-stream` asks for, read and checked.
struct SimulateRequest: Sendable {
  var simulation: Simulation
  var seeds: ClosedRange<UInt64>
  /// Played instead of what seeds draw.
  var only: Plan?
  /// How the call named the days and the policy, to say it again.
  private var words: [String] = []

  init(_ call: Invocation) throws(CommandFailure) {
    let defect: Break? =
      switch call[SimulateParameters.defect] {
      case .one(let defect): defect
      case .all, nil: nil
      }
    let preset = call[SimulateParameters.preset]
    simulation = Simulation(
      servers: call[SimulateParameters.server].map { [$0] } ?? ServerKind.allCases,
      setup: Setup(policy: try Self.policy(call), defect: defect),
      jobs: call[SimulateParameters.jobs]
    ) { seed, server in
      .drawn((preset ?? .one(.swarm)).preset(of: seed), seed: seed, server: server)
    }
    seeds = call[SimulateParameters.seeds]
    if let preset { words += ["--preset", preset.name] }
    if let name = call[SimulateParameters.policy] { words += ["--policy", name] }
    for setting in call[Shared.settings] {
      words += ["--set", "\(setting.key)=\(setting.value)"]
    }
    guard let file = call[SimulateParameters.plan] else { return }
    let kept = try PlanFile.read(file)
    only = kept.plan
    if call[SimulateParameters.defect] == nil { simulation.setup.defect = kept.defect }
    if words.isEmpty, let policy = kept.policy { simulation.setup.policy = policy }
  }

  /// The one plan that is asked for; wrong usage when there are several.
  func onePlan(for option: String) throws(CommandFailure) -> Plan {
    if let only { return only }
    guard seeds.count == 1, simulation.servers.count == 1 else {
      throw CommandFailure(
        .usage, "\(option) is about one run", remedy: "add --seeds N and --server KIND")
    }
    return plan(seeds.lowerBound, simulation.servers[0])
  }

  func plan(_ seed: UInt64, _ server: ServerKind) -> Plan {
    only ?? simulation.draw(seed, server)
  }

  /// How many runs there are.
  var runs: Int { only == nil ? seeds.count * simulation.servers.count : 1 }

  /// The command that tells the story of a run.
  func replay(_ outcome: Outcome) -> String {
    var words = [
      "holdfast", "simulate", "message-stream", "--server", outcome.server.rawValue, "--seeds",
      "\(outcome.seed)",
    ]
    words += self.words
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
    guard let name = call[SimulateParameters.policy] else {
      return try LinkPolicy.messageStream.with(call[Shared.settings])
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
