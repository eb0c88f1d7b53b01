import HoldfastPorts

extension StorageLocation {
  /// Returns a function that closes a store if the feature has opened it.
  func closing(_ store: any SuspendableStore) -> @Sendable () async -> Void {
    if case .store = self { return {} }
    return { await store.close() }
  }
}
