public import LinkCore
import Synchronization

/// A source of background wakes: scheduled tasks, pushes, changes of health data, and completed
/// uploads.
///
/// Contract: `register` returns before any wake is delivered, and replaces the previous handler. A
/// wake without a handler waits for one. Each wake is delivered once and given back exactly once,
/// at the latest when its last reference is released. Scheduling a task again replaces the one with
/// the same identifier. No method blocks, since apps call them during launch.
public protocol WakeSource: Sendable {
  /// Registers the handler of wakes and their causes.
  func register(_ handler: @escaping @Sendable (WakeCause, Wake) -> Void)

  /// Schedules a wake.
  ///
  /// - Throws: `.notPermitted` if the app may not schedule it; `.tooMany` if too many tasks wait.
  func schedule(_ task: WakeTask) throws(WakeFailure)

  /// Cancels a task; does nothing if there is none.
  func cancel(_ identifier: String)
}

/// The cause of a wake.
public enum WakeCause: Sendable, Hashable {
  /// A scheduled task, with its identifier.
  case task(String)
  /// A push without content.
  case push
  /// Health data of these types changed.
  case health(types: [String])
  /// Uploads of a background session completed.
  case uploads(session: String)
}

/// A task for which the app is woken.
public struct WakeTask: Sendable, Hashable {
  /// The name of the task; Apple's platforms require it in the app's `Info.plist`.
  public var identifier: String
  /// The earliest time, relative to the call.
  public var after: Duration
  /// Whether the task takes minutes instead of seconds, and may wait for a charger.
  public var isLong: Bool
  /// Whether the task needs a network.
  public var needsNetwork: Bool

  /// Creates a task.
  public init(
    _ identifier: String, after: Duration = .zero, isLong: Bool = false, needsNetwork: Bool = true
  ) {
    (self.identifier, self.after) = (identifier, after)
    (self.isLong, self.needsNetwork) = (isLong, needsNetwork)
  }
}

/// The reason why a task was not scheduled.
public enum WakeFailure: Error, Sendable, Hashable, CustomStringConvertible {
  /// The user's settings or the app's declaration do not allow the task.
  case notPermitted(identifier: String)
  /// Too many tasks are waiting.
  case tooMany(identifier: String)

  /// A description of the reason for people.
  public var description: String {
    switch self {
    case .notPermitted(let identifier):
      "the task \(identifier) may not run in background; declare it in Info.plist, and check that "
        + "the user allows background refresh"
    case .tooMany(let identifier):
      "the task \(identifier) was not scheduled, since too many wait; cancel one of them"
    }
  }
}

/// A grant of background execution time by the system.
///
/// It is given back exactly once: by the first call of `giveBack`, or when the last reference is
/// released.
public final class Wake: Sendable {
  /// The granted time.
  public let budget: Duration
  private let done: Mutex<(@Sendable (WakeResult) -> Void)?>

  /// Creates a grant.
  ///
  /// - Parameter done: Called exactly once.
  public init(budget: Duration, done: @escaping @Sendable (WakeResult) -> Void) {
    self.budget = budget
    self.done = Mutex(done)
  }

  deinit { done.withLock { $0.take() }?(.later) }

  /// Gives the time back. Further calls do nothing.
  public func giveBack(_ result: WakeResult) {
    done.withLock { $0.take() }?(result)
  }
}
