public import LinkCore
public import LinkDriver
public import LinkWire

/// A store of what a phone must not forget of its sync: anchors, batches that wait, parked ones.
///
/// Changes are durable, all or none, when `apply` returns, in the order of the calls. What a step
/// does says `KeptSyncQueue`.
public protocol SyncQueueStore: Store {
  /// Returns everything that is kept.
  func kept() async throws(StoreFailure) -> KeptSyncQueue

  /// Makes changes in this order, in one transaction.
  func apply(_ steps: [SyncQueueStep]) async throws(StoreFailure)
}

/// A queue in memory.
public typealias MemorySyncQueueStore = MemoryStore<KeptSyncQueue>

extension MemoryStore: SyncQueueStore where Value == KeptSyncQueue {
  /// An empty queue.
  public init() { self.init(KeptSyncQueue()) }

  public func kept() throws(StoreFailure) -> KeptSyncQueue { try use { $0 } }

  public func apply(_ steps: [SyncQueueStep]) throws(StoreFailure) {
    try use { queue in
      for step in steps { queue.apply(step) }
    }
  }
}
