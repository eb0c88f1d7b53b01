import Dispatch
import Synchronization

/// An executor that runs an actor on a serial queue, on which a transport reports too.
///
/// The jobs that a report causes run on the thread of the report, before that thread goes on.
final class QueueExecutor: SerialExecutor {
  private struct Waiting {
    var jobs: [UnownedJob] = []
    /// Whether a call of `runJobs` will follow, or is in progress.
    var isScheduled = false
  }

  let queue: DispatchQueue
  private let waiting = Mutex(Waiting())

  init(_ queue: DispatchQueue) { self.queue = queue }

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    let mustSchedule = waiting.withLock { waiting in
      waiting.jobs.append(job)
      defer { waiting.isScheduled = true }
      return !waiting.isScheduled
    }
    if mustSchedule { queue.async { self.runJobs() } }
  }

  func checkIsolated() { dispatchPrecondition(condition: .onQueue(queue)) }

  /// Runs a function on the queue, and then the jobs that wait. It is called on the queue.
  func run(_ function: () -> Void) {
    waiting.withLock { $0.isScheduled = true }
    function()
    runJobs()
  }

  private func runJobs() {
    while true {
      let jobs = waiting.withLock { waiting in
        if waiting.jobs.isEmpty { waiting.isScheduled = false }
        defer { waiting.jobs.removeAll(keepingCapacity: true) }
        return waiting.jobs
      }
      guard !jobs.isEmpty else { return }
      for job in jobs { unsafe job.runSynchronously(on: asUnownedSerialExecutor()) }
    }
  }
}
