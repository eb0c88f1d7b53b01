/// A command or a group of commands, declared once for parsing, help and signals.
public struct Command: Sendable {
  /// The function that a command runs.
  public typealias Action = @Sendable (Invocation) async throws(CommandFailure) -> Void

  enum Body: Sendable {
    case group([Command])
    /// The parameters, the subcommands and the action of a command.
    case leaf([Declaration], [Command], Action)
  }

  /// The name that selects the command on the command line.
  public let name: String
  /// A short description for lists of commands.
  public let summary: String
  /// The paragraphs of the command's help text.
  public let details: [String]
  /// Valid command lines, each with its effect.
  public let examples: [Example]
  /// The signals that the command handles in addition to SIGINT and SIGTERM.
  public let signals: [Int32]
  /// The rules by which options are also given by variables and a file; `nil` if they are not.
  let variables: OptionVariables?
  /// The program's exit codes. They are used only in a root command.
  let exitCodes: [ExitCode]
  let body: Body

  /// A command line and its effect.
  public struct Example: Sendable, Hashable {
    /// The command line.
    public var line: String
    /// The effect of the command line.
    public var effect: String

    /// Creates an example for a help text.
    public init(_ line: String, _ effect: String) {
      self.line = line
      self.effect = effect
    }
  }

  /// Creates a command with its parameters. Operands are declared in the order in which the user
  /// types them.
  ///
  /// - Parameters:
  ///   - signals: The signals that the command handles in addition to SIGINT and SIGTERM. They do
  ///     not end the process even before the command begins to handle them.
  ///   - prefix: The beginning of the variables that also give the options, such as `HOLDFAST_`; `nil`
  ///     if there are none. The command then also has `Shared.config`.
  ///   - assigned: The parameters of the `Assignment` values that the command uses.
  ///   - commands: The commands whose names may follow this command's name in place of its
  ///     parameters.
  public init<each Value: Sendable>(
    _ name: String, _ summary: String, details: [String] = [], examples: [Example],
    signals: [Int32] = [], variables prefix: String? = nil, sets assigned: [Declaration] = [],
    commands: [Command] = [], takes parameters: repeat Parameter<each Value>,
    action: @escaping Action
  ) {
    self.name = name
    self.summary = summary
    self.details = details
    self.examples = examples
    self.signals = signals
    variables = prefix.map { OptionVariables(prefix: $0) }
    exitCodes = ExitCode.allCases
    var declarations = assigned
    for declaration in repeat (each parameters).declaration { declarations.append(declaration) }
    body = .leaf(declarations, commands, action)
  }

  /// Creates a group of commands.
  ///
  /// - Parameter exitCodes: The exit codes of the program, which every help text lists. They are
  ///   used only in a root command.
  public init(
    _ name: String, _ summary: String, details: [String] = [], examples: [Example] = [],
    exitCodes: [ExitCode] = ExitCode.allCases, commands: [Command]
  ) {
    self.name = name
    self.summary = summary
    self.details = details
    self.examples = examples
    signals = []
    variables = nil
    self.exitCodes = exitCodes
    body = .group(commands)
  }

  /// The subcommands.
  public var commands: [Command] {
    switch body {
    case .group(let commands): commands
    case .leaf(_, let commands, _): commands
    }
  }

  /// The parameters; empty for a group.
  public var parameters: [Declaration] {
    switch body {
    case .group: []
    case .leaf(let parameters, _, _): parameters
    }
  }
}

/// A command with its parents, such as `holdfast policy show`.
public struct CommandPath: Sendable {
  /// The names of the commands from the root to this command, separated by spaces.
  public let text: String
  /// The command.
  public let command: Command
  private let parents: [CommandPath]

  /// Creates the path of a root command.
  public init(_ root: Command) {
    self.init(text: root.name, command: root, parents: [])
  }

  private init(text: String, command: Command, parents: [CommandPath]) {
    self.text = text
    self.command = command
    self.parents = parents
  }

  /// The path of the parent command; `nil` for the root.
  var parent: CommandPath? { parents.last }

  /// The program's root command.
  var root: Command { (parents.first ?? self).command }

  /// Returns the path of a subcommand; `nil` if none has that name.
  public func child(_ name: String) -> CommandPath? {
    command.commands.first { $0.name == name }.map {
      CommandPath(text: "\(text) \(name)", command: $0, parents: parents + [self])
    }
  }

  /// The path of this command and the paths of all commands below it, parents first.
  public var tree: [CommandPath] {
    [self] + command.commands.compactMap { child($0.name) }.flatMap(\.tree)
  }

  /// Returns the path of the innermost command named by the first arguments.
  public func resolve(_ arguments: some Sequence<String>) -> CommandPath {
    var path = self
    for argument in arguments {
      guard let next = path.child(argument) else { return path }
      path = next
    }
    return path
  }
}
