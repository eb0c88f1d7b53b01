/// What a command was called with, read and checked.
public struct Arguments: Sendable {
  /// The words given for each parameter, by its label.
  var words: [String: [String]] = [:]

  /// The value of a parameter that the command declares.
  public subscript<Value>(parameter: Parameter<Value>) -> Value {
    guard let value = parameter.read(words[parameter.declaration.label] ?? []) else {
      // The parser has read these very words before, and has found every required one.
      preconditionFailure("\(parameter.declaration.label) is not declared by this command")
    }
    return value
  }
}

/// A command at work: its arguments, its output and its surroundings.
public struct Invocation: Sendable {
  /// What was given.
  public var arguments: Arguments
  /// Where results and diagnostics go.
  public var console: Console
  /// The value of an environment variable; `nil` when it is not set.
  public var environment: @Sendable (String) -> String?

  /// The value of a parameter that the command declares.
  public subscript<Value>(parameter: Parameter<Value>) -> Value { arguments[parameter] }
}
