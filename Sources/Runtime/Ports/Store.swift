public import LinkWire

/// A store: what the ports of all stores have in common.
public protocol Store: Sendable {
  /// Checks that the store can serve, at the cost of one small read.
  ///
  /// A full disk fails it too. After a write that failed it also writes, so that a store is healthy
  /// again as soon as the disk is.
  func check() async throws(StoreFailure)

  /// Closes the store. Later calls fail; closing again does nothing.
  func close() async
}
