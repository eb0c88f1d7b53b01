public import HoldfastCore

/// A store of the messages of one durable outbox.
public protocol OutboxStore: SuspendableStore {
  /// Returns all messages, in the order of their ids.
  func load() async throws(StoreFailure) -> [OutboxMessage]
  /// Returns the highest id that was ever added, also if that message was removed; 0 if there was
  /// none. The numbers of new messages follow it.
  func lastID() async throws(StoreFailure) -> UInt64
  /// Stores a message. The message is durable when the method returns.
  func add(_ entry: OutboxMessage) async throws(StoreFailure)
  /// Removes messages. Unknown ids are ignored.
  func remove(_ ids: [UInt64]) async throws(StoreFailure)
}

/// An outbox in memory.
public typealias MemoryOutbox = MemoryStore<StoredOutbox>

extension MemoryStore: OutboxStore where Value == StoredOutbox {
  /// Creates an empty outbox.
  public init() { self.init(StoredOutbox()) }

  public func load() throws(StoreFailure) -> [OutboxMessage] { try use { $0.all } }

  public func lastID() throws(StoreFailure) -> UInt64 { try use { $0.lastID } }

  public func add(_ entry: OutboxMessage) throws(StoreFailure) { try use { $0.add(entry) } }

  public func remove(_ ids: [UInt64]) throws(StoreFailure) { try use { $0.remove(ids) } }
}
