import HoldfastCommandKit
import HoldfastLinkChecks
import HoldfastLinkTrace
import HoldfastRunTraces
import HoldfastWorlds

/// The command `holdfast-sim simulate`: plays features in seeded worlds.
enum SimulateCommands {
  static var command: Command {
    Command(
      "simulate", "play a feature in seeded worlds, and check its promises",
      details: [
        """
        A world is a value: phone, network, server, users and faults follow from one seed, without \
        a clock. The same seed gives the same run on every machine.
        """
      ],
      commands: Worlds.traced.map { command(of: $0) } + [
        SimulateAllCommand.command,
        BottleCostCommand.command,
      ])
  }

  private static func command<Feature: SimulatedFeature & TracedFeature>(of world: Feature.Type)
    -> Command
  {
    SimulateWorldCommand<Feature>.command
  }

  /// Returns the failure for a run that a signal ended.
  static func stopped(_ findings: Int = 0) -> CommandFailure {
    let found = findings > 0 ? "\(counted(findings)); " : ""
    return CommandFailure(.failed, found + "stopped before everything was played")
  }

  static func counted(_ findings: Int) -> String {
    findings == 1 ? "1 finding" : "\(findings) findings"
  }

  /// Throws a failure if there are findings or if not everything was played.
  static func conclude(_ findings: Int) throws(CommandFailure) {
    guard !Task.isCancelled else { throw stopped(findings) }
    guard findings > 0 else { return }
    throw CommandFailure(.failed, counted(findings))
  }
}

/// The `holdfast-sim` command.
@main
struct SimulatorCommand {
  private static let root: Command = Command(
    "holdfast-sim", "a simulator of links: seeded worlds, and checkers of their promises",
    details: [
      """
      Results go to standard output, diagnostics to standard error. With --json each result is one \
      JSON object in one line. Colors are used only on a terminal, and not if NO_COLOR is set.
      """
    ],
    examples: [
      .init(
        "holdfast-sim simulate message-stream", "simulate 2,000 phones, for an hour or more each"),
      .init("holdfast-sim judge run.jsonl", "check a recorded run"),
    ],
    exitCodes: [.done, .failed, .usage],
    commands: [SimulateCommands.command, JudgeCommand.command]
      + ProgramCommands(of: "holdfast-sim") { root }.all)

  static func main() async {
    await Program.start(root)
  }
}
