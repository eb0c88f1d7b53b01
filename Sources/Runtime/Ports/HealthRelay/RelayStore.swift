public import LinkCore
public import LinkDriver
public import LinkStorage

/// A store of the state that a backend's relay needs after a restart: phones, accesses, questions.
///
/// Changes are atomic and durable when `apply` returns, in the order of the calls. Removed data is
/// also erased from the file, at once or as soon as the disk permits; until then `check` fails. No
/// phone's answer and no token is stored.
public protocol RelayStore: Store {
  /// Returns everything that is stored: phones by id, accesses by token, questions in order of
  /// arrival.
  func stored() async throws(StoreFailure) -> StoredRelay

  /// Applies changes in this order. Removing a missing item changes nothing.
  func apply(_ changes: [RelayChange]) async throws(StoreFailure)
}

/// A relay store in memory.
public typealias MemoryRelayStore = MemoryStore<StoredRelay>

extension MemoryStore: RelayStore where Value == StoredRelay {
  /// Creates an empty store.
  public init() { self.init(StoredRelay()) }

  public func stored() throws(StoreFailure) -> StoredRelay { try use { $0 } }

  public func apply(_ changes: [RelayChange]) throws(StoreFailure) {
    try use { stored in
      for change in changes { stored.apply(change) }
    }
  }
}
