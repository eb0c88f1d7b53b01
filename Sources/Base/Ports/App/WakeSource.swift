public import HoldfastCore
import Synchronization

/// A source of background wakes: scheduled tasks, pushes, changes of health data, and completed
/// uploads.
///
/// Contract: `register` returns before any wake is delivered, and replaces the previous handler.
/// Wakes are held until a handler is registered. Each wake is delivered once and given back exactly
/// once, at the latest when its last reference is released. Scheduling a task replaces any task
/// with the same identifier. No method blocks, because apps call them during launch.
public protocol WakeSource: Sendable {
  /// Registers the handler, which receives each wake with its cause.
  func register(_ handler: @escaping @Sendable (WakeCause, Wake) -> Void)

  /// Schedules a wake.
  ///
  /// - Throws: `.notPermitted` if the app may not schedule the task; `.tooMany` if too many tasks
  ///   are waiting; `.unavailable` if the system schedules no tasks at present.
  func schedule(_ task: WakeTask) throws(WakeFailure)

  /// Cancels a task. The call has no effect if there is no such task.
  func cancel(_ identifier: String)
}

/// The cause of a wake.
public enum WakeCause: Sendable, Hashable {
  /// A scheduled task is due. The value is its identifier.
  case task(String)
  /// A push without content was received.
  case push
  /// Health data of these types changed.
  case health(types: [String])
  /// The uploads of a background session completed.
  case uploads(session: String)
}

/// A task that the app is woken for.
public struct WakeTask: Sendable, Hashable {
  /// The name of the task. Apple's platforms require that the app's `Info.plist` lists it.
  public var identifier: String
  /// The time from the call to the earliest start.
  public var after: Duration
  /// Whether the task takes minutes rather than seconds, and may wait until the device is charging.
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
  /// The system schedules no tasks, because the user turned background refresh off or because the
  /// device does not support it.
  case unavailable(identifier: String)

  /// A human-readable description of the reason.
  public var description: String {
    switch self {
    case .notPermitted(let identifier):
      "the task \(identifier) may not run in the background; declare it in Info.plist, and check "
        + "that the user allows background refresh"
    case .tooMany(let identifier):
      "the task \(identifier) was not scheduled, because too many tasks wait; cancel one of them"
    case .unavailable(let identifier):
      "the task \(identifier) was not scheduled, because this device runs no background tasks; ask "
        + "the user to turn background refresh on"
    }
  }
}

/// A grant of background execution time from the system.
///
/// The grant is given back exactly once: by the first call of `giveBack`, or when the last
/// reference is released. The system may take the time back earlier. The adapter then calls
/// `expire` and gives the grant back.
public final class Wake: Sendable {
  private struct State {
    /// The function that gives the time back; `nil` once it has been given back.
    var done: (@Sendable (WakeResult) -> Void)?
    /// The functions to run at the expiry.
    var waiting: [@Sendable () -> Void] = []
    var isExpired = false
  }

  /// The amount of time that is granted.
  public let budget: Duration
  private let state: Mutex<State>

  /// Creates a grant.
  ///
  /// - Parameter done: A function that is called exactly once, when the grant is given back.
  public init(budget: Duration, done: @escaping @Sendable (WakeResult) -> Void) {
    self.budget = budget
    state = Mutex(State(done: done))
  }

  deinit { giveBack(.later) }

  /// Adds a function that runs when the system takes the time back.
  ///
  /// The function runs at most once: at once if the time has already expired, and never after the
  /// grant has been given back without an expiry. It must return quickly, and it must not keep a
  /// reference to the grant, because the grant would then be given back only by a call.
  ///
  /// - Parameter run: A function that ends the work. The system waits only briefly for it.
  public func onExpiry(_ run: @escaping @Sendable () -> Void) {
    let runsNow = state.withLock { state in
      if state.done != nil, !state.isExpired { state.waiting.append(run) }
      return state.isExpired
    }
    if runsNow { run() }
  }

  /// Reports that the system takes the time back. Only the adapter that made the grant calls this
  /// method, and gives the grant back right after it.
  ///
  /// A call after the grant has been given back has no effect, and neither has a second call.
  public func expire() {
    let waiting = state.withLock { state in
      guard state.done != nil else { return [@Sendable () -> Void]() }
      state.isExpired = true
      defer { state.waiting = [] }
      return state.waiting
    }
    for run in waiting { run() }
  }

  /// Gives the time back. Further calls have no effect.
  public func giveBack(_ result: WakeResult) {
    let done = state.withLock { state in
      state.waiting = []
      return state.done.take()
    }
    done?(result)
  }
}
