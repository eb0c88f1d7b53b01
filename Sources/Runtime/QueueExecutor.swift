import Dispatch

/// Runs an actor on a serial queue of its own, so that waiting for a disk blocks no other task.
public final class QueueExecutor: SerialExecutor {
  private let queue: DispatchQueue

  /// An executor over a new queue; `label` names it in a debugger.
  public init(label: String) {
    queue = DispatchQueue(label: label)
  }

  /// Puts a job behind those that wait.
  public func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    queue.async { unsafe job.runSynchronously(on: self.asUnownedSerialExecutor()) }
  }
}
