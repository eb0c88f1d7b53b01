import Dispatch
import Foundation
import Synchronization

/// Threads that connections block. A thread that has nothing to do waits for the next connection.
enum Workers {
  private final class Worker: Sendable {
    let work = Mutex<(@Sendable () -> Void)?>(nil)
    let hasWork = DispatchSemaphore(value: 0)
  }

  private static let idle = Mutex<[Worker]>([])

  /// Runs a function that may block on a thread of its own.
  static func run(_ function: @escaping @Sendable () -> Void) {
    if let worker = idle.withLock({ $0.popLast() }) {
      worker.work.withLock { $0 = function }
      worker.hasWork.signal()
      return
    }
    Thread.detachNewThread {
      let worker = Worker()
      function()
      while true {
        idle.withLock { $0.append(worker) }
        worker.hasWork.wait()
        worker.work.withLock { $0.take() }?()
      }
    }
  }
}
