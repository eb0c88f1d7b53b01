import Dispatch

/// A serial queue for work with files.
///
/// Such work waits for the disk. On the shared threads, of which there is one for each processor, it
/// would delay everything else.
final class FileQueue: TaskExecutor {
  private let queue: DispatchQueue

  /// Creates a queue. `label` is its name in a debugger.
  init(label: String) { queue = DispatchQueue(label: label) }

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    queue.async { unsafe job.runSynchronously(on: self.asUnownedTaskExecutor()) }
  }
}
