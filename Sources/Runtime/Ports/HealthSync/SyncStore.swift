public import LinkCore
public import LinkDriver
public import LinkHealth
public import LinkStorage
public import LinkWire

/// A store of the samples that phones sync, for all users of a backend.
///
/// `apply` is atomic, and durable when it returns; after a failure nothing of it is visible. What a
/// batch does to what is kept says `StoredSync`. Calls may come from any task; the store puts them in
/// order.
public protocol SyncStore: Store {
  /// Returns the epoch: one generation of what is stored, in 1 to 64 printable characters.
  func epoch() async throws(StoreFailure) -> String

  /// Returns the newest stamp of a batch of a phone; `nil` if there is none.
  func newestStamp(of user: String, device: String) async throws(StoreFailure) -> Timestamp?

  /// Applies a batch in one transaction, and returns what was new.
  func apply(_ delivery: SyncDelivery) async throws(StoreFailure) -> SyncTally

  /// Returns one page of the samples of a user that lie in a span, at least in part.
  func samples(
    _ query: HealthSampleQuery, of user: String
  ) async throws(StoreFailure) -> HealthSamplePage

  /// Returns what is kept of each type of a user, ordered by its identifier.
  func summary(of user: String) async throws(StoreFailure) -> [HealthTypeSummary]

  /// Returns records of a type as they were sent, by start, after a place or from the first one.
  ///
  /// - Parameter limit: The most records; less than 1 counts as 1.
  func raw(
    _ type: String, after: HealthSamplePlace?, limit: Int, of user: String
  ) async throws(StoreFailure) -> [SyncRaw]
}

/// A sync store in memory.
public typealias MemorySyncStore = MemoryStore<StoredSync>

extension MemoryStore: SyncStore where Value == StoredSync {
  /// An empty store.
  public init() { self.init(StoredSync()) }

  public func epoch() throws(StoreFailure) -> String { try use { $0.epoch } }

  public func newestStamp(
    of user: String, device: String
  ) throws(StoreFailure) -> Timestamp? {
    try use { $0.newestStamp(of: user, device: device) }
  }

  public func apply(_ delivery: SyncDelivery) throws(StoreFailure) -> SyncTally {
    try use { $0.apply(delivery) }
  }

  public func samples(
    _ query: HealthSampleQuery, of user: String
  ) throws(StoreFailure) -> HealthSamplePage {
    try use { $0.samples(query, of: user) }
  }

  public func summary(of user: String) throws(StoreFailure) -> [HealthTypeSummary] {
    try use { $0.summary(of: user) }
  }

  public func raw(
    _ type: String, after: HealthSamplePlace?, limit: Int, of user: String
  ) throws(StoreFailure) -> [SyncRaw] {
    try use { $0.raw(type, after: after, limit: limit, of: user) }
  }
}

/// A source of health samples with the meaning of HealthKit: observers fire, pages deliver what was
/// added and deleted since an anchor.
///
/// Contract: `observe` fires once for its types soon after the call, and again after each change;
/// several changes may fire once. A page without changes has the anchor of its query. A page never
/// leaves out a change; it may repeat one. A sample has the same UUID whenever it is delivered.
public protocol HealthSource: Sendable {
  /// Fires for changes of these types, in place of those observed before. Each call hands over a
  /// wake, to be given back within its budget.
  func observe(
    _ types: [String], _ fired: @escaping @Sendable ([String], Wake) -> Void) async

  /// Returns what changed after an anchor.
  ///
  /// - Throws: `.locked` while the device is locked; the samples are there, and cannot be read yet.
  func page(
    _ type: String, from start: HealthPageStart, limit: Int
  ) async throws(HealthSourceFailure) -> SourcePage

  /// Ends observing.
  func stop() async
}

/// A store of what a phone must not forget of its sync: anchors, batches that wait, parked ones.
///
/// Changes are durable, all or none, when `apply` returns, in the order of the calls. What a step
/// does says `StoredSyncQueue`.
public protocol SyncQueueStore: Store {
  /// Returns everything that is kept.
  func kept() async throws(StoreFailure) -> StoredSyncQueue

  /// Makes changes in this order, in one transaction.
  func apply(_ steps: [SyncQueueStep]) async throws(StoreFailure)
}

/// A queue in memory.
public typealias MemorySyncQueueStore = MemoryStore<StoredSyncQueue>

extension MemoryStore: SyncQueueStore where Value == StoredSyncQueue {
  /// An empty queue.
  public init() { self.init(StoredSyncQueue()) }

  public func kept() throws(StoreFailure) -> StoredSyncQueue { try use { $0 } }

  public func apply(_ steps: [SyncQueueStep]) throws(StoreFailure) {
    try use { queue in
      for step in steps { queue.apply(step) }
    }
  }
}
