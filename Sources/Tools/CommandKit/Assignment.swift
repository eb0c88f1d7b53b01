/// A parameter together with the value of a configuration that it sets.
public struct Assignment<Target>: Sendable {
  /// The parameter.
  public let declaration: Declaration
  let assign: @Sendable (Arguments, inout Target) -> Void

  /// Declares a parameter; `assign` stores its value, given or default.
  public init<Value>(
    _ parameter: Parameter<Value>, _ assign: @escaping @Sendable (inout Target, Value) -> Void
  ) {
    declaration = parameter.declaration
    self.assign = { assign(&$1, $0[parameter]) }
  }
}

extension Invocation {
  /// Stores the values of all these parameters.
  public func assign<Target>(_ assignments: [Assignment<Target>], to target: inout Target) {
    for assignment in assignments { assignment.assign(arguments, &target) }
  }
}
