import HoldfastMessageData
import Synchronization

/// The delivery numbers that a consumer has confirmed.
final class Confirmations: Sendable {
  private struct State {
    var last: UInt64
    var isEnded = false
    var waiting: (number: UInt64, continuation: CheckedContinuation<Void, Never>)?

    /// Removes and returns the continuation of the waiting task if its wait is over.
    mutating func released() -> CheckedContinuation<Void, Never>? {
      guard let number = waiting?.number, isEnded || last >= number else { return nil }
      defer { waiting = nil }
      return waiting?.continuation
    }
  }

  private let state: Mutex<State>

  /// Creates a value that starts after the last delivery that the consumer has acknowledged.
  init(after state: ConsumerState) {
    self.state = Mutex(State(last: state.acknowledged))
  }

  /// The highest confirmed number.
  var last: UInt64 { state.withLock { $0.last } }

  /// Records that all deliveries up to `number` are confirmed.
  func note(_ number: UInt64) {
    change { $0.last = max($0.last, number) }
  }

  /// Ends every wait, because no more confirmations will arrive.
  func end() {
    change { $0.isEnded = true }
  }

  /// Waits until all deliveries up to `number` are confirmed or `end()` is called.
  ///
  /// Only one task may wait at a time.
  func wait(for number: UInt64) async {
    await withCheckedContinuation { continuation in
      change { $0.waiting = (number, continuation) }
    }
  }

  private func change(_ body: (inout State) -> Void) {
    let released = state.withLock { state in
      body(&state)
      return state.released()
    }
    released?.resume()
  }
}
