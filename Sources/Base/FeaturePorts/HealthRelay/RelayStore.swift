public import HoldfastCore
public import HoldfastPorts
public import HoldfastRelayData

/// A store of the state that a backend's relay needs after a restart: phones, grants of access, and
/// questions.
///
/// Changes are applied in the order of the calls. They are atomic, and durable when `apply`
/// returns. Removed data is also erased from the file, as soon as the disk permits it; until then
/// `check` fails. No phone's answer and no token is stored.
public protocol RelayStore: SuspendableStore {
  /// Returns all stored data: phones by id, grants of access by token, and questions in order of
  /// arrival, and sessions of assistants by ID.
  func stored() async throws(StoreFailure) -> StoredRelay

  /// Applies changes in the given order. Removing a missing item has no effect.
  func apply(_ changes: [RelayChange]) async throws(StoreFailure)
}

/// A relay store in memory.
public typealias MemoryRelayStore = MemoryStore<StoredRelay>

extension MemoryStore: RelayStore where Value == StoredRelay {
  /// Creates an empty store.
  public init() { self.init(StoredRelay()) }

  public func stored() throws(StoreFailure) -> StoredRelay { try use { $0 } }

  public nonisolated func apply(_ changes: [RelayChange]) async throws(StoreFailure) {
    try use { stored in
      for change in changes { stored.apply(change) }
    }
  }
}
