import Synchronization

/// A thread-safe counter that can wait until it reaches a number.
final class Counter: Sendable {
  private struct State {
    var count = 0
    var goal = Int.max
    var waiting: CheckedContinuation<Void, Never>?
  }

  private let state = Mutex(State())

  var value: Int { state.withLock { $0.count } }

  func add() {
    let reached = state.withLock { state -> CheckedContinuation<Void, Never>? in
      state.count += 1
      guard state.count >= state.goal else { return nil }
      defer { state.waiting = nil }
      return state.waiting
    }
    reached?.resume()
  }

  /// Returns once the count is at least `goal`.
  func reach(_ goal: Int) async {
    await withCheckedContinuation { continuation in
      let isReached = state.withLock { state in
        guard state.count < goal else { return true }
        (state.goal, state.waiting) = (goal, continuation)
        return false
      }
      if isReached { continuation.resume() }
    }
  }
}
