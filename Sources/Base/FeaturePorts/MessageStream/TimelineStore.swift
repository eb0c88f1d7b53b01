public import HoldfastCore
public import HoldfastMessageData
public import HoldfastPorts

/// A store of a phone's timelines.
///
/// `commit` is atomic, and durable when it returns. After a failure no part of the change is
/// visible. Any task may call the store, which serializes the calls.
public protocol TimelineStore: SuspendableStore {
  /// The directory beside whose files the images of the outbox are kept; `nil` for a store in
  /// memory, which is the default. Such images are lost when the process ends.
  var directory: String? { get }

  /// Returns a shop's cursor, gaps and outbox, and its newest `limit` messages.
  func load(_ shop: ShopID, limit: Int) async throws(StoreFailure) -> TimelineSnapshot

  /// Stores a whole change in one transaction. Returns what was new.
  ///
  /// A message with a known id is an edit if it is a later version of the stored one. Its text,
  /// update time, mark and position of the edit then replace the stored values. The other values of
  /// the stored message do not change. The edits of a change apply to stored messages only. When the
  /// call returns, no file of the store contains an earlier text or a deleted message, unless another
  /// process reads the store at that moment: then a later commit removes it.
  func commit(_ change: TimelineChange, to shop: ShopID) async throws(StoreFailure)
    -> TimelineCommit

  /// Returns up to `limit` messages before `key`, oldest first.
  func older(than key: TimelineKey, in shop: ShopID, limit: Int) async throws(StoreFailure)
    -> [ShopMessage]

  /// Returns the shops with stored data, in order.
  func shops() async throws(StoreFailure) -> [ShopID]

  /// Returns the consumers of a shop, by name.
  func consumers(of shop: ShopID) async throws(StoreFailure) -> [ConsumerState]

  /// Adds a consumer of a shop. An existing consumer is not changed.
  ///
  /// Until the consumer is removed, each later commit adds one delivery for each deletion, then one
  /// for each new message, in timeline order, and one for each edit. The deliveries of a message
  /// that was deleted all say so.
  func addConsumer(
    _ name: ConsumerName, of shop: ShopID, from start: ConsumerStart
  ) async throws(StoreFailure)

  /// Returns the first `limit` deliveries to a consumer after a number; an empty array if there is
  /// no such consumer.
  func deliveries(
    to name: ConsumerName, of shop: ShopID, after number: UInt64, limit: Int
  ) async throws(StoreFailure) -> [ShopDelivery]

  /// Removes the deliveries up to a number. A number below an earlier one has no effect.
  ///
  /// - Throws: `.other` if the number is above that of the last delivery.
  func acknowledge(
    _ name: ConsumerName, of shop: ShopID, through number: UInt64
  ) async throws(StoreFailure)

  /// Removes a consumer and its deliveries. Returns false if it does not exist.
  func removeConsumer(_ name: ConsumerName, of shop: ShopID) async throws(StoreFailure) -> Bool
}

extension TimelineStore {
  /// Returns `nil`, for a store that is not in a directory.
  public var directory: String? { nil }
}

/// The timelines of a phone in memory.
public typealias MemoryTimelineStore = MemoryStore<StoredTimelines>

extension MemoryStore: TimelineStore where Value == StoredTimelines {
  /// Creates an empty store.
  public init() { self.init(StoredTimelines()) }

  public func load(_ shop: ShopID, limit: Int) throws(StoreFailure) -> TimelineSnapshot {
    try use { $0[shop].load(limit: limit) }
  }

  public nonisolated func commit(
    _ change: TimelineChange, to shop: ShopID
  ) async throws(StoreFailure) -> TimelineCommit {
    try use { timelines throws(StoreFailure) in try timelines.commit(change, to: shop) }
  }

  public func older(
    than key: TimelineKey, in shop: ShopID, limit: Int
  ) throws(StoreFailure) -> [ShopMessage] {
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
  ) throws(StoreFailure) -> [ShopDelivery] {
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

  private func change<Result: Sendable>(
    _ shop: ShopID, _ body: (inout StoredTimeline) throws(StoreFailure) -> Result
  ) throws(StoreFailure) -> Result {
    try use { timelines throws(StoreFailure) in try timelines.change(shop, body) }
  }
}
