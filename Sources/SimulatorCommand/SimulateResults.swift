import LinkSimulator
import Synchronization

/// The finished runs of a call.
///
/// The summary does not depend on which runs are played at the same time. If a run is the last one
/// that counts, later runs that were also played do not count.
final class SimulateResults<Feature: SimulatedFeature>: Sendable {
  private struct State {
    var summary = RunSummary<Feature>()
    /// Runs that finished before an earlier run, if a run can be the last one that counts.
    var waiting: [UInt64: RunOutcome<Feature>] = [:]
    var next: UInt64 = 0
    var isOver = false
  }

  private let request: SimulateRequest<Feature>
  private let isLast: (@Sendable (RunOutcome<Feature>) -> Bool)?
  private let state = Mutex(State())

  /// Creates an empty set of results.
  ///
  /// - Parameter isLast: Returns whether no run counts after the given one. With `nil` all runs
  ///   count, so none has to be stored until the earlier ones are finished.
  init(
    of request: SimulateRequest<Feature>,
    until isLast: (@Sendable (RunOutcome<Feature>) -> Bool)?
  ) {
    (self.request, self.isLast) = (request, isLast)
  }

  /// Adds a run, and returns whether it is the last one or may be.
  @discardableResult
  func add(_ outcome: RunOutcome<Feature>) -> Bool {
    guard let isLast else {
      state.withLock { $0.summary.add(outcome) }
      return false
    }
    let index = request.index(of: outcome)
    state.withLock { state in
      state.waiting[index] = outcome
      while !state.isOver, let run = state.waiting.removeValue(forKey: state.next) {
        state.summary.add(run)
        state.next &+= 1
        state.isOver = isLast(run)
      }
    }
    return isLast(outcome)
  }

  /// The summary of the runs that count so far.
  var summary: RunSummary<Feature> {
    state.withLock { state in
      guard !state.isOver else { return state.summary }
      return state.waiting.values.reduce(into: state.summary) { $0.add($1) }
    }
  }
}
