#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// A command-line program: its commands.
public struct Program: Sendable {
  private let root: Command

  /// A program with the name of its root command.
  public init(_ root: Command) {
    self.root = root
  }

  /// Runs the program with the words that this process was started with, and ends the process.
  package static func start(_ root: Command) async -> Never {
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
      Console.abandon("\(root.name): an argument is not valid UTF-8", with: .usage)
    }
    Console.end(with: await Program(root).run(words))
  }

  /// Runs the command that `words` select and returns the exit status.
  public func run(_ words: [String]) async -> ExitCode {
    let console = Console(root.name, environment: Self.variable)
    do throws(ParseFailure) {
      switch try Parser(root, environment: Self.variable).parse(words) {
      case .help(let path): console.line(Help(style: console.style).text(for: path))
      case .version: console.line("\(root.name) \(Release.version)")
      case .run(let path, let arguments):
        let invocation = Invocation(
          command: path.text, arguments: arguments, console: console, environment: Self.variable)
        return await run(path, invocation)
      }
      return .done
    } catch {
      console.failure(error.failure, of: error.path.text)
      return error.failure.code
    }
  }

  private func run(_ path: CommandPath, _ invocation: Invocation) async -> ExitCode {
    guard case .leaf(_, _, let action) = path.command.body else { return .usage }
    do throws(CommandFailure) {
      try await action(invocation)
      return .done
    } catch {
      invocation.console.failure(error, of: path.text)
      return error.code
    }
  }

  @Sendable private static func variable(_ name: String) -> String? {
    unsafe getenv(name).map { unsafe String(cString: $0) }
  }
}
