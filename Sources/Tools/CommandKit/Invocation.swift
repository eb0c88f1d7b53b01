package import HoldfastJSON

/// The parsed and checked arguments of a command.
public struct Arguments: Sendable {
  /// The values given for each parameter, by the parameter's label.
  var values: [String: [String]] = [:]
  /// The sources of these values, by the parameter's label.
  var sources: [String: ValueSource] = [:]
  /// The parameters of the command.
  var parameters: [Declaration] = []
  /// What the user should know about the sources, for standard error.
  var warnings: [String] = []

  /// The value of a parameter. The command must have declared the parameter.
  public subscript<Value>(parameter: Parameter<Value>) -> Value {
    guard let value = parameter.read(values[parameter.declaration.label] ?? []) else {
      // The parser has already read these values and has checked that no required parameter is
      // missing.
      preconditionFailure("\(parameter.declaration.label) is not declared by this command")
    }
    return value
  }
}

/// One invocation of a command: its arguments, its console and its environment.
public struct Invocation: Sendable {
  /// The command with its parents, such as `holdfast policy show`.
  public var command: String
  /// The values of the parameters.
  public var arguments: Arguments
  /// The console for results and diagnostics.
  public var console: Console
  /// Returns the value of an environment variable; `nil` if it is not set.
  public var environment: @Sendable (String) -> String?
  /// Returns the arguments for the same command line, with the environment and files as they are now.
  var again: @Sendable () throws(CommandFailure) -> Arguments

  /// The value of a parameter. The command must have declared the parameter.
  public subscript<Value>(parameter: Parameter<Value>) -> Value { arguments[parameter] }

  /// Returns whether the command line, a variable or a file gives a parameter a value.
  public func isGiven<Value>(_ parameter: Parameter<Value>) -> Bool {
    arguments.values[parameter.declaration.label]?.isEmpty == false
  }

  /// Returns the source of a parameter's value: the parameter's label, an environment variable such
  /// as `$HOLDFAST_SERVER`, or a place in a file such as `holdfast.toml:3:8`.
  public func source<Value>(of parameter: Parameter<Value>) -> String {
    let label = parameter.declaration.label
    guard let source = arguments.sources[label], source != .commandLine else { return label }
    return source.text
  }

  /// Prints a line on standard error, prefixed with the command's name.
  public func diagnostic(_ text: String) {
    console.diagnostic("\(command): \(text)")
  }

  /// Prints a result on standard output, either as a line of text or, with `--json`, as an object.
  ///
  /// - Parameter event: The value of the object's first member, `event`. If it is `nil`, the object
  ///   has no such member.
  package func put(
    _ line: @autoclosure () -> String, event: String? = nil,
    _ members: (inout JSONWriter) -> Void
  ) {
    guard self[Shared.json] else { return console.line(line()) }
    console.object {
      if let event { $0.entry("event", event) }
      members(&$0)
    }
  }
}
