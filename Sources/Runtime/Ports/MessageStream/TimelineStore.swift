public import LinkCore
public import LinkDriver
public import LinkStorage
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

  /// Returns the consumers of a shop, by name.
  func consumers(of shop: ShopID) async throws(StoreFailure) -> [ConsumerState]

  /// Adds a consumer of a shop; one that is there already stays as it is.
  ///
  /// From then on each commit adds a delivery for each new message, in timeline order, and one for
  /// each edit, until the consumer is removed.
  func addConsumer(
    _ name: ConsumerName, of shop: ShopID, from start: ConsumerStart
  ) async throws(StoreFailure)

  /// Returns the first `limit` deliveries to a consumer after a number; none if it is not there.
  func deliveries(
    to name: ConsumerName, of shop: ShopID, after number: UInt64, limit: Int
  ) async throws(StoreFailure) -> [Delivery]

  /// Forgets the deliveries up to a number. A lower number than before does nothing.
  ///
  /// - Throws: `.other` for a number above that of the last delivery.
  func acknowledge(
    _ name: ConsumerName, of shop: ShopID, through number: UInt64
  ) async throws(StoreFailure)

  /// Removes a consumer and its deliveries; returns false if there is none.
  func removeConsumer(_ name: ConsumerName, of shop: ShopID) async throws(StoreFailure) -> Bool
}

/// The timelines of a phone in memory.
public typealias MemoryTimelineStore = MemoryStore<StoredTimelines>

extension MemoryStore: TimelineStore where Value == StoredTimelines {
  /// An empty store.
  public init() { self.init(StoredTimelines()) }

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

  public func consumers(of shop: ShopID) throws(StoreFailure) -> [ConsumerState] {
    try use { $0[shop].consumers }
  }

  public func addConsumer(
    _ name: ConsumerName, of shop: ShopID, from start: ConsumerStart
  ) throws(StoreFailure) {
    try change(shop) { timeline throws(StoreFailure) in
      try timeline.addConsumer(name, from: start)
    }
  }

  public func deliveries(
    to name: ConsumerName, of shop: ShopID, after number: UInt64, limit: Int
  ) throws(StoreFailure) -> [Delivery] {
    try use { $0[shop].deliveries(to: name, after: number, limit: limit) }
  }

  public func acknowledge(
    _ name: ConsumerName, of shop: ShopID, through number: UInt64
  ) throws(StoreFailure) {
    try change(shop) { timeline throws(StoreFailure) in
      try timeline.acknowledge(name, through: number)
    }
  }

  public func removeConsumer(
    _ name: ConsumerName, of shop: ShopID
  ) throws(StoreFailure) -> Bool {
    try change(shop) { $0.removeConsumer(name) }
  }

  private func change<Result>(
    _ shop: ShopID, _ body: (inout StoredTimeline) throws(StoreFailure) -> Result
  ) throws(StoreFailure) -> Result {
    try use { timelines throws(StoreFailure) in try timelines.change(shop, body) }
  }
}
