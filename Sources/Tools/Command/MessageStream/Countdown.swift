import Synchronization

/// A count of tasks that all have to be done.
final class Countdown: Sendable {
  private let left: Mutex<Int>

  init(_ count: Int) {
    left = Mutex(count)
  }

  /// Notes that one is done; true for the last one.
  func isLast() -> Bool {
    left.withLock { left in
      left -= 1
      return left == 0
    }
  }
}
