/// Says which promise of a port an implementation did not keep, and what it did instead.
public struct ContractViolation: Error, Sendable, Hashable, CustomStringConvertible {
  /// The promise, what was found and what was wanted.
  public var description: String

  /// Takes the whole text.
  public init(_ description: String) {
    self.description = description
  }

  /// Throws unless both values are the same.
  static func unless<Value: Equatable>(
    _ found: Value, is wanted: Value, _ promise: String
  ) throws(ContractViolation) {
    guard found != wanted else { return }
    throw ContractViolation("\(promise): found \(found), wanted \(wanted)")
  }
}
