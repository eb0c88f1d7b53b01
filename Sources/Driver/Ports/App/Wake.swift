public import LinkCore
import Synchronization

/// Time that the system grants for work in background, to be given back.
///
/// It is given back exactly once: by the first call, or when the last reference is dropped.
public final class Wake: Sendable {
  /// The time that the system grants.
  public let budget: Duration
  private let done: Mutex<(@Sendable (WakeResult) -> Void)?>

  /// A grant of so much time.
  ///
  /// - Parameter done: Called exactly once.
  public init(budget: Duration, done: @escaping @Sendable (WakeResult) -> Void) {
    self.budget = budget
    self.done = Mutex(done)
  }

  deinit { done.withLock { $0.take() }?(.later) }

  /// Gives the time back; further calls do nothing.
  public func giveBack(_ result: WakeResult) {
    done.withLock { $0.take() }?(result)
  }
}
