import Synchronization

/// A service that requests execution time from the system after the app has left the foreground.
///
/// Contract: `begin` returns `nil` if no time is granted. `expired` is called at most once, when
/// the time is nearly over, and never after the grant has been given back.
public protocol BackgroundTime: Sendable {
  /// Requests execution time until the grant is given back or expires.
  ///
  /// - Parameters:
  ///   - name: The purpose, which debuggers show.
  ///   - expired: A function that is called when the time is nearly over. The grant must then be
  ///     given back at once.
  func begin(_ name: String, expired: @escaping @Sendable () -> Void) -> TimeGrant?
}

/// A grant of execution time from the system.
///
/// The grant is given back exactly once: by the first call of `giveBack`, or when the last
/// reference is released.
public final class TimeGrant: Sendable {
  private let done: Mutex<(@Sendable () -> Void)?>

  /// Creates a grant.
  ///
  /// - Parameter done: A function that is called exactly once, when the grant is given back.
  public init(done: @escaping @Sendable () -> Void) { self.done = Mutex(done) }

  deinit { giveBack() }

  /// Gives the time back. Further calls have no effect.
  public func giveBack() { done.withLock { $0.take() }?() }
}

/// A service for systems that do not end background processes.
public struct UnlimitedTime: BackgroundTime {
  /// Creates background time without a limit.
  public init() {}

  public func begin(_ name: String, expired: @escaping @Sendable () -> Void) -> TimeGrant? {
    TimeGrant {}
  }
}
