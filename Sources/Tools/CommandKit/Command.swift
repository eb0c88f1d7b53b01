/// One command, or a group of them, as parsing and help both see it.
public struct Command: Sendable {
  /// Does the work; returns when it is done.
  public typealias Action = @Sendable (Invocation) async throws(CommandFailure) -> Void

  enum Body: Sendable {
    case group([Command])
    case leaf([Declaration], Action)
  }

  /// How it is called.
  public let name: String
  /// A few words for lists of commands.
  public let summary: String
  /// Paragraphs for its own help text.
  public let details: [String]
  /// Command lines that work, each with what it does.
  public let examples: [Example]
  let body: Body

  /// A command line and what it does.
  public struct Example: Sendable, Hashable {
    /// As typed.
    public var line: String
    /// What it does.
    public var effect: String

    /// An example for a help text.
    public init(_ line: String, _ effect: String) {
      self.line = line
      self.effect = effect
    }
  }

  /// A command that takes `parameters`; operands in the order in which they are typed.
  public init<each Value: Sendable>(
    _ name: String, _ summary: String, details: [String] = [], examples: [Example],
    takes parameters: repeat Parameter<each Value>, action: @escaping Action
  ) {
    self.name = name
    self.summary = summary
    self.details = details
    self.examples = examples
    var declarations: [Declaration] = []
    for declaration in repeat (each parameters).declaration { declarations.append(declaration) }
    body = .leaf(declarations, action)
  }

  /// A command that only has others below it.
  public init(
    _ name: String, _ summary: String, details: [String] = [], examples: [Example] = [],
    commands: [Command]
  ) {
    self.name = name
    self.summary = summary
    self.details = details
    self.examples = examples
    body = .group(commands)
  }

  /// The commands right below it.
  public var commands: [Command] {
    switch body {
    case .group(let commands): commands
    case .leaf: []
    }
  }

  /// What it takes; nothing for a group.
  public var parameters: [Declaration] {
    switch body {
    case .group: []
    case .leaf(let parameters, _): parameters
    }
  }
}

/// A command together with the way to it, such as `holdfast policy show`.
public struct CommandPath: Sendable {
  /// The names from the root on, with spaces between.
  public let text: String
  /// What it leads to.
  public let command: Command

  /// The way to the root.
  public init(_ root: Command) {
    self.init(text: root.name, command: root)
  }

  private init(text: String, command: Command) {
    self.text = text
    self.command = command
  }

  /// One step on; `nil` when nothing below has that name.
  public func child(_ name: String) -> CommandPath? {
    command.commands.first { $0.name == name }.map {
      CommandPath(text: "\(text) \(name)", command: $0)
    }
  }

  /// This one and all below it, each before its own children.
  public var tree: [CommandPath] {
    [self] + command.commands.compactMap { child($0.name) }.flatMap(\.tree)
  }
}
