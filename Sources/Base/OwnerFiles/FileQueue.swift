import Dispatch

/// A serial queue for work with files.
///
/// Work with files blocks its thread while it waits for the disk. The shared thread pool has one
/// thread for each processor, so such work would delay all other tasks.
package final class FileQueue: TaskExecutor {
  private let queue: DispatchQueue

  /// Creates a queue. `label` is its name in a debugger.
  package init(label: String) { queue = DispatchQueue(label: label) }

  package func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    queue.async { unsafe job.runSynchronously(on: self.asUnownedTaskExecutor()) }
  }
}
