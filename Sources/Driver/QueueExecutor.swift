public import Dispatch

/// An executor that runs an actor on its own serial queue, so that disk I/O blocks no other task.
public final class QueueExecutor: SerialExecutor {
  private let queue: DispatchQueue

  /// Creates an executor with a new queue; `label` names the queue in a debugger.
  public convenience init(label: String) {
    self.init(DispatchQueue(label: label))
  }

  /// Creates an executor with a serial queue that other code may use as well.
  public init(_ queue: DispatchQueue) {
    self.queue = queue
  }

  /// Adds a job to the end of the queue.
  public func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    queue.async { unsafe job.runSynchronously(on: self.asUnownedSerialExecutor()) }
  }

  /// Traps unless the caller runs on the queue, as a job or as a block.
  public func checkIsolated() {
    dispatchPrecondition(condition: .onQueue(queue))
  }
}
