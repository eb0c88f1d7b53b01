import CommandKit

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// The `holdfast` command.
@main
struct HoldfastCommand {
  /// Raised with every release; scripts may compare it.
  static let version = "0.1.0"
  /// The day of that version.
  static let date = "2026-11-21"

  /// Every command, each declared in a file of its own.
  private static let commands =
    [
      DemoCommand.command, ServeCommand.command, TokenCommand.command, StreamCommand.command,
      SendCommand.command, HistoryCommand.command, OutboxCommands.command,
      ConsumerCommands.command, ReplayCommand.command,
      PolicyCommands.command, HealthCommands.command, RelayCommand.command,
      SocketCommand.command, SessionCommand.command, AuditCommand.command, BottleCommands.command,
      SimulateCommands.command,
    ] + ProgramCommands.all

  static let root = Command(
    "holdfast", "links that stay up: a backend, its clients and their policies",
    details: [
      """
      Results go to standard output, diagnostics to standard error. With --json each result is one \
      JSON object in one line. Colours are used only on a terminal, and not if NO_COLOR is set.
      """
    ],
    examples: [
      .init("holdfast demo", "see a link survive faults, in less than a minute"),
      .init("holdfast serve", "run the backend for shop messages on port 8787"),
      .init("holdfast token --user ann --shops bakery", "create a token for it"),
      .init("holdfast policy show message-stream", "show every value of a policy"),
      .init("holdfast simulate message-stream", "simulate 2,000 phones, for an hour or more each"),
    ],
    commands: commands)

  static func main() async {
    Console.holdStandardDescriptors()
    let given = ProgramWords.read()
    let words = given.compactMap { $0 }
    let path = CommandPath(root)
    // Until the command handles its signals they must not end the process. A handler, since
    // libdispatch creates threads that do not inherit a mask.
    ControllingTerminal.note()
    for number in path.resolve(words).command.signals { _ = signal(number) { _ in } }
    // First of all: until here other users of this machine can read tokens among the arguments.
    ArgumentSecrets(of: path).hide()
    Console.ignoreBrokenPipes()
    guard words.count == given.count else {
      Console.abandon("holdfast: an argument is not valid UTF-8", with: .usage)
    }
    Console.end(with: await Program(root, version: version).run(words))
  }
}
