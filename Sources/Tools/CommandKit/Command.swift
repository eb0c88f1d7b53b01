/// A command or a group of commands, declared once for parsing, help and signals.
public struct Command: Sendable {
  /// The work of a command.
  public typealias Action = @Sendable (Invocation) async throws(CommandFailure) -> Void

  enum Body: Sendable {
    case group([Command])
    /// Its work, and the commands for what belongs to it.
    case leaf([Declaration], [Command], Action)
  }

  /// The word that selects it.
  public let name: String
  /// A short description for lists of commands.
  public let summary: String
  /// The paragraphs of its help text.
  public let details: [String]
  /// Valid command lines, each with its effect.
  public let examples: [Example]
  /// The signals that it handles besides SIGINT and SIGTERM.
  public let signals: [Int32]
  /// The exit codes of the program whose root it is.
  let exitCodes: [ExitCode]
  let body: Body

  /// A command line and what it does.
  public struct Example: Sendable, Hashable {
    /// The command line.
    public var line: String
    /// Its effect.
    public var effect: String

    /// An example for a help text.
    public init(_ line: String, _ effect: String) {
      self.line = line
      self.effect = effect
    }
  }

  /// A command with its parameters; operands are declared in the order in which they are typed.
  ///
  /// - Parameters:
  ///   - signals: the signals that it handles besides SIGINT and SIGTERM. They do not end the
  ///     process before the command begins to handle them.
  ///   - assigned: the parameters of the assignments that it makes.
  ///   - commands: commands whose names may follow its own in place of its parameters.
  public init<each Value: Sendable>(
    _ name: String, _ summary: String, details: [String] = [], examples: [Example],
    signals: [Int32] = [], sets assigned: [Declaration] = [],
    commands: [Command] = [], takes parameters: repeat Parameter<each Value>,
    action: @escaping Action
  ) {
    self.name = name
    self.summary = summary
    self.details = details
    self.examples = examples
    self.signals = signals
    exitCodes = ExitCode.allCases
    var declarations = assigned
    for declaration in repeat (each parameters).declaration { declarations.append(declaration) }
    body = .leaf(declarations, commands, action)
  }

  /// A group of commands.
  ///
  /// - Parameter exitCodes: of a root, the exit codes of its program, which all help texts list.
  public init(
    _ name: String, _ summary: String, details: [String] = [], examples: [Example] = [],
    exitCodes: [ExitCode] = ExitCode.allCases, commands: [Command]
  ) {
    self.name = name
    self.summary = summary
    self.details = details
    self.examples = examples
    signals = []
    self.exitCodes = exitCodes
    body = .group(commands)
  }

  /// The commands below it.
  public var commands: [Command] {
    switch body {
    case .group(let commands): commands
    case .leaf(_, let commands, _): commands
    }
  }

  /// The parameters; none for a group.
  public var parameters: [Declaration] {
    switch body {
    case .group: []
    case .leaf(let parameters, _, _): parameters
    }
  }
}

/// A command with its parents, such as `holdfast policy show`.
public struct CommandPath: Sendable {
  /// The names from the root on, separated by spaces.
  public let text: String
  /// The command.
  public let command: Command
  private let parents: [CommandPath]

  /// The path of the root.
  public init(_ root: Command) {
    self.init(text: root.name, command: root, parents: [])
  }

  private init(text: String, command: Command, parents: [CommandPath]) {
    self.text = text
    self.command = command
    self.parents = parents
  }

  /// The path of the group that it belongs to; `nil` for the root.
  var parent: CommandPath? { parents.last }

  /// The program's root command.
  var root: Command { (parents.first ?? self).command }

  /// The path of a command of this group; `nil` if none has that name.
  public func child(_ name: String) -> CommandPath? {
    command.commands.first { $0.name == name }.map {
      CommandPath(text: "\(text) \(name)", command: $0, parents: parents + [self])
    }
  }

  /// This path and those of all commands below it, parents first.
  public var tree: [CommandPath] {
    [self] + command.commands.compactMap { child($0.name) }.flatMap(\.tree)
  }

  /// The path of the innermost command that `words` begin with.
  public func resolve(_ words: some Sequence<String>) -> CommandPath {
    var path = self
    for word in words {
      guard let next = path.child(word) else { return path }
      path = next
    }
    return path
  }
}
