import Dispatch
import Foundation
import HoldfastPorts
import Synchronization
import Testing

/// A trait that runs each test on its own threads, because `SocketsClient` blocks its thread.
///
/// The shared pool has one thread for each core, so a blocked thread delays all other tests.
/// Dispatch queues use the same threads.
struct OffThePool: SuiteTrait, TestScoping {
  func provideScope(
    for test: Test, testCase: Test.Case?,
    performing body: @concurrent @Sendable () async throws -> Void
  ) async throws {
    try await withTaskExecutorPreference(OwnThreads()) { try await body() }
  }
}

extension Trait where Self == OffThePool {
  static var offThePool: OffThePool { OffThePool() }
}

/// An executor that starts a thread for a job if no thread is idle.
///
/// A thread ends when it has been idle for one second.
private final class OwnThreads: TaskExecutor {
  private struct State {
    var jobs: [UnownedJob] = []
    var idle = 0
  }

  private let state = Mutex(State())
  private let news = DispatchSemaphore(value: 0)

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    retained {
      let isTaken = state.withLock { state in
        state.jobs.append(job)
        guard state.idle > 0 else { return false }
        state.idle -= 1
        return true
      }
      if isTaken { news.signal() } else { Thread.detachNewThread { self.work() } }
    }
  }

  private func work() {
    while true {
      let job: UnownedJob? = state.withLock { state in
        guard state.jobs.isEmpty else { return state.jobs.removeFirst() }
        state.idle += 1
        return nil
      }
      if let job {
        unsafe job.runSynchronously(on: asUnownedTaskExecutor())
      } else if news.wait(timeout: .now() + .seconds(1)) == .timedOut {
        if retire() { return }
        news.wait()
      }
    }
  }

  /// Removes this thread from the idle count. Returns false if the thread has already been
  /// signaled.
  private func retire() -> Bool {
    state.withLock { state in
      guard state.idle > 0 else { return false }
      state.idle -= 1
      return true
    }
  }
}
