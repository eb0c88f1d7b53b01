import Dispatch
import Foundation
import Synchronization
import Testing

/// Runs each test on threads of its own, because `SocketsClient` blocks.
///
/// The shared pool has a thread per core, and what waits there holds up every other test. Queues
/// draw from the same threads.
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

/// Starts a thread whenever there is a job and none is free; a thread ends after an idle second.
private final class OwnThreads: TaskExecutor {
  private struct State {
    var jobs: [UnownedJob] = []
    var idle = 0
  }

  private let state = Mutex(State())
  private let news = DispatchSemaphore(value: 0)

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    let isTaken = state.withLock { state in
      state.jobs.append(job)
      guard state.idle > 0 else { return false }
      state.idle -= 1
      return true
    }
    if isTaken { news.signal() } else { Thread.detachNewThread { self.work() } }
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

  /// Whether this thread was still counted as idle; otherwise news are on their way.
  private func retire() -> Bool {
    state.withLock { state in
      guard state.idle > 0 else { return false }
      state.idle -= 1
      return true
    }
  }
}
