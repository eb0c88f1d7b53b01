import LinkSimulator
import Synchronization

/// The runs of a call that are over.
///
/// What it sums up does not depend on which runs are played at the same time: where a run is the
/// last one that counts, those that were played beyond it do not.
final class SimulateAccount<Feature: SimulatedFeature>: Sendable {
  private struct State {
    var summary = RunSummary<Feature>()
    /// Runs that ended sooner than one before them, where one may be the last one that counts.
    var waiting: [UInt64: RunOutcome<Feature>] = [:]
    var next: UInt64 = 0
    var isOver = false
  }

  private let request: SimulateRequest<Feature>
  private let isLast: (@Sendable (RunOutcome<Feature>) -> Bool)?
  private let state = Mutex(State())

  /// - Parameter isLast: Whether no run counts after this one; `nil` where all of them count, so
  ///   that none has to be kept until those before it are over.
  init(
    of request: SimulateRequest<Feature>,
    until isLast: (@Sendable (RunOutcome<Feature>) -> Bool)?
  ) {
    (self.request, self.isLast) = (request, isLast)
  }

  /// Takes a run in; returns whether it is the last one, or may be.
  @discardableResult
  func add(_ outcome: RunOutcome<Feature>) -> Bool {
    guard let isLast else {
      state.withLock { $0.summary.add(outcome) }
      return false
    }
    let place = request.place(of: outcome)
    state.withLock { state in
      state.waiting[place] = outcome
      while !state.isOver, let run = state.waiting.removeValue(forKey: state.next) {
        state.summary.add(run)
        state.next &+= 1
        state.isOver = isLast(run)
      }
    }
    return isLast(outcome)
  }

  /// What the runs amount to that count so far.
  var summary: RunSummary<Feature> {
    state.withLock { state in
      guard !state.isOver else { return state.summary }
      return state.waiting.values.reduce(into: state.summary) { $0.add($1) }
    }
  }
}
