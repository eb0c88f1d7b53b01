public import HoldfastCore

/// A store in memory: an actor that holds a value. Tests can make its calls fail.
///
/// The conformances are declared with the ports. Streams that must not leave data on disk use this
/// type for their timelines.
public actor MemoryStore<Value: Sendable>: SuspendableStore {
  private var value: Value
  private var isClosed = false
  private var isSuspended = false
  private var failuresLeft = 0
  private var failure = StoreFailure.closed

  /// Creates a store that contains `value`.
  public init(_ value: Value) {
    self.value = value
  }

  /// Makes the next `count` calls throw `failure` without any effect.
  public func failNext(_ count: Int = 1, with failure: StoreFailure) {
    (failuresLeft, self.failure) = (count, failure)
  }

  public func check() throws(StoreFailure) { try use { _ in } }

  public func close() { isClosed = true }

  public func suspend() { isSuspended = true }

  public func resume() throws(StoreFailure) { isSuspended = false }

  /// Runs `body` with the value.
  ///
  /// - Throws: An error if the store is closed or suspended, or if a test planned a failure.
  package func use<Result>(
    _ body: (inout Value) throws(StoreFailure) -> Result
  ) throws(StoreFailure) -> Result {
    guard !isClosed else { throw .closed }
    guard !isSuspended else { throw .suspended }
    guard failuresLeft == 0 else {
      failuresLeft -= 1
      throw failure
    }
    return try body(&value)
  }
}
