import HoldfastPorts
import HoldfastSocket

extension StorageLocation {
  /// Returns a function that closes a store if the feature has opened it.
  func closing(_ store: any SuspendableStore) -> @Sendable () async -> Void {
    if case .store = self { return {} }
    return { await store.close() }
  }

  /// Runs `start`, which reads an open store and then creates the journal. If it throws an error, a
  /// store that the feature has opened is closed.
  ///
  /// The journal is created last: a second process that finds the store locked must not rename the
  /// journal of the first one.
  func starting<Value>(
    with store: any SuspendableStore, _ start: () async throws(OpenError) -> Value
  ) async throws(OpenError) -> Value {
    do throws(OpenError) {
      return try await start()
    } catch {
      await closing(store)()
      throw error
    }
  }
}
