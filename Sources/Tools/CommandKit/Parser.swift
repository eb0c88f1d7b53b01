/// A parser of command lines for a tree of declared commands.
///
/// The package has its own parser so that it can be built without downloads. Options may follow
/// their command in any order, in the form `--x V` or `--x=V`. After `--`, every word is an
/// operand.
public struct Parser: Sendable {
  /// The meaning of a command line.
  public enum Request: Sendable {
    case help(CommandPath)
    case version
    case run(CommandPath, Arguments)
  }

  /// A function that reads a file which gives values of options. Its second argument is the option
  /// or variable that names the file.
  public typealias ReadFile =
    @Sendable (_ path: String, String) throws(CommandFailure) -> OptionFile

  private let root: CommandPath
  private let environment: @Sendable (String) -> String?
  private let files: ReadFile
  /// Whether errors leave out the values of options, as logs must.
  private var hidesValues = false

  /// Creates a parser for the commands of `root`. `environment` returns the value of a variable.
  public init(
    _ root: Command, environment: @escaping @Sendable (String) -> String? = { _ in nil },
    files: @escaping ReadFile = OptionFile.read
  ) {
    self.root = CommandPath(root)
    self.environment = environment
    self.files = files
  }

  /// Parses the arguments of a running command again, with the environment and the files as they
  /// are now.
  ///
  /// - Throws: A failure that contains no value of an option.
  func reparse(_ arguments: [String]) throws(CommandFailure) -> Arguments {
    var parser = self
    parser.hidesValues = true
    do throws(ParseFailure) {
      guard case .run(_, let found) = try parser.parse(arguments) else {
        throw ParseFailure(root, "the arguments run no command", "give the same arguments")
      }
      return found
    } catch {
      throw error.failure
    }
  }

  /// Parses the arguments that follow the program's name.
  ///
  /// - Throws: A failure with the exit code `usage`.
  public func parse(_ arguments: [String]) throws(ParseFailure) -> Request {
    var path = root
    var rest = arguments[...]
    let asksForHelp = rest.first == "help"
    if asksForHelp { rest = rest.dropFirst() }
    while case .group = path.command.body {
      guard let argument = rest.popFirst() else {
        if asksForHelp { return .help(path) }
        throw ParseFailure(path, "a command is missing", "one of \(Self.names(below: path))")
      }
      switch argument {
      case "--help", "-h": return .help(path)
      case "--version": return .version
      case _: path = try step(from: path, to: argument)
      }
    }
    while let argument = rest.first, let next = path.child(argument) {
      path = next
      rest = rest.dropFirst()
    }
    let options = rest.prefix { $0 != "--" }
    if asksForHelp || options.contains("--help") || options.contains("-h") { return .help(path) }
    var scan = Scan(path: path, rest: rest, environment, files, hidesValues: hidesValues)
    try scan.readAll()
    try scan.readVariables()
    try scan.readFile()
    return .run(path, try scan.arguments())
  }

  private func step(from path: CommandPath, to name: String) throws(ParseFailure) -> CommandPath {
    if let next = path.child(name) { return next }
    if name.hasPrefix("-") {
      throw ParseFailure(path, "\(name) must come after a command", "put the command first")
    }
    let known = path.command.commands.map(\.name)
    throw ParseFailure(
      path, "unknown command \(name)",
      Spelling.nearest(to: name, among: known).map { "did you mean \($0)?" }
        ?? "one of \(Self.names(below: path))")
  }

  private static func names(below path: CommandPath) -> String {
    path.command.commands.map(\.name).joined(separator: ", ")
  }
}

/// An error for an invalid command line, with the command that was being parsed.
public struct ParseFailure: Error, Sendable {
  /// The command that was being parsed.
  public let path: CommandPath
  /// The cause and the remedy, with the exit code `usage`.
  public let failure: CommandFailure

  init(_ path: CommandPath, _ cause: String, _ remedy: String) {
    self.init(path, CommandFailure(.usage, cause, remedy: remedy))
  }

  init(_ path: CommandPath, _ failure: CommandFailure) {
    (self.path, self.failure) = (path, failure)
  }
}

/// The state of parsing one command's arguments.
struct Scan {
  let path: CommandPath
  let environment: (String) -> String?
  let files: Parser.ReadFile
  /// The values of each parameter that is given, and where they come from, by the parameter's label.
  var values: [String: [String]] = [:]
  var sources: [String: ValueSource] = [:]
  var warnings: [String] = []
  private var rest: ArraySlice<String>
  private let hidesValues: Bool
  private var operands: [String] = []

  init(
    path: CommandPath, rest: ArraySlice<String>, _ environment: @escaping (String) -> String?,
    _ files: @escaping Parser.ReadFile, hidesValues: Bool
  ) {
    (self.path, self.rest, self.environment, self.files) = (path, rest, environment, files)
    self.hidesValues = hidesValues
  }

  var parameters: [Declaration] { path.command.parameters }

  mutating func readAll() throws(ParseFailure) {
    while let argument = rest.popFirst() {
      if argument == "--" {
        operands += rest
        rest = []
      } else if argument.hasPrefix("-"), argument.count > 1 {
        try readOption(argument)
      } else {
        operands.append(argument)
      }
    }
    try assignOperands()
  }

  private mutating func readOption(_ argument: String) throws(ParseFailure) {
    let split = argument.firstIndex(of: "=")
    let label = String(argument[..<(split ?? argument.endIndex)])
    let attached = split.map { String(argument[argument.index(after: $0)...]) }
    guard let option = parameters.first(where: { $0.kind != .operand && $0.label == label })
    else { throw unknown(label) }
    switch option.kind {
    case .flag:
      guard attached == nil else {
        throw fault("\(label) takes no value", "write \(label) alone")
      }
      try store("", for: option)
    case .option, .operand:
      guard let value = attached ?? takeValue() else {
        throw fault("\(label) needs a value", "write \(label) \(option.placeholder)")
      }
      try store(value, for: option)
    }
  }

  /// Takes the next argument, unless it begins with `--`. Such a value must be given in the form
  /// `--x=V`.
  private mutating func takeValue() -> String? {
    guard let next = rest.first, !next.hasPrefix("--") else { return nil }
    return rest.popFirst()
  }

  private func unknown(_ label: String) -> ParseFailure {
    let known = parameters.filter { $0.kind != .operand }.map(\.label) + ["--help"]
    let remedy = Spelling.nearest(to: label, among: known).map { "did you mean \($0)?" }
    return fault(
      "unknown option \(label)", remedy ?? "\(path.text) --help lists the options")
  }

  private mutating func assignOperands() throws(ParseFailure) {
    var left = operands[...]
    for parameter in parameters where parameter.kind == .operand {
      switch parameter.count {
      case .required, .optional:
        if let value = left.popFirst() { try store(value, for: parameter) }
      case .repeated:
        while let value = left.popFirst() { try store(value, for: parameter) }
      }
    }
    if let extra = left.first {
      throw fault("unexpected operand \"\(extra)\"", "remove it, or quote words with spaces")
    }
  }

  private mutating func store(_ value: String, for parameter: Declaration) throws(ParseFailure) {
    switch parameter.count {
    case .required, .optional:
      guard values[parameter.label] == nil else {
        throw fault("\(parameter.label) was given twice", "remove one")
      }
    case .repeated: break
    }
    try check(value, of: parameter, as: parameter.label)
    values[parameter.label, default: []].append(value)
    sources[parameter.label] = .commandLine
  }

  /// - Parameter place: The place of the value in a file, which precedes the cause.
  func check(
    _ value: String, of parameter: Declaration, as name: String, at place: String = ""
  ) throws(ParseFailure) {
    // A file can contain what an argument cannot. The system would cut a path there.
    guard !value.utf8.contains(0) else {
      throw fault("\(place)\(name) contains a NUL character", "remove it")
    }
    guard parameter.kind != .flag, parameter.canonical(value) == nil else { return }
    let remedy =
      Spelling.nearest(to: value, among: parameter.choices).map { "did you mean \($0)?" }
      ?? "it must be \(parameter.expectation)"
    let cause =
      parameter.isSecret || hidesValues
      ? "the value of \(name) is not valid" : "\(name) cannot be \"\(value)\""
    throw fault(place + cause, remedy)
  }

  /// Returns the arguments.
  ///
  /// - Throws: A failure if a required parameter is missing.
  func arguments() throws(ParseFailure) -> Arguments {
    for parameter in parameters {
      let count = values[parameter.label]?.count ?? 0
      switch parameter.count {
      case .optional: continue
      case .required: if count == 0 { throw missing(parameter) }
      case .repeated(let least): if count < least { throw missing(parameter) }
      }
    }
    return Arguments(
      values: values, sources: sources, parameters: parameters, warnings: warnings)
  }

  private func missing(_ parameter: Declaration) -> ParseFailure {
    let value = parameter.kind == .operand ? "" : " \(parameter.placeholder)"
    let name = parameter.variable ?? path.command.variables?.name(for: parameter)
    let variable = name.map { "; or set \($0)" } ?? ""
    let remedy = "add \(parameter.label)\(value), \(parameter.meaning)\(variable)"
    return fault("\(parameter.label) is missing", remedy)
  }

  func fault(_ cause: String, _ remedy: String) -> ParseFailure {
    ParseFailure(path, cause, remedy)
  }
}
