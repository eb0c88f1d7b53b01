public import HoldfastCore
public import HoldfastPorts
public import HoldfastSessionData

/// A store of a session client's state: its id, prompts, messages and cursors.
///
/// Changes are applied in the order of the calls. They are atomic, and durable when `commit`
/// returns.
public protocol ClientSessionStore: SuspendableStore {
  /// Returns the stored state. A new store is assigned to the given client.
  func open(as client: UUID128) async throws(StoreFailure) -> ClientSessionSnapshot

  /// Stores a change. Returns the new entries with their numbers.
  func commit(_ change: ClientSessionChange) async throws(StoreFailure) -> [NumberedSessionNews]

  /// Returns up to `limit` messages of a conversation before a number, or the newest if it is
  /// `nil`; oldest first.
  ///
  /// The messages include the user's own prompts.
  func history(
    of conversation: String, before number: UInt64?, limit: Int
  ) async throws(StoreFailure) -> [NumberedSessionNews]

  /// Returns the connection statistics of each day, the oldest day first.
  func days() async throws(StoreFailure) -> [SessionDay]
}

/// A client session store in memory.
public typealias MemoryClientSessionStore = MemoryStore<StoredClientSession>

extension MemoryStore: ClientSessionStore where Value == StoredClientSession {
  /// Creates an empty store.
  public init() { self.init(StoredClientSession()) }

  public func open(as client: UUID128) throws(StoreFailure) -> ClientSessionSnapshot {
    try use { $0.open(as: client) }
  }

  public nonisolated func commit(
    _ change: ClientSessionChange
  ) async throws(StoreFailure) -> [NumberedSessionNews] {
    try use { $0.commit(change) }
  }

  public func history(
    of conversation: String, before number: UInt64?, limit: Int
  ) throws(StoreFailure) -> [NumberedSessionNews] {
    try use { $0.history(of: conversation, before: number, limit: limit) }
  }

  public func days() throws(StoreFailure) -> [SessionDay] { try use { $0.days } }
}

/// A store of the state that a session server needs after a restart: clients, prompts, and
/// conversations.
///
/// Changes are applied in the order of the calls. They are atomic, and durable when `apply`
/// returns.
public protocol SessionStore: SuspendableStore {
  /// Returns the whole stored state.
  func stored() async throws(StoreFailure) -> StoredSessions

  /// Applies changes in the given order. Changing a missing item has no effect.
  func apply(_ changes: [SessionChange]) async throws(StoreFailure)
}

/// A session store in memory.
public typealias MemorySessionStore = MemoryStore<StoredSessions>

extension MemoryStore: SessionStore where Value == StoredSessions {
  /// Creates an empty store.
  public init() { self.init(StoredSessions()) }

  public func stored() throws(StoreFailure) -> StoredSessions { try use { $0 } }

  public nonisolated func apply(_ changes: [SessionChange]) async throws(StoreFailure) {
    try use { stored in
      for change in changes { stored.apply(change) }
    }
  }
}
