package import LinkJSON

/// The arguments of a command, read and checked.
public struct Arguments: Sendable {
  /// The words given for each parameter, by its label.
  var words: [String: [String]] = [:]
  /// The environment variables that provided the words of parameters, by the parameter's label.
  var variables: [String: String] = [:]

  /// The value of a parameter that the command declares.
  public subscript<Value>(parameter: Parameter<Value>) -> Value {
    guard let value = parameter.read(words[parameter.declaration.label] ?? []) else {
      // The parser has read the same words before, and has found every required parameter.
      preconditionFailure("\(parameter.declaration.label) is not declared by this command")
    }
    return value
  }
}

/// One run of a command: its arguments, its output and its environment.
public struct Invocation: Sendable {
  /// The command with its parents, such as `holdfast policy show`.
  public var command: String
  /// The values of its parameters.
  public var arguments: Arguments
  /// Where results and diagnostics go.
  public var console: Console
  /// Returns the value of an environment variable; `nil` if it is not set.
  public var environment: @Sendable (String) -> String?

  /// The value of a parameter that the command declares.
  public subscript<Value>(parameter: Parameter<Value>) -> Value { arguments[parameter] }

  /// What provided the value of a parameter: its label, or an environment variable such as
  /// `$HOLDFAST_SERVER`.
  public func source<Value>(of parameter: Parameter<Value>) -> String {
    let label = parameter.declaration.label
    return arguments.variables[label] ?? label
  }

  /// Prints a line on standard error, after the command's name.
  public func diagnostic(_ text: String) {
    console.diagnostic("\(command): \(text)")
  }

  /// Prints a result on standard output: a line, or with `--json` an object.
  ///
  /// - Parameter event: The object's first member, `event`; `nil` for none.
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
