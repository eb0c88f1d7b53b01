public import LinkCore
public import LinkDriver
public import LinkStorage

/// A store of what a backend's relay needs after a restart: phones, accesses, questions.
///
/// Changes are durable, all or none, when `apply` returns, in the order of the calls. What was
/// removed is removed from the file as well, at once or as soon as the disk permits; until then
/// `check` fails. No answer of a phone and no token is stored here.
public protocol RelayStore: Store {
  /// Returns everything that is kept: phones by id, accesses by token, questions in the order in
  /// which they came.
  func kept() async throws(StoreFailure) -> StoredRelay

  /// Makes changes in this order. Removing what is not there changes nothing.
  func apply(_ changes: [RelayChange]) async throws(StoreFailure)
}

/// A relay store in memory.
public typealias MemoryRelayStore = MemoryStore<StoredRelay>

extension MemoryStore: RelayStore where Value == StoredRelay {
  /// An empty store.
  public init() { self.init(StoredRelay()) }

  public func kept() throws(StoreFailure) -> StoredRelay { try use { $0 } }

  public func apply(_ changes: [RelayChange]) throws(StoreFailure) {
    try use { kept in
      for change in changes { kept.apply(change) }
    }
  }
}
