public import Dispatch
package import HoldfastCore
import Synchronization

/// An executor that runs actors on a separate serial queue, so that disk I/O does not block other
/// tasks.
public final class QueueExecutor: SerialExecutor {
  private enum Work {
    case job(UnownedJob)
    case block(@Sendable () -> Void)
  }

  private struct Waiting {
    var work: [Work] = []
    /// Whether a call of `runJobs` will follow, or is in progress.
    var isScheduled = false
    var counters = ThreadCounters()
  }

  private let queue: DispatchQueue
  private let waiting = Mutex(Waiting())

  /// Creates an executor with a new queue. `label` is the queue's name in a debugger.
  public convenience init(label: String) {
    self.init(DispatchQueue(label: label))
  }

  /// Creates an executor with a serial queue that other code may also use.
  public init(_ queue: DispatchQueue) {
    self.queue = queue
  }

  /// The counts of the queue so far.
  package var counters: ThreadCounters { waiting.withLock(\.counters) }

  /// Adds a job. Jobs run in order, but a job may run before a block that was added to the queue
  /// itself earlier.
  public func enqueue(_ job: consuming ExecutorJob) {
    add(.job(UnownedJob(job)))
  }

  /// Adds a block, which runs on the queue, behind the jobs that were added before it, and before
  /// those that are added after it.
  package func async(_ block: @escaping @Sendable () -> Void) {
    add(.block(block))
  }

  private func add(_ work: Work) {
    retained {
      let mustSchedule = waiting.withLock { waiting in
        waiting.work.append(work)
        waiting.counters.jobs += 1
        let mustSchedule = !waiting.isScheduled
        waiting.isScheduled = true
        if mustSchedule { waiting.counters.wakes += 1 }
        return mustSchedule
      }
      if mustSchedule { queue.async { self.runJobs() } }
    }
  }

  /// Traps unless the caller runs on the queue, as a job or as a block.
  public func checkIsolated() {
    dispatchPrecondition(condition: .onQueue(queue))
  }

  /// Runs a function, and then the jobs that wait, on the thread of the caller. It is called on the
  /// queue.
  package func run(_ function: () -> Void) {
    waiting.withLock { $0.isScheduled = true }
    function()
    runJobs()
  }

  /// The maximum number of times that jobs queue further jobs before other blocks of the queue have
  /// their turn.
  private static let mostRounds = 32

  /// Runs the jobs that wait, and those that they queue.
  private func runJobs() {
    var taken: [Work] = []
    for _ in 0..<Self.mostRounds {
      waiting.withLock { waiting in
        swap(&taken, &waiting.work)
        waiting.isScheduled = !taken.isEmpty
      }
      guard !taken.isEmpty else { return }
      for work in taken {
        switch work {
        case .job(let job): unsafe job.runSynchronously(on: asUnownedSerialExecutor())
        case .block(let block): block()
        }
      }
      taken.removeAll(keepingCapacity: true)
    }
    // `isScheduled` is still set.
    queue.async { self.runJobs() }
  }
}
