public import LinkCore
public import LinkHealth
public import LinkWire

/// A store in memory: a value behind a lock. It fails if a test plans a failure.
///
/// Streams that shall leave no trace keep their timelines in one.
public actor MemoryStore<Value: Sendable>: Store {
  private var value: Value
  private var isClosed = false
  private var failuresLeft = 0
  private var failure = StoreFailure.closed

  /// A store that holds `value`.
  public init(_ value: Value) {
    self.value = value
  }

  /// Makes the next `count` calls throw `failure` and do nothing else.
  public func failNext(_ count: Int = 1, with failure: StoreFailure) {
    (failuresLeft, self.failure) = (count, failure)
  }

  public func check() throws(StoreFailure) { try use { _ in } }

  public func close() { isClosed = true }

  private func use<Result>(
    _ body: (inout Value) throws(StoreFailure) -> Result
  ) throws(StoreFailure) -> Result {
    guard !isClosed else { throw .closed }
    guard failuresLeft == 0 else {
      failuresLeft -= 1
      throw failure
    }
    return try body(&value)
  }
}

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

extension MemoryStore: OutboxStore where Value == KeptOutbox {
  /// An empty outbox.
  public init() { self.init(KeptOutbox()) }

  public func load() throws(StoreFailure) -> [ProvenQueue.Entry] { try use { $0.all } }

  public func add(_ entry: ProvenQueue.Entry) throws(StoreFailure) { try use { $0.add(entry) } }

  public func remove(_ ids: [UInt64]) throws(StoreFailure) { try use { $0.remove(ids) } }
}

extension MemoryStore: MessageLog where Value == KeptLogs {
  /// An empty log, whose positions carry `epoch`.
  public init(epoch: String = "memory") { self.init(KeptLogs(epoch: epoch)) }

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

  public func head(of shop: ShopID) throws(StoreFailure) -> Position {
    try use { $0[shop].head }
  }
}

extension MemoryStore: HealthStore where Value == KeptHealth {
  /// An empty store.
  public init() { self.init(KeptHealth()) }

  public func add(_ batch: HealthBatch) throws(StoreFailure) -> HealthAddition {
    try use { samples throws(StoreFailure) in try samples.add(batch) }
  }

  public func samples(_ query: HealthSampleQuery) throws(StoreFailure) -> HealthSamplePage {
    try use { $0.samples(query) }
  }

  public func summary() throws(StoreFailure) -> [HealthTypeSummary] { try use { $0.summary } }
}

extension MemoryStore: RelayStore where Value == RelayKept {
  /// An empty store.
  public init() { self.init(RelayKept()) }

  public func kept() throws(StoreFailure) -> RelayKept { try use { $0 } }

  public func apply(_ changes: [RelayChange]) throws(StoreFailure) {
    try use { kept in
      for change in changes { kept.apply(change) }
    }
  }
}
