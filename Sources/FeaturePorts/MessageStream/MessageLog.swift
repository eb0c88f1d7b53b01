public import HoldfastCore
public import HoldfastPorts
public import HoldfastStorage
public import HoldfastWire

/// A store of the backend's messages. Each shop has a log, in which each message has the next
/// offset.
///
/// A message is durable when `append` returns. The offsets of a shop are 1, 2, 3… without gaps, in
/// the order in which messages are appended. The epoch never changes while the log exists.
public protocol MessageLog: SuspendableStore {
  /// Appends messages in the given order and in one commit, and returns the result of each.
  ///
  /// A message is not added if the same user has already used its idempotency key in the same shop.
  /// Its result is then the stored message. A refused message takes no offset, and the others are
  /// appended.
  func append(_ entries: [LogEntry]) async -> [Result<Appended, StoreFailure>]

  /// Returns a page of a shop's messages, ordered by position. Only the pages of `since` queries
  /// are ordered by creation and id.
  func page(_ query: PageQuery, of shop: ShopID) async throws(StoreFailure) -> Page

  /// Returns the total number of messages in the range of a page query.
  func count(_ query: PageQuery, of shop: ShopID) async throws(StoreFailure) -> UInt64

  /// Returns the newest position of a shop. Its offset is 0 if the shop is empty.
  func head(of shop: ShopID) async throws(StoreFailure) -> ShopPosition
}

extension MessageLog {
  /// Appends one message and returns it with its position. The idempotency key is optional.
  public func append(
    _ message: ShopMessage, idempotencyKey key: UUID128?
  ) async throws(StoreFailure) -> Appended {
    guard let result = await append([LogEntry(message: message, key: key)]).first else {
      throw .unanswered
    }
    return try result.get()
  }
}

extension StoreFailure {
  /// The failure of an entry for which a log returned no result.
  public static let unanswered = StoreFailure.other(detail: "The log returned no result.")
}

/// A message log in memory.
public typealias MemoryMessageLog = MemoryStore<StoredLogs>

extension MemoryStore: MessageLog where Value == StoredLogs {
  /// Creates an empty log. Its positions have the given epoch.
  public init(epoch: String = "memory") { self.init(StoredLogs(epoch: epoch)) }

  public func append(_ entries: [LogEntry]) -> [Result<Appended, StoreFailure>] {
    do throws(StoreFailure) {
      return try use { logs in entries.map { logs.append($0) } }
    } catch {
      return entries.map { _ in .failure(error) }
    }
  }

  public func page(_ query: PageQuery, of shop: ShopID) throws(StoreFailure) -> Page {
    try use { $0[shop].page(query) }
  }

  public func count(_ query: PageQuery, of shop: ShopID) throws(StoreFailure) -> UInt64 {
    try use { $0[shop].count(query) }
  }

  public func head(of shop: ShopID) throws(StoreFailure) -> ShopPosition {
    try use { $0[shop].head }
  }
}
