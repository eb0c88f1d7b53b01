import Synchronization

/// Counts on any thread.
final class Counter: Sendable {
  private let count = Atomic<Int>(0)

  var value: Int { count.load(ordering: .sequentiallyConsistent) }

  func add() {
    count.add(1, ordering: .sequentiallyConsistent)
  }
}
