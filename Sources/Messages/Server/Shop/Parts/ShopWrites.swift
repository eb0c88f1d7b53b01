import HoldfastCore
import HoldfastMessageData
import HoldfastServerParts

/// Whether the store of a shop server takes changes, and the removal of the traces that changes leave.
///
/// The removal of texts also shows whether a store that refused a change can be written again.
struct ShopWrites: Sendable {
  /// The reason why the last change was not stored, or `nil` if it was stored.
  private(set) var failure: StoreFailure?
  /// The newest question at the time of the failure. The store may have answered those up to it
  /// earlier.
  private var newestBeforeFailure = StoreToken(0)
  /// The removals of traces. They do not wait for each other.
  private var erasures = MessageTrace.allCases.map { (trace: $0, erasure: Erasure()) }

  /// The time at which `beginErasures` must be called.
  var deadline: Instant? { erasures.compactMap(\.erasure.deadline).min() }

  /// Records that a change was stored.
  mutating func succeed() { failure = nil }

  /// Records that a change was not stored.
  mutating func fail(_ failure: StoreFailure, after newest: StoreToken, checkAt due: Instant) {
    (self.failure, newestBeforeFailure) = (failure, newest)
    change(.texts) { $0.plan(at: due) }
  }

  // MARK: - Traces

  /// Sets the latest time at which the traces that a change left are removed.
  mutating func planErasures(at due: Instant) {
    for index in erasures.indices { erasures[index].erasure.plan(at: due) }
  }

  /// Begins the removals that are due, and returns their traces.
  mutating func beginErasures(at now: Instant) -> [MessageTrace] {
    var begun: [MessageTrace] = []
    for index in erasures.indices where erasures[index].erasure.begin(at: now) {
      begun.append(erasures[index].trace)
    }
    return begun
  }

  /// Records that a trace was removed, as the result of a question.
  mutating func erased(_ trace: MessageTrace, _ token: StoreToken) {
    change(trace) { $0.succeed() }
    guard trace == .texts, token > newestBeforeFailure else { return }
    // The check does not read all of the log.
    if case .corrupt? = failure { return }
    failure = nil
  }

  /// Plans another removal of a trace that could not be removed.
  mutating func failedToErase(
    _ trace: MessageTrace, at now: Instant, first: Duration, most: Duration
  ) {
    change(trace) { $0.fail(at: now, first: first, most: most) }
  }

  /// Drops the removals that are planned or under way.
  mutating func stopErasures() {
    for index in erasures.indices { erasures[index].erasure.stop() }
  }

  private mutating func change(_ trace: MessageTrace, _ body: (inout Erasure) -> Void) {
    for index in erasures.indices where erasures[index].trace == trace {
      body(&erasures[index].erasure)
    }
  }
}
