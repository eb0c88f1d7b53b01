public import HoldfastCore

/// The methods that all stores have.
public protocol SuspendableStore: Suspendable {
  /// Checks, with one small read, whether the store is usable.
  ///
  /// The check also fails while the disk is full. After a failed write, the check also writes, so
  /// that it succeeds as soon as the disk works again.
  func check() async throws(StoreFailure)

  /// Closes the store. Later calls fail, except that closing it again has no effect.
  func close() async
}

/// A resource that holds file locks and must release them before the app is suspended.
///
/// Apple's systems terminate a suspended app that holds a lock in an app group's container.
///
/// Contract: after `suspend`, no lock is held and calls fail with `.locked` until `resume` returns.
/// Calling a method repeatedly has no further effect. Data written earlier is preserved.
public protocol Suspendable: Sendable {
  /// Completes the current work and releases all locks.
  func suspend() async

  /// Acquires the locks again.
  ///
  /// - Throws: `.locked` if another process has acquired a lock in the meantime. The resource then
  ///   stays suspended.
  func resume() async throws(StoreFailure)
}

extension Suspendable {
  /// Does nothing, for resources without locks.
  public func suspend() async {}

  /// Does nothing, for resources without locks.
  public func resume() async throws(StoreFailure) {}
}
