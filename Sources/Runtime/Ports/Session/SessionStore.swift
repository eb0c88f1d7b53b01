public import LinkCore
public import LinkDriver
public import LinkWire

/// A store of what the server of sessions needs after a restart: clients, prompts, conversations.
///
/// Changes are durable, all or none, when `apply` returns, in the order of the calls.
public protocol SessionStore: Store {
  /// Returns everything that is kept.
  func kept() async throws(StoreFailure) -> SessionKept

  /// Makes changes in this order. Changing what is not there changes nothing.
  func apply(_ changes: [SessionChange]) async throws(StoreFailure)
}

/// A store of sessions in memory.
public typealias MemorySessionStore = MemoryStore<SessionKept>

extension MemoryStore: SessionStore where Value == SessionKept {
  /// An empty store.
  public init() { self.init(SessionKept()) }

  public func kept() throws(StoreFailure) -> SessionKept { try use { $0 } }

  public func apply(_ changes: [SessionChange]) throws(StoreFailure) {
    try use { kept in
      for change in changes { kept.apply(change) }
    }
  }
}
