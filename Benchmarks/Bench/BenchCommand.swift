import CommandKit

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// The program behind `make bench` and `make conformance`.
@main
struct BenchCommand {
  private static var root: Command {
    Command(
      "holdfast-bench", "measures Holdfast beside its peers, and stands before conformance suites",
      commands: [
        RunCommand.command, EchoServerCommand.command, EchoClientCommand.command,
        ShopServerCommand.command, CrowdServerCommand.command, FollowCommand.command,
        HoldCommand.command, SessionServerCommand.command, ConverseCommand.command,
        FleetCommand.command, HerdCommand.command,
      ] + MemoryCommands.commands)
  }

  static func main() async {
    Console.ignoreBrokenPipes()
    let words = Array(CommandLine.arguments.dropFirst())
    let code = await Program(root, version: "0.1.0").run(words)
    exit(code.rawValue)
  }
}
