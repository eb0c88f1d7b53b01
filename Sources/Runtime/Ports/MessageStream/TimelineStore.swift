public import LinkWire

/// A store of the timelines of a phone.
///
/// `commit` is atomic, and durable when it returns; after a failure nothing of it is visible. Calls
/// may come from any task; the store puts them in order.
public protocol TimelineStore: Store {
  /// Returns what is kept of a shop: the newest `limit` messages, cursor, gaps, outbox.
  func load(_ shop: ShopID, limit: Int) async throws(StoreFailure) -> TimelineSnapshot

  /// Stores all of `change` in one transaction and returns what was new.
  ///
  /// A message whose id is known is an edit if its `updatedAt` is later than what is kept: then its
  /// text, time of update and mark replace the kept ones, and nothing else of the message changes.
  func commit(_ change: TimelineChange, to shop: ShopID) async throws(StoreFailure)
    -> TimelineCommit

  /// Returns up to `limit` messages before `key`, oldest first.
  func older(than key: TimelineKey, in shop: ShopID, limit: Int) async throws(StoreFailure)
    -> [Message]

  /// Returns the shops of which anything is kept, in order.
  func shops() async throws(StoreFailure) -> [ShopID]
}

/// The timelines of a phone in memory.
public typealias MemoryTimelineStore = MemoryStore<KeptTimelines>

extension MemoryStore: TimelineStore where Value == KeptTimelines {
  /// An empty store.
  public init() { self.init(KeptTimelines()) }

  public func load(_ shop: ShopID, limit: Int) throws(StoreFailure) -> TimelineSnapshot {
    try use { $0[shop].load(limit: limit) }
  }

  public func commit(
    _ change: TimelineChange, to shop: ShopID
  ) throws(StoreFailure) -> TimelineCommit {
    try use { timelines throws(StoreFailure) in try timelines.commit(change, to: shop) }
  }

  public func older(
    than key: TimelineKey, in shop: ShopID, limit: Int
  ) throws(StoreFailure) -> [Message] {
    try use { $0[shop].older(than: key, limit: limit) }
  }

  public func shops() throws(StoreFailure) -> [ShopID] { try use { $0.shops } }
}
