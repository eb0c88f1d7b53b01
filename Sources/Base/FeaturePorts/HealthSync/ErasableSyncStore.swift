public import HoldfastCore
public import HoldfastPorts

/// A store of synced samples that can erase one user.
public protocol ErasableSyncStore: SyncStore {
  /// Erases a part of what is stored about a user, in one transaction.
  ///
  /// Until the last part was erased, a query of the user returns some of the samples.
  ///
  /// - Parameter limit: The maximum number of records of the part.
  /// - Returns: The number of records that were erased; 0 if nothing about the user is left.
  func erase(_ user: String, atMost limit: Int) async throws(StoreFailure) -> Int
}

extension MemoryStore: ErasableSyncStore where Value == StoredSync {
  public func erase(_ user: String, atMost limit: Int) throws(StoreFailure) -> Int {
    try use { $0.erase(user) }
  }
}
