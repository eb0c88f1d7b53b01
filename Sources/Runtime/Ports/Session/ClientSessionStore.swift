public import LinkCore
public import LinkDriver
public import LinkStorage

/// A store of what a client of sessions must not forget: its id, prompts, messages, cursors.
///
/// Changes are durable, all or none, when `commit` returns, in the order of the calls.
public protocol ClientSessionStore: Store {
  /// Returns what is kept; a new store belongs to this client from now on.
  func open(as client: UUID128) async throws(StoreFailure) -> ClientSessionSnapshot

  /// Makes a change and returns what of its news is new, with its numbers.
  func commit(_ change: ClientSessionChange) async throws(StoreFailure) -> [NumberedSessionNews]

  /// Returns up to `limit` messages of a conversation before a number, or the newest; oldest first.
  /// The user's own prompts are among them.
  func history(
    of conversation: String, before number: UInt64?, limit: Int
  ) async throws(StoreFailure) -> [NumberedSessionNews]

  /// Returns the connections of each day in numbers, the oldest day first.
  func days() async throws(StoreFailure) -> [SessionDay]
}

/// A client's store in memory.
public typealias MemoryClientSessionStore = MemoryStore<StoredClientSession>

extension MemoryStore: ClientSessionStore where Value == StoredClientSession {
  /// An empty store.
  public init() { self.init(StoredClientSession()) }

  public func open(as client: UUID128) throws(StoreFailure) -> ClientSessionSnapshot {
    try use { $0.open(as: client) }
  }

  public func commit(_ change: ClientSessionChange) throws(StoreFailure) -> [NumberedSessionNews] {
    try use { $0.commit(change) }
  }

  public func history(
    of conversation: String, before number: UInt64?, limit: Int
  ) throws(StoreFailure) -> [NumberedSessionNews] {
    try use { $0.history(of: conversation, before: number, limit: limit) }
  }

  public func days() throws(StoreFailure) -> [SessionDay] { try use { $0.days } }
}

/// A store of what the server of sessions needs after a restart: clients, prompts, conversations.
///
/// Changes are durable, all or none, when `apply` returns, in the order of the calls.
public protocol SessionStore: Store {
  /// Returns everything that is kept.
  func kept() async throws(StoreFailure) -> StoredSessions

  /// Makes changes in this order. Changing what is not there changes nothing.
  func apply(_ changes: [SessionChange]) async throws(StoreFailure)
}

/// A store of sessions in memory.
public typealias MemorySessionStore = MemoryStore<StoredSessions>

extension MemoryStore: SessionStore where Value == StoredSessions {
  /// An empty store.
  public init() { self.init(StoredSessions()) }

  public func kept() throws(StoreFailure) -> StoredSessions { try use { $0 } }

  public func apply(_ changes: [SessionChange]) throws(StoreFailure) {
    try use { kept in
      for change in changes { kept.apply(change) }
    }
  }
}
