import HoldfastPorts
import Synchronization
import Testing

/// Tests of an executor whose last job ends before `enqueue` returns, as it may on another thread.
@Suite(.timeLimit(.minutes(60)))
struct RetainedExecutorTests {
  private enum Event { case jobQueued, executorReleased }

  /// The events of an executor, and a continuation of a task on it.
  private final class Record: Sendable {
    let events = Mutex<[Event]>([])
    private let waiting = Mutex<CheckedContinuation<Void, Never>?>(nil)

    var isWaiting: Bool { waiting.withLock { $0 != nil } }

    func wait() async {
      await withCheckedContinuation { continuation in
        waiting.withLock { $0 = continuation }
      }
    }

    func resume() { waiting.withLock { $0.take() }?.resume() }

    func has(_ event: Event) -> Bool { events.withLock { $0.contains(event) } }

    func add(_ event: Event) { events.withLock { $0.append(event) } }
  }

  /// An executor that runs each job before `enqueue` returns.
  private final class EagerExecutor: SerialExecutor {
    private let record: Record

    init(_ record: Record) { self.record = record }

    deinit { record.add(.executorReleased) }

    func enqueue(_ job: consuming ExecutorJob) {
      let (job, record) = (UnownedJob(job), record)
      let executor = unsafe asUnownedSerialExecutor()
      // In a debug build, a closure that uses `self` would retain it.
      retained {
        unsafe job.runSynchronously(on: executor)
        record.add(.jobQueued)
      }
    }
  }

  private actor Home {
    private nonisolated let executor: EagerExecutor

    nonisolated var unownedExecutor: UnownedSerialExecutor {
      unsafe executor.asUnownedSerialExecutor()
    }

    init(_ record: Record) { executor = EagerExecutor(record) }

    func start(_ record: Record) {
      Task {
        // A task is isolated to the actor that it captures.
        _ = self
        await record.wait()
      }
    }
  }

  @Test func `an executor exists until its last job is queued`() async {
    let record = Record()
    await Home(record).start(record)
    while !record.isWaiting { await Task.yield() }
    // The job of the resumed task has the last reference to the actor.
    record.resume()
    while !record.has(.executorReleased) { await Task.yield() }
    #expect(record.events.withLock { $0.suffix(2) } == [.jobQueued, .executorReleased])
  }
}
