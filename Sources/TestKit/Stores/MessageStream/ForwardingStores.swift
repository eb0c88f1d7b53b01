package import LinkCore
package import LinkRuntime
package import LinkWire

/// A timeline store that does one thing differently and passes every other call to another store.
package protocol ForwardingTimelineStore: TimelineStore {
  var store: any TimelineStore { get }
}

extension ForwardingTimelineStore {
  package func load(
    _ shop: ShopID, limit: Int
  ) async throws(StoreFailure) -> TimelineSnapshot {
    try await store.load(shop, limit: limit)
  }

  package func commit(
    _ change: TimelineChange, to shop: ShopID
  ) async throws(StoreFailure) -> TimelineCommit {
    try await store.commit(change, to: shop)
  }

  package func older(
    than key: TimelineKey, in shop: ShopID, limit: Int
  ) async throws(StoreFailure) -> [Message] {
    try await store.older(than: key, in: shop, limit: limit)
  }

  package func shops() async throws(StoreFailure) -> [ShopID] { try await store.shops() }

  package func consumers(of shop: ShopID) async throws(StoreFailure) -> [ConsumerState] {
    try await store.consumers(of: shop)
  }

  package func addConsumer(
    _ name: ConsumerName, of shop: ShopID, from start: ConsumerStart
  ) async throws(StoreFailure) {
    try await store.addConsumer(name, of: shop, from: start)
  }

  package func deliveries(
    to name: ConsumerName, of shop: ShopID, after number: UInt64, limit: Int
  ) async throws(StoreFailure) -> [Delivery] {
    try await store.deliveries(to: name, of: shop, after: number, limit: limit)
  }

  package func acknowledge(
    _ name: ConsumerName, of shop: ShopID, through number: UInt64
  ) async throws(StoreFailure) {
    try await store.acknowledge(name, of: shop, through: number)
  }

  package func removeConsumer(
    _ name: ConsumerName, of shop: ShopID
  ) async throws(StoreFailure) -> Bool {
    try await store.removeConsumer(name, of: shop)
  }

  package func check() async throws(StoreFailure) { try await store.check() }

  package func close() async { await store.close() }
}

/// A message log that does one thing differently and passes every other call to another log.
package protocol ForwardingLog: MessageLog {
  var log: any MessageLog { get }
}

extension ForwardingLog {
  package func append(_ entries: [LogEntry]) async -> [Result<Appended, StoreFailure>] {
    await log.append(entries)
  }

  package func page(_ query: PageQuery, of shop: ShopID) async throws(StoreFailure) -> Page {
    try await log.page(query, of: shop)
  }

  package func count(_ query: PageQuery, of shop: ShopID) async throws(StoreFailure) -> UInt64 {
    try await log.count(query, of: shop)
  }

  package func head(of shop: ShopID) async throws(StoreFailure) -> Position {
    try await log.head(of: shop)
  }

  package func check() async throws(StoreFailure) { try await log.check() }

  package func close() async { await log.close() }
}
