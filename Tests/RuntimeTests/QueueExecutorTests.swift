import Dispatch
import HoldfastPorts
import Testing

@Suite struct QueueExecutorTests {
  private actor Counter {
    let executor: QueueExecutor
    var count = 0

    nonisolated var unownedExecutor: UnownedSerialExecutor {
      unsafe executor.asUnownedSerialExecutor()
    }

    init(_ queue: DispatchQueue) {
      executor = QueueExecutor(queue)
    }

    /// Adds 1, and returns the sum.
    @discardableResult func add() -> Int {
      count += 1
      return count
    }

    /// Waits until the executor has received a number of jobs and blocks.
    nonisolated func hasQueued(_ number: UInt64) async {
      while executor.counters.jobs < number { await Task.yield() }
    }
  }

  @Test func `a block on the queue is isolated to the actor, like its jobs`() async {
    let queue = DispatchQueue(label: "test")
    let counter = Counter(queue)
    await counter.add()
    let count = queue.sync { counter.assumeIsolated { $0.count } }
    #expect(count == 1)
  }

  @Test func `a block and the jobs around it run in the order in which they were added`() async {
    let queue = DispatchQueue(label: "test")
    let counter = Counter(queue)
    queue.suspend()
    async let before = counter.add()
    await counter.hasQueued(1)
    counter.executor.async { counter.assumeIsolated { $0.count *= 10 } }
    async let after = counter.add()
    await counter.hasQueued(3)
    queue.resume()
    #expect(await [before, after] == [1, 11])
  }

  @Test func `code on another queue is not isolated, and traps`() async {
    await #expect(processExitsWith: .failure) {
      let counter = Counter(DispatchQueue(label: "test"))
      _ = DispatchQueue(label: "other").sync { counter.assumeIsolated { $0.count } }
    }
  }
}
