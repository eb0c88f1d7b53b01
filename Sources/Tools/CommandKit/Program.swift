import Glibc

/// A command-line program.
public struct Program: Sendable {
  private let root: Command

  /// Creates the program that `root` declares. The program has the same name as `root`.
  public init(_ root: Command) {
    self.root = root
  }

  /// Runs the program with this process's arguments, and then ends the process.
  package static func start(_ root: Command) async -> Never {
    Console.holdStandardDescriptors()
    let given = ProgramArguments.read()
    let arguments = given.compactMap { $0 }
    let path = CommandPath(root)
    // Until the command handles these signals, they must not end the process. A signal mask cannot
    // be used for this, because libdispatch creates threads that do not inherit it.
    ControllingTerminal.note()
    for number in path.resolve(arguments).command.signals { _ = signal(number) { _ in } }
    // This comes as early as possible. Until then, other users of the computer can read tokens in
    // the arguments.
    ArgumentSecrets(of: path).hide()
    Console.ignoreBrokenPipes()
    guard arguments.count == given.count else {
      Console.abandon("\(root.name): an argument is not valid UTF-8", with: .usage)
    }
    Console.end(with: await Program(root).run(arguments))
  }

  /// Runs the command that the arguments select. Returns the exit status.
  public func run(_ arguments: [String]) async -> ExitCode {
    let console = Console(root.name, environment: Self.variable)
    do throws(ParseFailure) {
      let parser = Parser(root, environment: Self.variable)
      switch try parser.parse(arguments) {
      case .help(let path): console.line(Help(style: console.style).text(for: path))
      case .version: console.line("\(root.name) \(Release.version)")
      case .run(let path, let found):
        let misspelled = found[Shared.check] ? path.misspelled(ProgramEnvironment.names()) : []
        for note in found.warnings + misspelled { console.diagnostic("\(path.text): \(note)") }
        let invocation = Invocation(
          command: path.text, arguments: found, console: console, environment: Self.variable,
          again: { () throws(CommandFailure) in try parser.reparse(arguments) })
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
      invocation.console.failure(invocation.located(error), of: path.text)
      return error.code
    }
  }

  @Sendable private static func variable(_ name: String) -> String? {
    unsafe getenv(name).map { unsafe String(cString: $0) }
  }
}

/// The arguments of this process.
enum ProgramArguments {
  /// The maximum size of the arguments. With its default settings, Linux allows 6 MiB.
  private static let maxBytes = 8 << 20

  /// Returns the arguments that follow the program's name. An argument that is not UTF-8 is `nil`.
  static func read() -> [String?] {
    // Swift locates the arguments relative to the environment, so it finds none if a preloaded
    // library has moved the environment.
    if let bytes = try? TextFile.read("/proc/self/cmdline", atMost: maxBytes) {
      return arguments(of: bytes)
    }
    return (1..<max(1, Int(CommandLine.argc))).map { index in
      unsafe CommandLine.unsafeArgv[index].flatMap { unsafe String(validatingCString: $0) }
    }
  }

  /// Splits arguments that each end with a zero byte, and removes the first argument.
  static func arguments(of bytes: [UInt8]) -> [String?] {
    var pieces = bytes.split(separator: 0, omittingEmptySubsequences: false)
    if pieces.last?.isEmpty == true { pieces.removeLast() }
    return pieces.dropFirst().map { String(validating: $0, as: UTF8.self) }
  }
}

/// The release information that all programs of this package share.
package enum Release {
  /// The version, which increases with every release. Scripts may compare it.
  package static let version = "0.1.0"
  /// The release date of the version, in the format YYYY-MM-DD.
  package static let date = "2026-11-25"
}
