import HoldfastTestKit
import LinkCore
import Testing

@testable import Holdfast

@Suite(.timeLimit(.minutes(10)))
struct SluiceTests {
  private let clock = TestClock()
  private let sluice: Sluice

  init() {
    sluice = Sluice(clock: clock, patience: Sluice.patience)
  }

  @Test func `an open sluice lets all pass`() async {
    await sluice.pass(1_000_000)
    await sluice.pass(1)
  }

  @Test(arguments: [(999, false), (1000, false), (1001, true)])
  func `a closed sluice lets a thousand pass, and the rest when the store answers`(
    count: Int, waits: Bool
  ) async {
    sluice.close()
    async let passed: Void = sluice.pass(count)
    if waits { await clock.someoneWaits(for: .second(2)) }
    sluice.open()
    await passed
    #expect(clock.deadlines.isEmpty)
  }

  @Test func `what passed before counts`() async {
    sluice.close()
    await sluice.pass(1000)
    async let passed: Void = sluice.pass(1)
    await clock.someoneWaits(for: .second(2))
    sluice.open()
    await passed
  }

  @Test func `a store that does not answer stops the pings for two seconds`() async {
    sluice.close()
    async let passed: Void = sluice.pass(1001)
    await clock.someoneWaits(for: .second(2))
    clock.advance(to: .second(2))
    await passed
    // It stays open until the next commit.
    await sluice.pass(5000)
    sluice.open()
    sluice.close()
    async let next: Void = sluice.pass(1001)
    await clock.someoneWaits(for: .second(4))
    sluice.open()
    await next
  }

  @Test func `without an end a wait outlasts refused commits, which count on`() async {
    let sluice = Sluice(clock: clock, patience: nil)
    let told = Mailbox<Bool>()
    sluice.close()
    await sluice.pass(1_000)
    sluice.close()
    async let passed: Void = sluice.pass(1) { told.put($0) }
    #expect(await told.next() == true)
    #expect(clock.deadlines.isEmpty)
    sluice.open()
    await passed
    #expect(await told.next() == false)
    sluice.close()
    await sluice.pass(1_000) { told.put($0) }
    #expect(told.takeAll() == [])
  }
}
