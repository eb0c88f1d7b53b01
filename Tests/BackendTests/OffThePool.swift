import Dispatch
import Testing

/// Runs each test on threads of its own, because the clients of these tests block.
///
/// The shared pool has a thread per core: two clients that wait there for a server that needs the
/// pool would hold up every other test until they give up.
struct OffThePool: SuiteTrait, TestScoping {
  func provideScope(
    for test: Test, testCase: Test.Case?, performing body: @concurrent @Sendable () async throws -> Void
  ) async throws {
    try await withTaskExecutorPreference(OwnThreads()) { try await body() }
  }
}

extension Trait where Self == OffThePool {
  static var offThePool: OffThePool { OffThePool() }
}

private final class OwnThreads: TaskExecutor {
  private let queue = DispatchQueue(label: "holdfast.tests.client", attributes: .concurrent)

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    queue.async { unsafe job.runSynchronously(on: self.asUnownedTaskExecutor()) }
  }
}
