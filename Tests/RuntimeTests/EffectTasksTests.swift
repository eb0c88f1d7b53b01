import HoldfastCore
import HoldfastDriver
import HoldfastTestKit
import Synchronization
import Testing

@testable import HoldfastSocket

/// Tests of effects that run as tasks outside the driver of a machine.
@Suite(.timeLimit(.minutes(60)))
struct JobsTests {
  private let sink = InputSink<Bell>()
  private let work = Work(Bell(), clock: TestClock())

  private func run(_ body: (EffectTasks<Bell, String>) async throws -> Void) async throws {
    sink.open(to: work.driver)
    defer { sink.close() }
    try await work.run { try await body(EffectTasks(sink)) }
  }

  @Test func `the input that a task returns is posted`() async throws {
    try await run { jobs in
      jobs.start("a") { .say(1) }
      #expect(await work.effects.next() == .said(1))
    }
  }

  @Test func `a cancelled task posts nothing even if it returns an input`() async throws {
    try await run { jobs in
      let (started, finished) = (Mailbox<Int>(), Mailbox<Int>())
      jobs.start("a") {
        started.put(1)
        await until { Task.isCancelled }
        finished.put(1)
        return .say(1)
      }
      _ = await started.next()
      jobs.cancel("a")
      _ = await finished.next()
      jobs.start("b") { .say(2) }
      #expect(await work.effects.next() == .said(2))
      #expect(work.effects.takeAll().isEmpty)
    }
  }

  @Test func `a task replaces an earlier task with the same name`() async throws {
    try await run { jobs in
      let started = Mailbox<Int>()
      jobs.start("a") {
        started.put(1)
        await until { Task.isCancelled }
        return .say(1)
      }
      _ = await started.next()
      jobs.start("a") { .say(2) }
      #expect(await work.effects.next() == .said(2))
      #expect(work.effects.takeAll().isEmpty)
    }
  }

  @Test func `after a stop no work is started`() async throws {
    try await run { jobs in
      jobs.stop()
      let isStarted = Mutex(false)
      jobs.start("a") {
        isStarted.withLock { $0 = true }
        return .say(1)
      }
      await work.driver.post(.say(2))
      #expect(await work.effects.next() == .said(2))
      #expect(!isStarted.withLock { $0 })
    }
  }

  /// Yields until a condition is true.
  private func until(_ condition: () -> Bool) async {
    while !condition() { await Task.yield() }
  }
}
