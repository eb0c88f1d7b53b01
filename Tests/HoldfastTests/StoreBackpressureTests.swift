import HoldfastCore
import HoldfastTestKit
import Testing

@testable import Holdfast

@Suite(.timeLimit(.minutes(60)))
struct StoreBackpressureTests {
  private let clock = TestClock()
  private let backpressure: StoreBackpressure

  init() {
    backpressure = StoreBackpressure(clock: clock, timeLimit: StoreBackpressure.timeLimit)
  }

  @Test func `between commits all messages pass`() async {
    await backpressure.pass(1_000_000)
    await backpressure.pass(1)
  }

  @Test(arguments: [(999, false), (1000, false), (1001, true)])
  func `during a commit 1,000 messages pass, and the rest after it`(
    count: Int, waits: Bool
  ) async {
    backpressure.close()
    async let passed: Void = backpressure.pass(count)
    if waits { await clock.someoneWaits(for: .second(2)) }
    backpressure.open()
    await passed
    #expect(clock.deadlines.isEmpty)
  }

  @Test func `messages that passed earlier in the commit count`() async {
    backpressure.close()
    await backpressure.pass(1000)
    async let passed: Void = backpressure.pass(1)
    await clock.someoneWaits(for: .second(2))
    backpressure.open()
    await passed
  }

  @Test func `a store that does not answer stops the reading for two seconds`() async {
    backpressure.close()
    async let passed: Void = backpressure.pass(1001)
    await clock.someoneWaits(for: .second(2))
    clock.advance(to: .second(2))
    await passed
    // Backpressure does not apply until the next commit.
    await backpressure.pass(5000)
    backpressure.open()
    backpressure.close()
    async let next: Void = backpressure.pass(1001)
    await clock.someoneWaits(for: .second(4))
    backpressure.open()
    await next
  }

  @Test func `without a time limit a wait outlasts refused commits, whose count continues`() async {
    let backpressure = StoreBackpressure(clock: clock, timeLimit: nil)
    let changes = Mailbox<Bool>()
    backpressure.close()
    await backpressure.pass(1_000)
    backpressure.close()
    async let passed: Void = backpressure.pass(1) { changes.put($0) }
    #expect(await changes.next() == true)
    #expect(clock.deadlines.isEmpty)
    backpressure.open()
    await passed
    #expect(await changes.next() == false)
    backpressure.close()
    await backpressure.pass(1_000) { changes.put($0) }
    #expect(changes.takeAll() == [])
  }
}
