import Dispatch

/// Runs an actor on its own serial queue, so that waiting for a disk blocks no other task.
final class QueueExecutor: SerialExecutor {
  private let queue: DispatchQueue

  init(label: String) {
    queue = DispatchQueue(label: label)
  }

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    queue.async { unsafe job.runSynchronously(on: self.asUnownedSerialExecutor()) }
  }
}
