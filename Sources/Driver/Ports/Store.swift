public import LinkCore

/// The common requirements of all stores.
public protocol Store: Suspendable {
  /// Checks with one small read that the store can serve.
  ///
  /// The check also fails while the disk is full. After a failed write it also writes, so that the
  /// store becomes healthy as soon as the disk does.
  func check() async throws(StoreFailure)

  /// Closes the store. Later calls fail; closing it again does nothing.
  func close() async
}

/// A resource that holds file locks and must release them before the app is suspended.
///
/// Apple's systems end an app that holds a lock in an app group's container while suspended.
///
/// Contract: after `suspend` no lock is held, and calls fail with `.locked` until `resume` returns.
/// Repeated calls of either method do nothing. Data written before stays.
public protocol Suspendable: Sendable {
  /// Completes the current work and releases all locks.
  func suspend() async

  /// Acquires the locks again.
  ///
  /// - Throws: `.locked` if another process has acquired one in the meantime; the resource stays
  ///   suspended.
  func resume() async throws(StoreFailure)
}

extension Suspendable {
  /// Does nothing, for resources without locks.
  public func suspend() async {}

  /// Does nothing, for resources without locks.
  public func resume() async throws(StoreFailure) {}
}
