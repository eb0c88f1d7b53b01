import LinkStorage
import Synchronization

/// The delivery numbers that a consumer confirms, and the wait for them.
final class Confirmations: Sendable {
  private struct State {
    var last: UInt64
    var isEnded = false
    var waiting: (number: UInt64, continuation: CheckedContinuation<Void, Never>)?

    /// Takes the waiting task if its wait is over.
    mutating func released() -> CheckedContinuation<Void, Never>? {
      guard let number = waiting?.number, isEnded || last >= number else { return nil }
      defer { waiting = nil }
      return waiting?.continuation
    }
  }

  private let state: Mutex<State>

  /// Begins where a consumer is.
  init(after state: ConsumerState) {
    self.state = Mutex(State(last: state.acknowledged))
  }

  /// The highest number that was confirmed.
  var last: UInt64 { state.withLock { $0.last } }

  /// Notes that everything up to `number` is confirmed.
  func note(_ number: UInt64) {
    change { $0.last = max($0.last, number) }
  }

  /// Ends every wait: no more confirmations come.
  func end() {
    change { $0.isEnded = true }
  }

  /// Returns when everything up to `number` is confirmed, or after `end()`. One task may wait.
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
