package import HoldfastCore
package import HoldfastFeaturePorts
package import HoldfastMessageData

/// A timeline store that forwards calls to another store. Conforming types replace some of the
/// methods.
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
  ) async throws(StoreFailure) -> [ShopMessage] {
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
  ) async throws(StoreFailure) -> [ShopDelivery] {
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

/// A message log that forwards calls to another log. Conforming types replace some of the methods.
package protocol ForwardingLog: MessageLog {
  var log: any MessageLog { get }
}

extension ForwardingLog {
  package func append(_ requests: [LogRequest]) async -> [Result<LogOutcome, StoreFailure>] {
    await log.append(requests)
  }

  package func page(_ query: PageQuery, of shop: ShopID) async throws(StoreFailure) -> Page {
    try await log.page(query, of: shop)
  }

  package func count(_ query: PageQuery, of shop: ShopID) async throws(StoreFailure) -> UInt64 {
    try await log.count(query, of: shop)
  }

  package func head(of shop: ShopID) async throws(StoreFailure) -> ShopPosition {
    try await log.head(of: shop)
  }

  package func shop(of id: MessageID) async throws(StoreFailure) -> ShopID? {
    try await log.shop(of: id)
  }

  package func addImage(
    _ image: StoredImage, atMost most: Int
  ) async throws(StoreFailure) -> Bool {
    try await log.addImage(image, atMost: most)
  }

  package func oldestUnclaimedImage(
    of user: String
  ) async throws(StoreFailure) -> Timestamp? {
    try await log.oldestUnclaimedImage(of: user)
  }

  package func image(_ id: MessageID) async throws(StoreFailure) -> StoredImage? {
    try await log.image(id)
  }

  package func deleteImage(_ id: MessageID) async throws(StoreFailure) {
    try await log.deleteImage(id)
  }

  package func deleteUnclaimedImages(before time: Timestamp) async throws(StoreFailure) {
    try await log.deleteUnclaimedImages(before: time)
  }

  package func deletedImages() async throws(StoreFailure) -> [MessageID] {
    try await log.deletedImages()
  }

  package func forgetImages(_ ids: [MessageID]) async throws(StoreFailure) {
    try await log.forgetImages(ids)
  }

  package func removeTraces() async throws(StoreFailure) { try await log.removeTraces() }

  package func check() async throws(StoreFailure) { try await log.check() }

  package func close() async { await log.close() }
}

/// Sample values for the contract suites.
enum StoreSamples {
  static func shop(_ name: String) throws(ContractViolation) -> ShopID {
    guard let shop = ShopID(name) else { throw ContractViolation("\(name) is no shop id") }
    return shop
  }

  static func id(_ number: UInt64) -> UUID128 {
    UUID128(high: 0xF000_0000_0000_4000, low: 0x8000_0000_0000_0000 | number)
  }

  /// Returns a message in which every field is set, to detect a store that omits a field.
  static func message(_ number: UInt64, in shop: ShopID, at nanoseconds: Int64) -> ShopMessage {
    ShopMessage(
      id: id(number), shop: shop, user: "user-\(number % 3)", username: "Ödön \(number)",
      text: "text \(number) \u{0} 🪢 '\"\\", createdAt: Timestamp(nanoseconds: nanoseconds),
      updatedAt: Timestamp(nanoseconds: nanoseconds), isEdited: number.isMultiple(of: 2),
      parent: number > 1 ? id(number - 1) : nil,
      position: ShopPosition(epoch: "e-1", offset: .max - number))
  }

  /// Returns a message without any optional field.
  static func bare(_ number: UInt64, in shop: ShopID, at nanoseconds: Int64) -> ShopMessage {
    ShopMessage(
      id: id(number), shop: shop, user: "", username: nil, text: "",
      createdAt: Timestamp(nanoseconds: nanoseconds))
  }

  static func entry(_ number: UInt64, in shop: ShopID) -> OutboxEntry {
    OutboxEntry(
      id: id(number), shop: shop, text: "out \(number)", parent: number > 1 ? id(1) : nil,
      createdAt: Timestamp(nanoseconds: 7), state: .queued(tries: Int(number)))
  }
}
