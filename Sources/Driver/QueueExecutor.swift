public import Dispatch
package import HoldfastPorts

/// An executor that runs actors, and tasks that prefer it, on a separate serial queue, so that disk
/// I/O does not block other tasks.
public final class QueueExecutor: SerialExecutor, TaskExecutor {
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
    queue.async {
      unsafe job.runSynchronously(
        isolatedTo: self.asUnownedSerialExecutor(), taskExecutor: self.asUnownedTaskExecutor())
    }
  }

  /// Traps unless the caller runs on the queue, as a job or as a block.
  public func checkIsolated() {
    dispatchPrecondition(condition: .onQueue(queue))
  }
}

extension EventThread {
  /// Returns a new serial queue in the place of a thread. `label` is its name in a debugger.
  package static func queue(_ label: String) -> EventThread {
    EventThread(QueueExecutor(label: label))
  }
}

extension SocketDialer {
  /// The thread on which the network delivers events, or a new queue if others cannot use it.
  package func eventThread(or label: String) -> EventThread {
    (self as? any ThreadedNetwork)?.eventThread ?? .queue(label)
  }
}
