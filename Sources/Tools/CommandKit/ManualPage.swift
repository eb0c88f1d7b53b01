/// A manual page (man 7 man), generated from the same declarations that parsing uses.
public struct ManualPage: Sendable {
  /// The page's name: the words of the command, joined by dashes.
  public let name: String
  /// The page's source text for the formatter.
  public let text: String

  /// Returns the pages of a program's root command and of all commands below it.
  public static func all(_ root: Command) -> [ManualPage] {
    CommandPath(root).tree.map { ManualPage($0) }
  }

  init(_ path: CommandPath) {
    name = Self.name(of: path)
    let command = path.command
    let version = Self.plain("\(path.root.name) \(Release.version)")
    var lines = [
      ".TH \(Self.plain(name.uppercased())) 1 \"\(Release.date)\" \"\(version)\"",
      ".SH NAME", "\(Self.plain(name)) \\- \(Self.plain(command.summary))",
      ".SH SYNOPSIS", "\\fB\(Self.plain(Help.synopsis(of: path)))\\fR",
    ]
    let paragraphs = command.details + Help.notes(of: command)
    if !paragraphs.isEmpty { lines.append(".SH DESCRIPTION") }
    for (index, paragraph) in paragraphs.enumerated() {
      if index > 0 { lines.append(".PP") }
      lines.append(Self.body(paragraph))
    }
    lines += Self.section(
      "OPERANDS",
      command.parameters.filter { $0.kind == .operand }.map { ($0.name, $0.meaning) })
    lines += Self.section("COMMANDS", command.commands.map { ($0.name, $0.summary) })
    lines += Self.section("OPTIONS", Help.options(of: path))
    lines += Self.section(
      "EXIT STATUS", path.root.exitCodes.map { (String($0.rawValue), $0.meaning) })
    lines += Self.section("EXAMPLES", command.examples.map { ($0.line, $0.effect) })
    lines += Self.related(to: path)
    text = lines.joined(separator: "\n") + "\n"
  }

  private static func name(of path: CommandPath) -> String {
    path.text.split(separator: " ").joined(separator: "-")
  }

  private static func section(_ title: String, _ rows: [(term: String, meaning: String)])
    -> [String]
  {
    guard !rows.isEmpty else { return [] }
    return [".SH \(title)"]
      + rows.flatMap { [".TP", "\\fB\(plain($0.term))\\fR", body($0.meaning)] }
  }

  private static func related(to path: CommandPath) -> [String] {
    var names = path.command.commands.compactMap { path.child($0.name) }.map(name)
    if let parent = path.parent { names.insert(name(of: parent), at: 0) }
    guard !names.isEmpty else { return [] }
    return [".SH SEE ALSO", names.map { "\\fB\(plain($0))\\fR(1)" }.joined(separator: ",\n")]
  }

  /// Escapes text for a line that begins with a letter or with a font escape.
  private static func plain(_ text: String) -> String {
    text.map {
      switch $0 {
      case "\\": "\\e"
      case "-": "\\-"
      case "\"": "\\(dq"
      // The formatter would turn these into typographic characters, which shells do not accept.
      case "'": "\\(aq"
      case "`": "\\(ga"
      case "^": "\\(ha"
      case "~": "\\(ti"
      case _: String($0)
      }
    }.joined()
  }

  /// Escapes text that may begin with a control character of the formatter.
  private static func body(_ text: String) -> String {
    let text = plain(text)
    return text.hasPrefix(".") ? "\\&" + text : text
  }
}
