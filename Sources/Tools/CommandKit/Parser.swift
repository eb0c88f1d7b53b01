/// A parser of command lines for a tree of declared commands.
///
/// The package has its own parser so that it can be built without downloads. Options may follow
/// their command in any order, as `--x V` or `--x=V`. After `--` every word is an operand.
public struct Parser: Sendable {
  /// The meaning of a command line.
  public enum Request: Sendable {
    case help(CommandPath)
    case version
    case run(CommandPath, Arguments)
  }

  private let root: CommandPath
  private let environment: @Sendable (String) -> String?

  /// Creates a parser for the commands of `root`; `environment` returns the value of a variable.
  public init(
    _ root: Command, environment: @escaping @Sendable (String) -> String? = { _ in nil }
  ) {
    self.root = CommandPath(root)
    self.environment = environment
  }

  /// Returns the meaning of the words after the program's name.
  ///
  /// - Throws: A failure with the code `usage`.
  public func parse(_ words: [String]) throws(ParseFailure) -> Request {
    var path = root
    var rest = words[...]
    let asksForHelp = rest.first == "help"
    if asksForHelp { rest = rest.dropFirst() }
    while case .group = path.command.body {
      guard let word = rest.popFirst() else {
        if asksForHelp { return .help(path) }
        throw ParseFailure(path, "a command is missing", "one of \(Self.names(below: path))")
      }
      switch word {
      case "--help", "-h": return .help(path)
      case "--version": return .version
      case _: path = try step(from: path, to: word)
      }
    }
    while let word = rest.first, let next = path.child(word) {
      path = next
      rest = rest.dropFirst()
    }
    let options = rest.prefix { $0 != "--" }
    if asksForHelp || options.contains("--help") || options.contains("-h") { return .help(path) }
    var scan = Scan(path: path, rest: rest)
    try scan.readAll()
    try scan.readVariables(environment)
    return .run(path, try scan.arguments())
  }

  private func step(from path: CommandPath, to word: String) throws(ParseFailure) -> CommandPath {
    if let next = path.child(word) { return next }
    if word.hasPrefix("-") {
      throw ParseFailure(path, "\(word) must come after a command", "put the command first")
    }
    let known = path.command.commands.map(\.name)
    throw ParseFailure(
      path, "unknown command \(word)",
      Spelling.nearest(to: word, among: known).map { "did you mean \($0)?" }
        ?? "one of \(Self.names(below: path))")
  }

  private static func names(below path: CommandPath) -> String {
    path.command.commands.map(\.name).joined(separator: ", ")
  }
}

/// An invalid command line: the command that was reached and the failure.
public struct ParseFailure: Error, Sendable {
  /// The command that was being parsed.
  public let path: CommandPath
  /// The cause and the remedy, with the code `usage`.
  public let failure: CommandFailure

  init(_ path: CommandPath, _ cause: String, _ remedy: String) {
    self.path = path
    failure = CommandFailure(.usage, cause, remedy: remedy)
  }
}

/// The state of parsing one command's words.
private struct Scan {
  let path: CommandPath
  var rest: ArraySlice<String>
  private var words: [String: [String]] = [:]
  private var variables: [String: String] = [:]
  private var operands: [String] = []

  init(path: CommandPath, rest: ArraySlice<String>) {
    self.path = path
    self.rest = rest
  }

  private var parameters: [Declaration] { path.command.parameters }

  mutating func readAll() throws(ParseFailure) {
    while let word = rest.popFirst() {
      if word == "--" {
        operands += rest
        rest = []
      } else if word.hasPrefix("-"), word.count > 1 {
        try readOption(word)
      } else {
        operands.append(word)
      }
    }
    try placeOperands()
  }

  /// Reads missing parameters from the environment; an empty variable counts as not set.
  mutating func readVariables(_ environment: (String) -> String?) throws(ParseFailure) {
    for parameter in parameters where words[parameter.label] == nil {
      guard let name = parameter.variable, let word = environment(name), !word.isEmpty else {
        continue
      }
      try check(word, of: parameter, as: "$\(name)")
      words[parameter.label] = [word]
      variables[parameter.label] = "$\(name)"
    }
  }

  private mutating func readOption(_ word: String) throws(ParseFailure) {
    let split = word.firstIndex(of: "=")
    let label = String(word[..<(split ?? word.endIndex)])
    let attached = split.map { String(word[word.index(after: $0)...]) }
    guard let option = parameters.first(where: { $0.place != .operand && $0.label == label })
    else { throw unknown(label) }
    switch option.place {
    case .flag:
      guard attached == nil else {
        throw fault("\(label) takes no value", "write \(label) alone")
      }
      try keep("", for: option)
    case .option, .operand:
      guard let value = attached ?? takeValue() else {
        throw fault("\(label) needs a value", "write \(label) \(option.placeholder)")
      }
      try keep(value, for: option)
    }
  }

  /// Takes the next word unless it looks like an option. A value that looks like one needs `=`.
  private mutating func takeValue() -> String? {
    guard let next = rest.first, !next.hasPrefix("--") else { return nil }
    return rest.popFirst()
  }

  private func unknown(_ label: String) -> ParseFailure {
    let known = parameters.filter { $0.place != .operand }.map(\.label) + ["--help"]
    let remedy = Spelling.nearest(to: label, among: known).map { "did you mean \($0)?" }
    return fault(
      "unknown option \(label)", remedy ?? "\(path.text) --help lists the options")
  }

  private mutating func placeOperands() throws(ParseFailure) {
    var left = operands[...]
    for parameter in parameters where parameter.place == .operand {
      switch parameter.count {
      case .required, .optional:
        if let word = left.popFirst() { try keep(word, for: parameter) }
      case .repeated:
        while let word = left.popFirst() { try keep(word, for: parameter) }
      }
    }
    if let extra = left.first {
      throw fault("unexpected operand \"\(extra)\"", "remove it, or quote words with spaces")
    }
  }

  private mutating func keep(_ word: String, for parameter: Declaration) throws(ParseFailure) {
    switch parameter.count {
    case .required, .optional:
      guard words[parameter.label] == nil else {
        throw fault("\(parameter.label) was given twice", "remove one")
      }
    case .repeated: break
    }
    try check(word, of: parameter, as: parameter.label)
    words[parameter.label, default: []].append(word)
  }

  private func check(
    _ word: String, of parameter: Declaration, as name: String
  ) throws(ParseFailure) {
    guard parameter.place != .flag, !parameter.isReadable(word) else { return }
    let remedy =
      Spelling.nearest(to: word, among: parameter.words).map { "did you mean \($0)?" }
      ?? "it must be \(parameter.expectation)"
    let cause =
      parameter.isSecret
      ? "the value of \(name) is not valid" : "\(name) cannot be \"\(word)\""
    throw fault(cause, remedy)
  }

  /// Returns the arguments; throws if a required parameter is missing.
  func arguments() throws(ParseFailure) -> Arguments {
    for parameter in parameters {
      let count = words[parameter.label]?.count ?? 0
      switch parameter.count {
      case .optional: continue
      case .required: if count == 0 { throw missing(parameter) }
      case .repeated(let least): if count < least { throw missing(parameter) }
      }
    }
    return Arguments(words: words, variables: variables)
  }

  private func missing(_ parameter: Declaration) -> ParseFailure {
    let value = parameter.place == .operand ? "" : " \(parameter.placeholder)"
    let variable = parameter.variable.map { "; or set \($0)" } ?? ""
    let remedy = "add \(parameter.label)\(value), \(parameter.meaning)\(variable)"
    return fault("\(parameter.label) is missing", remedy)
  }

  private func fault(_ cause: String, _ remedy: String) -> ParseFailure {
    ParseFailure(path, cause, remedy)
  }
}
