import LinkRuntime

/// A promise of a port that an implementation did not keep, with what it did instead.
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

/// Checks that an open store is healthy, that it can be closed twice, and that it fails then.
func closes(_ store: any Store, read: () async throws -> Void) async throws {
  try await store.check()
  await store.close()
  await store.close()
  try await fails { try await read() }
  try await fails { try await store.check() }
}

private func fails(_ call: () async throws -> Void) async throws {
  do { try await call() } catch { return }
  throw ContractViolation("a closed store fails: it answered")
}
