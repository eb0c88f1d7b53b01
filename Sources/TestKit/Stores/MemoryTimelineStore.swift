public import LinkRuntime
public import LinkWire

/// A timeline store in memory, which fails when a test tells it to.
public actor MemoryTimelineStore: TimelineStore {
  private let memory = MemoryStore()
  private var faults = Faults()

  /// Makes an empty store.
  public init() {}

  /// Makes the next `count` calls throw `failure` and do nothing else.
  public func failNext(_ count: Int = 1, with failure: StoreFailure) {
    faults.plan(count, failure)
  }

  public func load(
    _ shop: ShopID, limit: Int
  ) async throws(StoreFailure) -> TimelineSnapshot {
    try faults.check()
    return try await memory.load(shop, limit: limit)
  }

  public func commit(
    _ change: TimelineChange, to shop: ShopID
  ) async throws(StoreFailure) -> TimelineCommit {
    try faults.check()
    return try await memory.commit(change, to: shop)
  }

  public func older(
    than key: TimelineKey, in shop: ShopID, limit: Int
  ) async throws(StoreFailure) -> [Message] {
    try faults.check()
    return try await memory.older(than: key, in: shop, limit: limit)
  }

  public func shops() async throws(StoreFailure) -> [ShopID] {
    try faults.check()
    return try await memory.shops()
  }

  public func close() async { await memory.close() }
}

/// What a fake was told to do wrong.
struct Faults {
  private var left = 0
  private var failure = StoreFailure.other(detail: "")
  var isClosed = false

  mutating func plan(_ count: Int, _ failure: StoreFailure) {
    left = count
    self.failure = failure
  }

  mutating func check() throws(StoreFailure) {
    guard !isClosed else { throw .other(detail: "The store is closed.") }
    guard left > 0 else { return }
    left -= 1
    throw failure
  }
}
