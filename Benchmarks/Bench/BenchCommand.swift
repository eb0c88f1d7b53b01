import HoldfastCommandKit

/// The program behind `make bench` and `make conformance`.
@main
struct BenchCommand {
  private static var root: Command {
    Command(
      "HoldfastBench", "measures Holdfast beside its peers, and stands before conformance suites",
      commands: [
        RunCommand.command, EchoServerCommand.command, EchoClientCommand.command,
        ShopServerCommand.command, CrowdServerCommand.command, FollowCommand.command,
        HoldCommand.command, SessionServerCommand.command, ConverseCommand.command,
        FleetCommand.command, HerdCommand.command,
      ] + MemoryCommands.commands)
  }

  static func main() async {
    await Program.start(root)
  }
}
