/// A whole command-line program: its tree of commands and its version.
public struct Program: Sendable {
  private let root: Command
  private let version: String

  /// A program named as its root.
  public init(_ root: Command, version: String) {
    self.root = root
    self.version = version
  }

  /// Does what `words` ask for and answers with the exit status.
  public func run(
    _ words: [String], environment: @escaping @Sendable (String) -> String?
  ) async -> ExitCode {
    let console = Console(environment: environment)
    do throws(ParseFailure) {
      switch try Parser(root, environment: environment).parse(words) {
      case .help(let path): console.line(Help(style: console.style).text(for: path))
      case .version: console.line("\(root.name) \(version)")
      case .run(let path, let arguments):
        let invocation = Invocation(
          arguments: arguments, console: console, environment: environment)
        return await run(path, invocation)
      }
      return .done
    } catch {
      console.failure(error.failure, of: error.path.text)
      return error.failure.code
    }
  }

  private func run(_ path: CommandPath, _ invocation: Invocation) async -> ExitCode {
    guard case .leaf(_, let action) = path.command.body else { return .usage }
    do throws(CommandFailure) {
      try await action(invocation)
      return .done
    } catch {
      invocation.console.failure(error, of: path.text)
      return error.code
    }
  }
}
