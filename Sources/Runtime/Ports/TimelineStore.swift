public import LinkWire

/// Keeps the timelines of a phone.
///
/// Contract: `commit` is atomic and durable when it returns; after a failure nothing of it is
/// visible. Calls may come from any task; the store puts them in order.
public protocol TimelineStore: Sendable {
  /// Reads what is kept of a shop: the newest `limit` messages, cursor, gaps, outbox.
  func load(_ shop: ShopID, limit: Int) async throws(StoreFailure) -> TimelineSnapshot

  /// Writes all of `change` in one transaction and says what was new.
  func commit(_ change: TimelineChange, to shop: ShopID) async throws(StoreFailure)
    -> TimelineCommit

  /// Reads up to `limit` messages before `key`, oldest first.
  func older(than key: TimelineKey, in shop: ShopID, limit: Int) async throws(StoreFailure)
    -> [Message]

  /// The shops of which anything is kept.
  func shops() async throws(StoreFailure) -> [ShopID]

  /// Closes it; later calls fail.
  func close() async
}
