import CommandKit

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// The `holdfast` command.
@main
struct HoldfastCommand {
  /// Goes up with every release; scripts may compare it.
  private static let version = "0.1.0"

  /// Every command there is; each stands in a file of its own.
  private static var root: Command {
    Command(
      "holdfast", "links that stay up: a backend, its clients and their policies",
      details: [
        """
        Results go to standard output, diagnostics to standard error. With --json every result is \
        one JSON object in one line. Colours appear on a terminal only, and not with NO_COLOR.
        """
      ],
      examples: [
        .init("holdfast demo", "watch a link hold, in less than a minute"),
        .init("holdfast serve", "run the backend of shop messages on port 8787"),
        .init("holdfast token --user ann --shops bakery", "make a token for it"),
        .init("holdfast policy show message-stream", "see every number of a policy"),
        .init("holdfast simulate message-stream", "let 10,000 phones live for an hour each"),
      ],
      commands: [
        DemoCommand.command, ServeCommand.command, TokenCommand.command, StreamCommand.command,
        SendCommand.command, HistoryCommand.command, OutboxCommands.command, ReplayCommand.command,
        PolicyCommands.command, HealthCommands.command, RelayCommand.command,
        SimulateCommands.command,
      ])
  }

  static func main() async {
    let words = Array(CommandLine.arguments.dropFirst())
    outliveSignals(of: words.first)
    let isText = areTexts()
    // Before anything else: until here every user of this machine can read a token among them.
    StreamSecrets.hide()
    Console.ignoreBrokenPipes()
    guard isText else {
      Console.abandon("holdfast: an argument is no UTF-8", with: .usage)
    }
    let code = await Program(root, version: version).run(words) { name in
      guard let value = unsafe getenv(name) else { return nil }
      return unsafe String(cString: value)
    }
    Console.end(with: code)
  }

  /// Keeps signals that these commands obey later from ending the process until then.
  private static func outliveSignals(of command: String?) {
    let obeyed: [String: [Int32]] = [
      "stream": [SIGHUP, SIGUSR1, SIGUSR2], "relay": [SIGHUP, SIGUSR1, SIGUSR2], "serve": [SIGHUP],
    ]
    // A handler, since libdispatch makes threads that do not block what others block.
    for number in command.flatMap({ obeyed[$0] }) ?? [] { _ = signal(number) { _ in } }
  }

  /// Whether all arguments are UTF-8, since Swift repairs those that are not.
  private static func areTexts() -> Bool {
    (1..<max(1, Int(CommandLine.argc))).allSatisfy { index in
      guard let word = unsafe CommandLine.unsafeArgv[index] else { return true }
      return unsafe String(validatingCString: word) != nil
    }
  }
}
