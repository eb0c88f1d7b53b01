/// A generator of help texts, which uses the same declarations as parsing.
public struct Help: Sendable {
  /// The maximum length of a line, in characters: the traditional width of a terminal.
  private static let width = 80
  /// The largest column in which descriptions may begin.
  private static let maxIndent = 30

  private let style: Style

  /// Creates a generator of help texts with or without colors.
  public init(style: Style = Style(isColourful: false)) {
    self.style = style
  }

  /// Returns the help text of a command, without a final line break.
  public func text(for path: CommandPath) -> String {
    let command = path.command
    var blocks = [wrap("\(path.text) - \(command.summary)")]
    blocks.append("\(style.heading("Usage:")) \(Self.synopsis(of: path))")
    blocks += command.details.map { wrap($0) }
    let operands = command.parameters.filter { $0.kind == .operand }
    blocks += section("Operands", operands.map { ($0.name, $0.meaning) })
    blocks += section("Commands", command.commands.map { ($0.name, $0.summary) })
    blocks += section("Options", Self.options(of: path))
    blocks += Self.notes(of: command).map { wrap($0) }
    blocks += examples(command.examples)
    blocks += section(
      "Exit codes", path.root.exitCodes.map { (String($0.rawValue), $0.meaning) })
    return blocks.joined(separator: "\n\n")
  }

  /// Returns the syntax of a command on one line.
  public static func synopsis(of path: CommandPath) -> String {
    if case .group = path.command.body { return "\(path.text) COMMAND [OPTIONS]" }
    var parts = [path.text]
    for parameter in path.command.parameters where parameter.kind != .operand {
      switch parameter.count {
      case .required: parts.append("\(parameter.label) \(parameter.placeholder)")
      case .optional: break
      case .repeated(let least):
        if least > 0 { parts.append("\(parameter.label) \(parameter.placeholder)") }
      }
    }
    parts.append("[OPTIONS]")
    for parameter in path.command.parameters where parameter.kind == .operand {
      switch parameter.count {
      case .required: parts.append(parameter.name)
      case .optional: parts.append("[\(parameter.name)]")
      case .repeated(let least):
        parts.append(least > 0 ? "\(parameter.name)..." : "[\(parameter.name)...]")
      }
    }
    return parts.joined(separator: " ")
  }

  /// Returns the notes on other sources of options, and on the values of a command's parameters,
  /// without duplicates.
  static func notes(of command: Command) -> [String] {
    let sources = command.variables.flatMap { $0.note(of: command) }
    return [sources].compactMap { $0 }
      + Set(command.parameters.map(\.note).filter { !$0.isEmpty }).sorted()
  }

  /// Returns the options of a command with their descriptions.
  static func options(of path: CommandPath) -> [(term: String, meaning: String)] {
    var rows = path.command.parameters.filter { $0.kind != .operand }.map {
      (term: term(of: $0), meaning: meaning(of: $0))
    }
    rows.append(("--help, -h", "show this text"))
    if case .group = path.command.body { rows.append(("--version", "show the version")) }
    return rows
  }

  private static func term(of option: Declaration) -> String {
    option.kind == .flag ? option.label : "\(option.label) \(option.placeholder)"
  }

  private static func meaning(of option: Declaration) -> String {
    let required = option.variable.map { "required unless $\($0) is set" } ?? "required"
    var facts: [String] = []
    switch option.count {
    case .required: facts.append(required)
    case .optional: break
    case .repeated(let least): facts += (least > 0 ? [required] : []) + ["repeatable"]
    }
    if let fallback = option.fallback ?? option.usual { facts.append("default: \(fallback)") }
    return facts.isEmpty
      ? option.meaning : "\(option.meaning) (\(facts.joined(separator: "; ")))"
  }

  private func examples(_ examples: [Command.Example]) -> [String] {
    guard !examples.isEmpty else { return [] }
    let lines = examples.map { "  \($0.line)\n" + wrap($0.effect, indent: 6, first: 6) }
    return [style.heading("Examples:") + "\n" + lines.joined(separator: "\n")]
  }

  private func section(_ title: String, _ rows: [(term: String, meaning: String)]) -> [String] {
    guard !rows.isEmpty else { return [] }
    let widest = rows.map(\.term.count).max() ?? 0
    let indent = min(widest + 4, Self.maxIndent)
    let lines = rows.map { row in
      let room = indent - 2 - row.term.count
      let meaning = wrap(row.meaning, indent: indent, first: room >= 2 ? 0 : indent)
      let gap = room >= 2 ? String(repeating: " ", count: room) : "\n"
      return "  \(row.term)\(gap)\(meaning)"
    }
    return [style.heading("\(title):") + "\n" + lines.joined(separator: "\n")]
  }

  /// Returns a text wrapped between words. `first` is the indentation of the first line.
  private func wrap(_ text: String, indent: Int = 0, first: Int = 0) -> String {
    var lines: [String] = []
    var line = ""
    for word in text.split(separator: " ") {
      if !line.isEmpty, indent + line.count + 1 + word.count > Self.width {
        lines.append(line)
        line = ""
      }
      line += line.isEmpty ? String(word) : " \(word)"
    }
    lines.append(line)
    let inset = String(repeating: " ", count: indent)
    let start = String(repeating: " ", count: first)
    return start + lines.joined(separator: "\n" + inset)
  }
}
