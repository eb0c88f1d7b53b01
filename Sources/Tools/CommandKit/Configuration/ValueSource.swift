/// The source of a parameter's value.
public enum ValueSource: Sendable, Hashable {
  /// The command line.
  case commandLine
  /// The environment variable with this name.
  case variable(String)
  /// The content of a file that an environment variable names.
  case variableFile(variable: String, path: String)
  /// A place in a configuration file.
  case configuration(path: String, TextPlace)

  /// A short description, such as `$HOLDFAST_PORT` or `holdfast.toml:3:8`.
  public var text: String {
    switch self {
    case .commandLine: "command line"
    case .variable(let name): "$\(name)"
    case .variableFile(let name, let path): "\(path) ($\(name))"
    case .configuration(let path, let place): "\(path):\(place.line):\(place.column)"
    }
  }
}

/// The content of a file that gives values of options.
public struct OptionFile: Sendable {
  /// The bytes of the file.
  public var bytes: [UInt8]
  /// Whether users other than the owner can read or change the file.
  public var isOpenToOthers: Bool

  /// Creates the content of a file.
  public init(bytes: [UInt8], isOpenToOthers: Bool) {
    (self.bytes, self.isOpenToOthers) = (bytes, isOpenToOthers)
  }

  /// Reads a file. A pipe is refused, because the file is read again when the options are reloaded.
  ///
  /// - Parameter source: The option or variable that names the file.
  public static func read(
    _ path: String, for source: String
  ) throws(CommandFailure) -> OptionFile {
    try TextFile.mustBeFile(path, option: source)
    return OptionFile(
      bytes: try TextFile.read(path), isOpenToOthers: TextFile.isOpenToOthers(path))
  }
}

/// The rules by which the options of a command are also given by variables and a file.
struct OptionVariables: Sendable, Hashable {
  /// The beginning of the variables' names, such as `HOLDFAST_`.
  let prefix: String
  /// The end of the name of a variable that names a file with the value.
  static let fileSuffix = "_FILE"

  /// Returns the variable for an option, such as `HOLDFAST_TLS_CERT` for `tls-cert`. Returns `nil`
  /// for operands, and for options that are only given on the command line.
  func name(for option: Declaration) -> String? {
    guard option.kind != .operand, !option.isCommandLineOnly else { return nil }
    return spelling(of: option)
  }

  /// Returns the variable that an option would have by its name alone.
  func spelling(of option: Declaration) -> String {
    prefix + option.name.uppercased().replacing("-", with: "_")
  }

  /// Returns the variable that names a file with the value of an option. Returns `nil` for flags, and
  /// if the variable gives the value of another option.
  func fileName(for option: Declaration, of command: Command) -> String? {
    guard option.kind == .option, let name = name(for: option).map({ $0 + Self.fileSuffix }),
      !command.parameters.contains(where: { self.name(for: $0) == name })
    else { return nil }
    return name
  }

  /// The paragraph of the help text.
  func note(of command: Command) -> String? {
    let options = command.parameters.filter { $0.kind == .option && !$0.isCommandLineOnly }
    guard let example = options.first(where: { $0.name.contains("-") }) ?? options.first,
      let variable = name(for: example)
    else { return nil }
    return """
      Each option can also be given by an environment variable, such as \(variable) for \
      \(example.label), or by its name in the file of --config. The command line overrides the \
      environment, and the environment overrides the file. \(variable)\(Self.fileSuffix) names a \
      file with the value. Flags are true or false; several values of a repeatable option are \
      separated by spaces in a variable, and are a list in the file.
      """
  }
}
