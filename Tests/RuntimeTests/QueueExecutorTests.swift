import Dispatch
import HoldfastPorts
import Testing

@Suite struct QueueExecutorTests {
  private actor Counter {
    private let executor: QueueExecutor
    private(set) var count = 0

    nonisolated var unownedExecutor: UnownedSerialExecutor {
      unsafe executor.asUnownedSerialExecutor()
    }

    init(_ queue: DispatchQueue) {
      executor = QueueExecutor(queue)
    }

    func add() { count += 1 }
  }

  @Test func `a block on the queue is isolated to the actor, like its jobs`() async {
    let queue = DispatchQueue(label: "test")
    let counter = Counter(queue)
    await counter.add()
    let count = queue.sync { counter.assumeIsolated { $0.count } }
    #expect(count == 1)
  }

  @Test func `code on another queue is not isolated, and traps`() async {
    await #expect(processExitsWith: .failure) {
      let counter = Counter(DispatchQueue(label: "test"))
      _ = DispatchQueue(label: "other").sync { counter.assumeIsolated { $0.count } }
    }
  }
}
