public import LinkWire

/// Keeps what a backend's relay must know again after a restart: phones, accesses, questions.
///
/// Contract: changes are durable, all or none, when `apply` returns, in the order of the calls.
/// What was ended is gone from the file as well, not only from the answers. No answer of a phone
/// and no token ever comes here.
public protocol RelayStore: Sendable {
  /// Everything that is kept: phones by id, accesses by token, questions in the order they came.
  func kept() async throws(StoreFailure) -> RelayKept

  /// Makes changes, in this order; to end what is not there changes nothing.
  func apply(_ changes: [RelayChange]) async throws(StoreFailure)

  /// Closes it; later calls fail.
  func close() async
}
