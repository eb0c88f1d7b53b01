import Synchronization

/// Asks the system for time after the app left the foreground.
///
/// Contract: `begin` returns `nil` where no time is granted. `expired` is called at most once, when
/// the time is nearly over, and never after the grant was given back.
public protocol BackgroundTime: Sendable {
  /// Asks for time, until the grant is given back or expires.
  ///
  /// - Parameters:
  ///   - name: What the time is for, in a debugger.
  ///   - expired: Called when the time is nearly over; the grant has to be given back at once.
  func begin(_ name: String, expired: @escaping @Sendable () -> Void) -> TimeGrant?
}

/// Time that the system granted, to be given back.
///
/// It is given back exactly once: by the first call, or when the last reference is dropped.
public final class TimeGrant: Sendable {
  private let done: Mutex<(@Sendable () -> Void)?>

  /// A grant.
  ///
  /// - Parameter done: Called exactly once.
  public init(done: @escaping @Sendable () -> Void) { self.done = Mutex(done) }

  deinit { giveBack() }

  /// Gives the time back; further calls do nothing.
  public func giveBack() { done.withLock { $0.take() }?() }
}

/// The background of a system that ends no process for being there.
public struct UnlimitedTime: BackgroundTime {
  /// One for any system without a limit.
  public init() {}

  public func begin(_ name: String, expired: @escaping @Sendable () -> Void) -> TimeGrant? {
    TimeGrant {}
  }
}
