public import Dispatch

/// An executor that runs an actor on a separate serial queue, so that disk I/O does not block other
/// tasks.
public final class QueueExecutor: SerialExecutor {
  private let queue: DispatchQueue

  /// Creates an executor with a new queue. `label` is the queue's name in a debugger.
  public convenience init(label: String) {
    self.init(DispatchQueue(label: label))
  }

  /// Creates an executor with a serial queue that other code may also use.
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
