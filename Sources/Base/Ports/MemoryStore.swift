public import HoldfastCore
import Synchronization

/// A store in memory: an actor that holds a value. Tests can make its calls fail.
///
/// The conformances are declared with the ports. Streams that must not leave data on disk use this
/// type for their timelines.
public actor MemoryStore<Value: Sendable>: SuspendableStore {
  private struct State: Sendable {
    var value: Value
    var isClosed = false
    var isSuspended = false
    var failuresLeft = 0
    var failure = StoreFailure.closed
  }

  /// The state, which has a lock of its own, so that commits need no change of threads.
  private nonisolated let state: Mutex<State>

  /// Creates a store that contains `value`.
  public init(_ value: Value) {
    state = Mutex(State(value: value))
  }

  /// Makes the next `count` calls throw `failure` without any effect.
  public func failNext(_ count: Int = 1, with failure: StoreFailure) {
    state.withLock { ($0.failuresLeft, $0.failure) = (count, failure) }
  }

  public func check() throws(StoreFailure) { try use { _ in } }

  public func close() { state.withLock { $0.isClosed = true } }

  public func suspend() { state.withLock { $0.isSuspended = true } }

  public func resume() throws(StoreFailure) { state.withLock { $0.isSuspended = false } }

  /// Runs `body` with the value.
  ///
  /// - Throws: An error if the store is closed or suspended, or if a test planned a failure.
  package nonisolated func use<Result: Sendable>(
    _ body: (inout Value) throws(StoreFailure) -> Result
  ) throws(StoreFailure) -> Result {
    try state.withLock { state throws(StoreFailure) in
      guard !state.isClosed else { throw .closed }
      guard !state.isSuspended else { throw .suspended }
      guard state.failuresLeft == 0 else {
        state.failuresLeft -= 1
        throw state.failure
      }
      return try body(&state.value)
    }
  }
}
