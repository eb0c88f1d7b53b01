import CommandKit

/// The `holdfast-sim` command.
@main
struct SimulatorCommand {
  private static let root: Command = Command(
    "holdfast-sim", "a simulator of links: seeded worlds, and checkers of their promises",
    details: [
      """
      Results go to standard output, diagnostics to standard error. With --json each result is one \
      JSON object in one line. Colours are used only on a terminal, and not if NO_COLOR is set.
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
