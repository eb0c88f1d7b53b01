public import Dispatch

/// An executor that runs an actor on a serial queue of its own, so that waiting for a disk blocks
/// no other task.
public final class QueueExecutor: SerialExecutor {
  private let queue: DispatchQueue

  /// An executor over a new queue; `label` names it in a debugger.
  public convenience init(label: String) {
    self.init(DispatchQueue(label: label))
  }

  /// An executor over a serial queue, on which other code may run as well.
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
