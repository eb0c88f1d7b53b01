public import HoldfastCore
public import HoldfastMessageData
public import HoldfastPorts

/// A message log whose beginning can be removed, so that its size and its age are bounded.
///
/// Pages then have `oldest`, and a position before it is not recovered. Offsets go on, and no offset
/// is assigned twice: the newest post is never removed. Messages that were posted before `oldest` and
/// edited or deleted after it are on pages of changes alone.
public protocol PrunableLog: MessageLog {
  /// Returns the extents of the logs of up to `limit` shops, in the order of their names. Fewer are the
  /// last ones.
  ///
  /// - Parameter shop: The last shop of the answer before; `nil` for the first ones.
  func extents(after shop: ShopID?, limit: Int) async throws(StoreFailure) -> [LogExtent]

  /// Returns up to `limit` marks of a shop's messages whose newest events follow an offset, in their
  /// order.
  func marks(
    of shop: ShopID, after version: UInt64, limit: Int
  ) async throws(StoreFailure) -> [LogMark]

  /// Removes the messages whose newest events lie before an offset, with the keys of their edits, and
  /// deletes their images. An offset above that of the newest post counts as the latter.
  ///
  /// All of it is one commit, so a caller limits the number of messages. The keys of recent posts are
  /// remembered.
  ///
  /// - Returns: The number of removed messages.
  func remove(_ cut: LogCut) async throws(StoreFailure) -> Int

  /// Forgets the keys of removed posts that are older than a time, and gives a part of the room of
  /// removed messages back to the file system.
  ///
  /// - Returns: Whether there is more to do.
  func tidy(keysBefore time: Timestamp) async throws(StoreFailure) -> Bool

  /// Prepares the store so that `tidy` can give room back. Returns why it cannot; otherwise `nil`.
  func prepareToShrink() async throws(StoreFailure) -> String?
}

extension PrunableLog {
  /// Does nothing.
  public func prepareToShrink() async throws(StoreFailure) -> String? { nil }
}

extension MemoryStore: PrunableLog where Value == StoredLogs {
  public func extents(after shop: ShopID?, limit: Int) throws(StoreFailure) -> [LogExtent] {
    try use { $0.extents(after: shop, limit: limit) }
  }

  public func marks(
    of shop: ShopID, after version: UInt64, limit: Int
  ) throws(StoreFailure) -> [LogMark] {
    try use { $0[shop].marks(after: version, limit: limit) }
  }

  public func remove(_ cut: LogCut) throws(StoreFailure) -> Int { try use { $0.remove(cut) } }

  public func tidy(keysBefore time: Timestamp) throws(StoreFailure) -> Bool {
    try use { $0.forgetKeys(before: time) }
    return false
  }
}
