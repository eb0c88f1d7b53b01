import HoldfastBottleCommands
import HoldfastCommandKit
import HoldfastHealthCommands
import HoldfastHeldCommands
import HoldfastMessageCommands
import HoldfastServerCommands
import HoldfastSessionCommands

/// The `holdfast` command.
@main
struct HoldfastCommand {
  /// All commands of the program.
  private static let commands: [Command] =
    [
      DemoCommand.command, LabCommand.command, ServeCommand.command, TokenCommand.command,
      MigrateCommand.command, BackupCommand.command, RestoreCommand.command, NodesCommand.command,
      AdminCommands.command, ProbeCommand.command,
      StreamCommand.command, SendCommand.command,
      ChangeCommands.edit, ChangeCommands.delete,
      HistoryCommand.command, ImageCommand.command, OutboxCommands.command,
      ConsumerCommands.command, ReplayCommand.command,
      PolicyCommands.command, HealthCommands.command, MCPCommand.command, RelayCommand.command,
      SocketCommand.command, SessionCommand.command, AuditCommand.command, BottleCommands.command,
    ]
    + ProgramCommands(of: "holdfast") { root }.all

  static let root: Command = Command(
    "holdfast", "links that stay up: a backend, its clients and their policies",
    details: [
      """
      Results go to standard output, diagnostics to standard error. With --json each result is one \
      JSON object in one line. Colors are used only on a terminal, and not if NO_COLOR is set.
      """
    ],
    examples: [
      .init("holdfast demo", "see a link survive faults, in less than a minute"),
      .init("holdfast serve", "run the backend for shop messages on port 8787"),
      .init("holdfast token --user ann --shops bakery", "create a token for it"),
      .init("holdfast policy show message-stream", "show every value of a policy"),
    ],
    commands: commands)

  static func main() async {
    await Program.start(root)
  }
}
