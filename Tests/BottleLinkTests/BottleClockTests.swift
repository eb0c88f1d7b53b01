import HoldfastBottleData
import HoldfastCore
import HoldfastFirmware
import HoldfastVirtualBottle
import Testing

@testable import HoldfastBottleLink

/// Tests of the bottle's clock, which the phone sets on every connection until the bottle has
/// accepted the time.
@Suite struct BottleClockTests {
  /// Returns the clock values that the phone wrote, with the time of each write.
  private static func times(_ harness: BottleHarness) -> [(at: Double, clock: UInt32)] {
    harness.log.compactMap { at, effect in
      guard case .write(_, _, .command, let bytes) = effect,
        case .setTime(let clock)? = try? BottleCommand(bytes)
      else { return nil }
      return (at, clock)
    }
  }

  private static func met(failing: Int) -> BottleHarness {
    var harness = BottleHarness.wanted()
    harness.failingTimes = failing
    harness.touch(.moved)
    harness.touch(.stands(true))
    _ = harness.wait(5) { $0.status.phase == .connected }
    return harness
  }

  @Test func `sets the time once on a connection whose bottle accepts it`() {
    var harness = Self.met(failing: 0)
    harness.pass(25)
    #expect(Self.times(harness).count == 1)
    #expect(harness.bottle.bottle.clock.isValid)
  }

  @Test(arguments: [1, 2, 3])
  func `sets a time that did not arrive again on the same connection`(failing: Int) {
    var harness = Self.met(failing: failing)
    harness.pass(26)
    #expect(harness.status.phase == .connected)
    #expect(Self.times(harness).count == failing + 1)
    #expect(harness.bottle.bottle.clock.isValid)
    harness.touch(.poured(40))
    harness.pass(3)
    #expect(harness.drinks.map { $0.record.timestamp != nil } == [true])
  }

  @Test func `sets the time again after 1, 5 and 15 s, with the time of that moment`() {
    var harness = Self.met(failing: 9)
    harness.give(.hold(true))
    harness.pass(80)
    let times = Self.times(harness)
    // Each failure is reported after one second.
    let waits = zip(times, times.dropFirst()).map { ($1.at - $0.at).rounded() }
    #expect(waits == [2, 6, 16])
    for (at, clock) in times {
      #expect(Int64(clock) == BottleHarness.wall.nanoseconds / 1_000_000_000 + Int64(at))
    }
  }

  @Test func `after four failures the next connection sets the time`() {
    var harness = Self.met(failing: 4)
    harness.give(.hold(true))
    harness.pass(80)
    #expect(Self.times(harness).count == 4)
    harness.drop(.reset)
    harness.pass(20)
    #expect(Self.times(harness).count == 5)
    #expect(harness.bottle.bottle.clock.isValid)
  }

  @Test func `the end of a connection cancels its next attempt to set the time`() {
    var harness = Self.met(failing: 1)
    harness.pass(0.5)
    harness.background()
    harness.range(false)
    harness.drop(.timeout(.silence))
    harness.pass(60)
    #expect(Self.times(harness).count == 1)
    #expect(harness.model.deadline == nil)
  }
}
