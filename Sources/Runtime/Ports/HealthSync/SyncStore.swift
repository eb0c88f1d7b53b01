public import LinkCore
public import LinkDriver
public import LinkHealth
public import LinkWire

/// A store of the samples that phones sync, for all users of a backend.
///
/// `apply` is atomic, and durable when it returns; after a failure nothing of it is visible. What a
/// batch does to what is kept says `KeptSync`. Calls may come from any task; the store puts them in
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
public typealias MemorySyncStore = MemoryStore<KeptSync>

extension MemoryStore: SyncStore where Value == KeptSync {
  /// An empty store.
  public init() { self.init(KeptSync()) }

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
