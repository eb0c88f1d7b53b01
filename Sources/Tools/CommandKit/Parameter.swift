public import HoldfastCore

/// A parameter of a command, declared once for parsing, help and typed access.
public struct Parameter<Value: Sendable>: Sendable {
  /// The declaration, which does not depend on the type of the value.
  public let declaration: Declaration
  /// Returns the value for the strings that were given for the parameter, in order; `nil` if they
  /// are invalid.
  let read: @Sendable ([String]) -> Value?

  /// Declares `--name VALUE` with a default value.
  public static func option(
    _ name: String, _ format: Format<Value>, default fallback: Value, _ meaning: String
  ) -> Parameter {
    var declaration = Declaration(.option, .optional, name, format, meaning)
    declaration.fallback = format.write(fallback)
    let read = format.read
    return Parameter(declaration: declaration) {
      $0.last.map { read($0) } ?? fallback
    }
  }

  /// Declares a required option, `--name VALUE`.
  ///
  /// - Parameter variable: The environment variable that supplies the value if the option is not
  ///   given.
  public static func required(
    _ name: String, _ format: Format<Value>, variable: String? = nil, _ meaning: String
  ) -> Parameter {
    var declaration = Declaration(.option, .required, name, format, meaning)
    declaration.variable = variable
    let read = format.read
    return Parameter(declaration: declaration) { $0.last.flatMap { read($0) } }
  }

  /// Declares an optional `--name VALUE`. `usual` is the default that help texts show.
  ///
  /// If the parameter is secret, its value is removed from the arguments that process lists show.
  public static func optional<Wrapped: Sendable>(
    _ name: String, _ format: Format<Wrapped>, usual: String? = nil, isSecret: Bool = false,
    _ meaning: String
  ) -> Parameter where Value == Wrapped? {
    var declaration = Declaration(.option, .optional, name, format, meaning)
    declaration.usual = usual
    declaration.isSecret = isSecret
    let read = format.read
    return Parameter(declaration: declaration) {
      guard let text = $0.last else { return .some(nil) }
      return read(text).map { .some($0) }
    }
  }

  /// Declares `--name VALUE`, which may be given any number of times, but at least `count` times.
  ///
  /// If the parameter is secret, its values are removed from the arguments that process lists show.
  ///
  /// - Parameter variable: The environment variable that supplies one value if the option is not
  ///   given.
  public static func repeated<Element: Sendable>(
    _ name: String, atLeast count: Int = 0, _ format: Format<Element>, isSecret: Bool = false,
    variable: String? = nil, _ meaning: String
  ) -> Parameter where Value == [Element] {
    var declaration = Declaration(.option, .repeated(atLeast: count), name, format, meaning)
    declaration.variable = variable
    declaration.isSecret = isSecret
    return all(declaration, format)
  }

  /// Declares a flag, `--name`, whose value is true if it is given.
  public static func flag(_ name: String, _ meaning: String) -> Parameter where Value == Bool {
    let none = Format<Bool>(placeholder: "", expectation: "") { _ in nil }
    return Parameter(declaration: Declaration(.flag, .optional, name, none, meaning)) {
      !$0.isEmpty
    }
  }

  /// Declares a required operand. The format's placeholder is the operand's name.
  public static func operand(_ format: Format<Value>, _ meaning: String) -> Parameter {
    let declaration = Declaration(.operand, .required, format.placeholder, format, meaning)
    let read = format.read
    return Parameter(declaration: declaration) { $0.last.flatMap { read($0) } }
  }

  /// Declares an operand that may be missing.
  public static func optionalOperand<Wrapped: Sendable>(
    _ format: Format<Wrapped>, _ meaning: String
  ) -> Parameter where Value == Wrapped? {
    let read = format.read
    let declaration = Declaration(.operand, .optional, format.placeholder, format, meaning)
    return Parameter(declaration: declaration) {
      guard let text = $0.last else { return .some(nil) }
      return read(text).map { .some($0) }
    }
  }

  /// Declares all remaining arguments as operands. At least `count` operands are required, and this
  /// parameter must be declared last.
  public static func operands<Element: Sendable>(
    atLeast count: Int, _ format: Format<Element>, _ meaning: String
  ) -> Parameter where Value == [Element] {
    let name = format.placeholder
    return all(Declaration(.operand, .repeated(atLeast: count), name, format, meaning), format)
  }

  /// Returns this parameter as one that is only given on the command line, even if a command also
  /// takes options from variables and a file.
  public func commandLineOnly() -> Parameter {
    var declaration = declaration
    declaration.isCommandLineOnly = true
    return Parameter(declaration: declaration, read: read)
  }

  private static func all<Element: Sendable>(
    _ declaration: Declaration, _ format: Format<Element>
  ) -> Parameter where Value == [Element] {
    let read = format.read
    return Parameter(declaration: declaration) { texts in
      let values = texts.compactMap { read($0) }
      return values.count == texts.count ? values : nil
    }
  }
}

/// A parameter's declaration for parsing and help, without the type of its value.
public struct Declaration: Sendable {
  /// The kind of a parameter.
  public enum Kind: Sendable, Hashable {
    case flag
    case option
    case operand
  }

  /// The number of times that a parameter may be given.
  public enum Count: Sendable, Hashable {
    case required
    case optional
    case repeated(atLeast: Int)
  }

  /// The name, without dashes.
  public let name: String
  /// The kind of the parameter.
  public let kind: Kind
  /// The number of times that the parameter may be given.
  public let count: Count
  /// The description in help texts, without a final period.
  public let meaning: String
  let placeholder: String
  let expectation: String
  let note: String
  let choices: [String]
  /// Returns the one text for all texts that mean the same value; `nil` if a text is invalid.
  let canonical: @Sendable (String) -> String?
  /// The text of the value that holds if the parameter is not given.
  var fallback: String?
  /// The description of the default for help texts, if no text is its value.
  var usual: String?
  /// The environment variable that supplies the value if the parameter is not given.
  var variable: String?
  /// Whether the value must be hidden from other users of the computer.
  public internal(set) var isSecret = false
  /// Whether neither a variable derived from the name nor a configuration file can give the value.
  var isCommandLineOnly = false

  init(
    _ kind: Kind, _ count: Count, _ name: String, _ format: Format<some Sendable>,
    _ meaning: String
  ) {
    self.kind = kind
    self.count = count
    self.name = name
    self.meaning = meaning
    placeholder = format.placeholder
    expectation = format.expectation
    note = format.note
    choices = format.choices
    let (read, write) = (format.read, format.write)
    canonical = { read($0).map(write) }
  }

  /// The parameter as it appears in usage texts, such as `--port` or `NAME`.
  public var label: String { kind == .operand ? name : "--\(name)" }
}

/// A parameter together with the configuration value that it sets.
public struct Assignment<Target>: Sendable {
  /// The parameter.
  public let declaration: Declaration
  let assign: @Sendable (Arguments, inout Target) -> Void

  /// Creates an assignment. `assign` stores the parameter's value, which is either given or the
  /// default.
  public init<Value>(
    _ parameter: Parameter<Value>, _ assign: @escaping @Sendable (inout Target, Value) -> Void
  ) {
    declaration = parameter.declaration
    self.assign = { assign(&$1, $0[parameter]) }
  }
}

extension Invocation {
  /// Stores the values of all the parameters in `assignments`.
  public func assign<Target>(_ assignments: [Assignment<Target>], to target: inout Target) {
    for assignment in assignments { assignment.assign(arguments, &target) }
  }
}

/// The options that commands share.
package enum Shared {
  package static let json = Parameter.flag("json", "print JSON, one object per line")

  /// For commands whose options are also given by variables and a file.
  package static let config = Parameter.optional(
    "config", .text("FILE"), usual: "none",
    "read options from this file in TOML, such as port = 8787")

  package static let check = Parameter.flag(
    "check",
    "print the value of each option and its source, check the files that the options name, and end"
  ).commandLineOnly()

  package static let settings = Parameter.repeated(
    "set", .setting, "change a value of the policy; `holdfast policy show` lists the keys")
}

extension LinkPolicy {
  /// Returns this policy with the changes given by `--set`.
  ///
  /// - Throws: A usage error if a value is invalid.
  package func with(_ settings: [Setting]) throws(CommandFailure) -> LinkPolicy {
    do {
      return try setting(settings.map { ($0.key, $0.value) })
    } catch {
      throw CommandFailure(.usage, error.problems.joined(separator: "; "))
    }
  }
}

/// A filter that counts repeated notices instead of printing them again.
public struct Repeats: Sendable {
  /// The interval at which the count of a repeated notice is printed.
  public static let pause = Duration.seconds(600)

  private var notice = ""
  private var count = 0
  private var since = Instant.zero

  public init() {}

  /// Returns the lines to print for one update.
  ///
  /// Before any lines other than a repeated notice, the number of omitted notices is printed.
  public mutating func lines(
    _ lines: [String], isNotice: Bool, at now: Instant
  ) -> [String] {
    guard let first = lines.first else { return [] }
    if isNotice, first == notice {
      count += 1
      guard since.duration(to: now) >= Self.pause else { return [] }
      since = now
      return counted()
    }
    let before = counted()
    notice = isNotice ? first : ""
    since = now
    return before + lines
  }

  /// Returns a line with the number of notices omitted so far, and resets the number.
  public mutating func counted() -> [String] {
    defer { count = 0 }
    return count == 0
      ? [] : ["-- the last notice came \(count) more \(count == 1 ? "time" : "times")"]
  }
}
