import Dispatch
import HoldfastCore
import HoldfastDriver
import HoldfastPorts
import HoldfastTestKit
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(60)))
struct DriverTests {
  let clock = TestClock()

  @Test
  func `handles inputs in the order of posting`() async throws {
    let work = Work(Bell(), clock: clock)
    for number in 0..<100 { #expect(work.driver.tryPost(.say(number))) }
    try await work.run {
      #expect(await work.effects.next(100) == (0..<100).map { .said($0) })
    }
  }

  @Test
  func `performs effects one at a time`() async throws {
    let active = Mutex(0)
    let work = Work(Bell(), clock: clock) { _ in
      #expect(
        active.withLock { count in
          defer { count += 1 }; return count
        } == 0)
      for _ in 0..<10 { await Task.yield() }
      active.withLock { $0 -= 1 }
    }
    try await work.run {
      for number in 0..<20 { await work.driver.post(.say(number)) }
      #expect(await work.effects.next(20) == (0..<20).map { .said($0) })
    }
  }

  @Test
  func `ticks the machine at its deadline`() async throws {
    let work = Work(Bell(), clock: clock)
    try await work.run {
      await work.driver.post(.ring(at: .second(5)))
      await clock.someoneWaits(for: .second(5))
      clock.advance(to: .second(4.999))
      #expect(work.effects.takeAll().isEmpty)
      clock.advance(to: .second(5))
      #expect(await work.effects.next() == .rang(.second(5)))
    }
  }

  @Test
  func `settles when the posted inputs are handled and the machine is ready`() async throws {
    let work = Work(Bell(), clock: clock)
    try await work.run {
      for number in 0..<10 { await work.driver.post(.say(number)) }
      await work.driver.waitUntil { _ in true }
      #expect(work.effects.takeAll().count == 10)
      async let isJammed = work.driver.waitUntil(\.isJammed)
      await work.driver.post(.jam)
      #expect(await isJammed)
      #expect(await work.driver.snapshot.isJammed)
    }
    // This waits until the driver has ended.
    #expect(await !work.driver.waitUntil { _ in false })
  }

  @Test
  func `a condition whose result changes between two calls resumes its waiter once`()
    async throws
  {
    let work = Work(Bell(), clock: clock)
    let holds = Mutex(true)
    let condition: @Sendable (Bell) -> Bool = { bell in
      bell.isJammed && holds.withLock { exchange(&$0, with: false) }
    }
    try await work.run {
      async let isMet = work.driver.waitUntil(condition)
      while await work.driver.waiterCount == 0 { await Task.yield() }
      await work.driver.post(.jam)
      #expect(await isMet)
      #expect(await work.driver.waiterCount == 0)
    }
  }

  @Test
  func `settles when a tick makes the machine ready`() async throws {
    let work = Work(Bell(), clock: clock)
    try await work.run {
      await work.driver.post(.ring(at: .second(3)))
      await clock.someoneWaits(for: .second(3))
      async let isSilent = work.driver.waitUntil { $0.ring == nil }
      while await work.driver.waiterCount == 0 { await Task.yield() }
      clock.advance(to: .second(3))
      #expect(await isSilent)
      #expect(await work.driver.snapshot.ring == nil)
    }
  }

  @Test
  func `follows a deadline that moves`() async throws {
    let work = Work(Bell(), clock: clock)
    try await work.run {
      await work.driver.post(.ring(at: .second(50)))
      await clock.someoneWaits(for: .second(50))
      await work.driver.post(.ring(at: .second(5)))
      await clock.someoneWaits(for: .second(5))
      clock.advance(to: .second(5))
      #expect(await work.effects.next() == .rang(.second(5)))
      #expect(clock.deadlines.isEmpty)
    }
  }

  @Test
  func `a stream of inputs delays no tick`() async throws {
    let clock = clock
    let work = Work(Bell(), clock: clock) { effect in
      if case .said = effect { clock.advance(by: .seconds(1)) }
    }
    #expect(work.driver.tryPost(.ring(at: .second(3))))
    for number in 1...10 { #expect(work.driver.tryPost(.say(number))) }
    try await work.run {
      let wanted: [Bell.Effect] =
        (1...3).map { .said($0) } + [.rang(.second(3))] + (4...10).map { .said($0) }
      #expect(await work.effects.next(11) == wanted)
    }
  }

  @Test
  func `a deadline in the past ticks once`() async throws {
    clock.advance(to: .second(9))
    let work = Work(Bell(ring: .second(1)), clock: clock)
    try await work.run {
      #expect(await work.effects.next() == .rang(.second(9)))
      await work.driver.post(.say(1))
      #expect(await work.effects.next() == .said(1))
    }
    #expect(work.effects.takeAll().isEmpty)
  }

  @Test
  func `a tick that leaves a past deadline unchanged is repeated only after an input`() async throws
  {
    clock.advance(to: .second(9))
    let work = Work(Bell(ring: .second(1), isJammed: true), clock: clock)
    try await work.run {
      #expect(await work.effects.next() == .rang(.second(9)))
      await work.driver.post(.say(1))
      #expect(await work.effects.next() == .said(1))
      // An input may have changed the effect of the tick, so the driver ticks again after the
      // input.
      #expect(await work.effects.next() == .rang(.second(9)))
    }
    #expect(work.effects.takeAll().isEmpty)
  }

  @Test
  func `a driver that is cancelled before it runs handles no input`() async {
    let work = Work(Bell(), clock: clock)
    #expect(work.driver.tryPost(.say(1)))
    let running = Task {
      while !Task.isCancelled { await Task.yield() }
      await work.driver.run()
    }
    running.cancel()
    await running.value
    #expect(work.effects.takeAll().isEmpty)
    #expect(work.driver.tryPost(.say(2)) == false)
  }

  @Test
  func `cancellation finishes the step under way and refuses the rest`() async throws {
    let inside = Mailbox<Void>()
    let gate = Mailbox<Void>()
    let work = Work(Bell(), clock: clock) { _ in
      inside.put(())
      // An effect is not cancelled together with the driver, so it continues until the gate opens.
      _ = await gate.next()
    }
    #expect(work.driver.tryPost(.say(1)))
    #expect(work.driver.tryPost(.say(2)))
    let running = Task { await work.driver.run() }
    _ = await inside.next()
    running.cancel()
    gate.put(())
    await running.value
    #expect(work.effects.takeAll() == [.said(1)])
    #expect(await work.driver.post(.say(3)) == false)
    #expect(work.driver.tryPost(.say(4)) == false)
  }

  @Test
  func `cancellation ends a driver that waits`() async throws {
    let work = Work(Bell(), clock: clock)
    try await work.run {
      await work.driver.post(.ring(at: .second(5)))
      await clock.someoneWaits(for: .second(5))
    }
    #expect(clock.deadlines.isEmpty)
  }

  @Test
  func `a full inbox delays posts`() async throws {
    let work = Work(Bell(), clock: clock, inboxLimit: 2)
    try await work.run {
      for number in 0..<1_000 { await work.driver.post(.say(number)) }
      #expect(await work.effects.next(1_000) == (0..<1_000).map { .said($0) })
    }
    #expect(work.driver.counters.accepted == 1_000)
    #expect(work.driver.counters.longest <= 2)
  }

  @Test
  func `a snapshot shows the current state of the machine`() async throws {
    let work = Work(Bell(), clock: clock)
    try await work.run {
      await work.driver.post(.ring(at: .second(5)))
      await clock.someoneWaits(for: .second(5))
      #expect(await work.driver.snapshot.ring == .second(5))
    }
  }

  @Test
  func `effects are performed at instants that never go back, even if the clock does`() async throws
  {
    let clock = JumpingClock([.second(5), .second(5), .second(9), .second(2), .second(1)])
    let seen = Mailbox<Instant>()
    let driver = Driver(machine: Bell(), clock: clock) { _, now in seen.put(now) }
    for number in 0..<5 { #expect(driver.tryPost(.say(number))) }
    let running = Task { await driver.run() }
    let instants = await seen.next(5)
    running.cancel()
    await running.value
    #expect(instants == instants.sorted())
    #expect(instants.last == .second(9))
  }

  @Test func `a task that prefers another executor does not miss the end of its wait`() async throws
  {
    let work = Work(Bell(), clock: TestClock())
    try await work.run {
      await Task(executorPreference: OneQueue()) {
        for number in 0..<500 {
          await work.driver.post(.say(number))
          await work.driver.waitUntil { _ in true }
        }
      }.value
    }
    #expect(work.effects.takeAll().count == 500)
  }
}

/// An executor of tasks on one queue.
private final class OneQueue: TaskExecutor {
  private let queue = DispatchQueue(label: "one")

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    queue.async { unsafe job.runSynchronously(on: self.asUnownedTaskExecutor()) }
  }
}

/// A clock that returns one instant after another, and then repeats the last one.
private final class JumpingClock: LinkClock {
  private let instants: Mutex<[Instant]>

  init(_ instants: [Instant]) {
    self.instants = Mutex(instants)
  }

  var now: Instant {
    instants.withLock { $0.count > 1 ? $0.removeFirst() : $0[0] }
  }

  var wall: Timestamp { Timestamp(nanoseconds: 0) }

  func wait(until deadline: Instant) async throws(CancellationError) {}
}
