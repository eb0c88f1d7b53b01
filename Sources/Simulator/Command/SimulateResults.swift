import HoldfastLinkChecks
import HoldfastWorlds
import Synchronization

/// The finished runs of a call.
///
/// The summary does not depend on how runs are scheduled. Once a run is the last one that counts,
/// later runs are ignored even if they were played.
final class SimulateResults<Feature: SimulatedFeature>: Sendable {
  private struct State {
    var summary = RunSummary<Feature>()
    /// The runs that finished before an earlier run. They are stored only if a run can be the last
    /// one that counts.
    var waiting: [UInt64: RunOutcome<Feature>] = [:]
    var next: UInt64 = 0
    var isOver = false
  }

  private let request: SimulateRequest<Feature>
  private let isLast: (@Sendable (RunOutcome<Feature>) -> Bool)?
  private let state = Mutex(State())

  /// Creates an empty set of results.
  ///
  /// - Parameter isLast: A function that returns whether a run is the last one that counts. If it
  ///   is `nil`, all runs count, and none has to wait until the earlier ones are finished.
  init(
    of request: SimulateRequest<Feature>,
    until isLast: (@Sendable (RunOutcome<Feature>) -> Bool)?
  ) {
    (self.request, self.isLast) = (request, isLast)
  }

  /// Adds a run. Returns whether the run is, or may become, the last one that counts.
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

  /// A summary of the runs that count so far.
  var summary: RunSummary<Feature> {
    state.withLock { state in
      guard !state.isOver else { return state.summary }
      return state.waiting.values.reduce(into: state.summary) { $0.add($1) }
    }
  }
}
