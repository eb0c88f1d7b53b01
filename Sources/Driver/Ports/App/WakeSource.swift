public import LinkCore
import Synchronization

/// Starts an app in background: for a task it scheduled, a push, a change of health data, or an
/// upload that ended.
///
/// Contract: `register` returns before any wake is handed over, and replaces the handler of before.
/// A wake that comes without a handler waits for one. Each wake is handed over once and is given
/// back exactly once, at the latest when its last reference is dropped. A task that is scheduled
/// again replaces the one with its identifier. No method blocks: apps call them while they launch.
public protocol WakeSource: Sendable {
  /// Hands wakes over from now on, together with what they are for.
  func register(_ handler: @escaping @Sendable (WakeCause, Wake) -> Void)

  /// Asks for a wake.
  ///
  /// - Throws: `.notPermitted` where the app may not ask, `.tooMany` where too many wait.
  func schedule(_ task: WakeTask) throws(WakeFailure)

  /// Takes a task back; does nothing without one.
  func cancel(_ identifier: String)
}

/// What an app was woken for.
public enum WakeCause: Sendable, Hashable {
  /// A task that was scheduled, by its identifier.
  case task(String)
  /// A push without content.
  case push
  /// Health data of these types changed.
  case health(types: [String])
  /// Uploads of a background session ended.
  case uploads(session: String)
}

/// A task to be woken for.
public struct WakeTask: Sendable, Hashable {
  /// Names the task; Apple's platforms want it in the app's `Info.plist`.
  public var identifier: String
  /// The earliest time, counted from the call.
  public var after: Duration
  /// Whether it takes minutes instead of seconds, and waits for a charger if need be.
  public var isLong: Bool
  /// Whether it needs a network.
  public var needsNetwork: Bool

  /// A task from its parts.
  public init(
    _ identifier: String, after: Duration = .zero, isLong: Bool = false, needsNetwork: Bool = true
  ) {
    (self.identifier, self.after) = (identifier, after)
    (self.isLong, self.needsNetwork) = (isLong, needsNetwork)
  }
}

/// The reason why a task was not scheduled.
public enum WakeFailure: Error, Sendable, Hashable, CustomStringConvertible {
  /// The user or the app's declaration does not allow it.
  case notPermitted(identifier: String)
  /// Too many tasks wait already.
  case tooMany(identifier: String)

  /// The reason in words for people.
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
