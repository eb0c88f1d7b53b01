package import HoldfastCore
package import HoldfastPorts
import Synchronization

/// A source of wakes in a process that is never suspended.
///
/// Tasks become due at their time while the process runs. The host reports all other wakes.
package final class TimerWakes: WakeSource {
  private struct State {
    var handler: (@Sendable (WakeCause, Wake) -> Void)?
    /// The newest 16 wakes that occurred before a handler was registered.
    var early: [(WakeCause, Wake)] = []
    var tasks: [String: Waiting] = [:]
    var last: UInt64 = 0
    /// The wakes that have not been given back. The holders of the wakes keep them.
    var running: [UInt64: WeakWake] = [:]
  }

  private struct WeakWake {
    weak var wake: Wake?
  }

  private struct Waiting {
    let number: UInt64
    let task: Task<Void, Never>
  }

  /// The maximum number of waiting tasks, which is the same as on iOS.
  package static let mostTasks = 10
  private static let mostEarly = 16
  private let clock: any LinkClock
  private let budget: Duration
  private let state = Mutex(State())

  /// Creates a source without tasks.
  ///
  /// - Parameter budget: The time that each wake grants.
  package init(clock: any LinkClock = BootClock(), budget: Duration = .seconds(30)) {
    (self.clock, self.budget) = (clock, budget)
  }

  deinit {
    for task in state.withLock({ $0.tasks.values.map(\.task) }) { task.cancel() }
  }

  package func register(_ handler: @escaping @Sendable (WakeCause, Wake) -> Void) {
    let early = state.withLock { state in
      state.handler = handler
      defer { state.early = [] }
      return state.early
    }
    for (cause, wake) in early { handler(cause, wake) }
  }

  package func schedule(_ task: WakeTask) throws(WakeFailure) {
    let due = clock.now.advanced(by: max(task.after, .zero))
    let isRoom = state.withLock { state in
      let replaced = state.tasks[task.identifier]
      guard replaced != nil || state.tasks.count < Self.mostTasks else { return false }
      replaced?.task.cancel()
      state.last += 1
      let number = state.last
      let waiting = Task { [clock, weak self] in
        guard (try? await clock.wait(until: due)) != nil else { return }
        self?.fire(task.identifier, number)
      }
      state.tasks[task.identifier] = Waiting(number: number, task: waiting)
      return true
    }
    guard isRoom else { throw .tooMany(identifier: task.identifier) }
  }

  package func cancel(_ identifier: String) {
    state.withLock { $0.tasks.removeValue(forKey: identifier) }?.task.cancel()
  }

  /// Delivers a wake that the host has detected, such as a push or a completed upload.
  ///
  /// - Parameter done: A function that is called exactly once, when the wake ends.
  package func wake(
    for cause: WakeCause, done: @escaping @Sendable (WakeResult) -> Void = { _ in }
  ) {
    let number = state.withLock { state in
      state.last += 1
      return state.last
    }
    let wake = Wake(budget: budget) { [weak self] result in
      _ = self?.state.withLock { $0.running.removeValue(forKey: number) }
      done(result)
    }
    // A wake that is dropped is given back, which needs the lock.
    let (handler, dropped) = state.withLock { state in
      state.running[number] = WeakWake(wake: wake)
      let waiting = state.handler == nil ? state.early + [(cause, wake)] : []
      state.early = waiting.suffix(Self.mostEarly)
      return (state.handler, waiting.dropLast(Self.mostEarly))
    }
    withExtendedLifetime(dropped) {}
    handler?(cause, wake)
  }

  /// Takes back the time of all wakes that have not been given back, as a system can.
  package func expire() {
    for wake in state.withLock({ $0.running.values.compactMap(\.wake) }) {
      wake.expire()
      wake.giveBack(.later)
    }
  }

  private func fire(_ identifier: String, _ number: UInt64) {
    let isDue = state.withLock { state in
      // A task that has been cancelled or replaced causes no wake.
      guard state.tasks[identifier]?.number == number else { return false }
      state.tasks[identifier] = nil
      return true
    }
    if isDue { wake(for: .task(identifier)) }
  }
}
