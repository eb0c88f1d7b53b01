public import LinkCore

/// A store: what the ports of all stores have in common.
public protocol Store: Suspendable {
  /// Checks that the store can serve, at the cost of one small read.
  ///
  /// A full disk fails it too. After a write that failed it also writes, so that a store is healthy
  /// again as soon as the disk is.
  func check() async throws(StoreFailure)

  /// Closes the store. Later calls fail; closing again does nothing.
  func close() async
}

/// Something that holds locks of files, which a system may not allow an app to hold while the app
/// is suspended: Apple's systems end an app that holds one in the container of an app group.
///
/// Contract: after `suspend` no lock is held, and calls fail with `.locked` until `resume` returns.
/// Both do nothing when they are called again. What was written before stays.
public protocol Suspendable: Sendable {
  /// Completes what is under way, and gives up all locks.
  func suspend() async

  /// Takes the locks again.
  ///
  /// - Throws: `.locked` if another process has taken one since; everything stays suspended.
  func resume() async throws(StoreFailure)
}

extension Suspendable {
  /// Does nothing: there are no locks.
  public func suspend() async {}

  /// Does nothing: there are no locks.
  public func resume() async throws(StoreFailure) {}
}
