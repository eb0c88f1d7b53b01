import Dispatch
import Synchronization

/// A watchdog that monitors simulated runs from its own queue.
///
/// A machine in an endless loop cannot be interrupted, and such runs can occupy every thread of the
/// pool. The watchdog therefore uses a separate queue.
package final class RunWatchdog: Sendable {
  /// The reason for reporting a run.
  package enum Excess: Sendable, Hashable {
    /// The run has exceeded the time limit.
    case tooLong(Duration)
    /// The run continues although all runs were requested to end.
    case notStopped(after: Duration)
  }

  private struct State {
    var runs: [UInt64: (name: String, since: SuspendingClock.Instant)] = [:]
    var last: UInt64 = 0
    /// The time after which runs that still continue are reported; `nil` before `stop`.
    var stopBy: SuspendingClock.Instant?
  }

  private let limit: Duration
  private let grace: Duration
  private let report: @Sendable (_ run: String, Excess) -> Void
  private let state = Mutex(State())
  private let queue = DispatchQueue(label: "holdfast.simulation.watchdog")

  /// Creates a watchdog.
  ///
  /// - Parameters:
  ///   - limit: The maximum duration of a run, not including time in which the computer was asleep.
  ///   - grace: The time that runs may take to end after `stop`.
  ///   - report: A function that is called on the watchdog's queue with the name of a run that
  ///     takes too long. It is called repeatedly while the run continues.
  package init(
    limit: Duration, grace: Duration = .seconds(5),
    report: @escaping @Sendable (_ run: String, Excess) -> Void
  ) {
    (self.limit, self.grace, self.report) = (limit, grace, report)
    lookLater()
  }

  /// Plays a run under the watchdog.
  package func watching<Result>(_ name: String, _ play: () -> Result) -> Result {
    let id = state.withLock { state in
      state.last += 1
      state.runs[state.last] = (name, .now)
      return state.last
    }
    defer { state.withLock { $0.runs[id] = nil } }
    return play()
  }

  /// Starts the grace period, after which all runs that still continue are reported.
  package func stop() {
    state.withLock { $0.stopBy = $0.stopBy ?? .now + grace }
  }

  private func lookLater() {
    queue.asyncAfter(deadline: .now() + .milliseconds(100)) { [weak self] in
      self?.look()
      self?.lookLater()
    }
  }

  private func look() {
    for (name, excess) in state.withLock({ excesses($0) }) { report(name, excess) }
  }

  /// Returns the runs to report, oldest first.
  private func excesses(_ state: State) -> [(String, Excess)] {
    let now = SuspendingClock.now
    let isOver = state.stopBy.map { $0 <= now } ?? false
    return state.runs.sorted { $0.key < $1.key }.compactMap { _, run in
      if isOver { return (run.name, .notStopped(after: grace)) }
      let time = run.since.duration(to: now)
      return time > limit ? (run.name, .tooLong(limit)) : nil
    }
  }
}
