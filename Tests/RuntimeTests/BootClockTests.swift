import HoldfastCore
import HoldfastPorts
import HoldfastTestKit
import Testing

@Suite(.timeLimit(.minutes(60)))
struct ClockTests {
  @Test
  func `the boot clock never goes back and never wakes early`() async throws {
    let clock = BootClock()
    for _ in 0..<10 {
      let deadline = clock.now.advanced(by: .milliseconds(1))
      try await clock.wait(until: deadline)
      #expect(clock.now >= deadline)
    }
  }

  @Test
  func `the boot clock does not wait for the past`() async throws {
    let clock = BootClock()
    try await clock.wait(until: clock.now)
    try await clock.wait(until: .zero)
  }

  @Test(arguments: [Duration.zero, .seconds(1_000_000)])
  func `cancellation ends a wait on the boot clock`(left: Duration) async throws {
    let clock = BootClock()
    let waiting = Task { try await clock.wait(until: clock.now.advanced(by: left)) }
    waiting.cancel()
    if left > .zero {
      await #expect(throws: CancellationError.self) { try await waiting.value }
    }
  }

  @Test
  func `the wall clock of the boot clock shows this century`() {
    #expect(BootClock().wall > Timestamp(nanoseconds: 946_684_800_000_000_000))
  }

  @Test
  func `a test clock wakes only waiters whose deadline has come`() async throws {
    let clock = TestClock()
    let woken = Mailbox<Int>()
    let tasks = [1, 2, 3].map { second in
      Task {
        try await clock.wait(until: .second(Double(second)))
        woken.put(second)
      }
    }
    for second in [1.0, 2, 3] { await clock.someoneWaits(for: .second(second)) }
    clock.advance(by: .seconds(2))
    #expect(await woken.next(2).sorted() == [1, 2])
    #expect(clock.deadlines == [.second(3)])
    tasks[2].cancel()
    await #expect(throws: CancellationError.self) { try await tasks[2].value }
    #expect(clock.deadlines.isEmpty)
  }

  @Test
  func `the wall clock of a test clock moves along and can be set`() {
    let clock = TestClock(now: .second(5), wall: Timestamp(nanoseconds: 100))
    #expect(clock.wall == Timestamp(nanoseconds: 5_000_000_100))
    clock.setWall(Timestamp(nanoseconds: 7))
    #expect(clock.wall == Timestamp(nanoseconds: 7))
    clock.advance(by: .nanoseconds(3))
    #expect(clock.wall == Timestamp(nanoseconds: 10))
  }
}
