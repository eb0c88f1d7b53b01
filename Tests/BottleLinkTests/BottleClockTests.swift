import BottleFirmware
import LinkCore
import LinkStorage
import LinkWire
import Testing
import VirtualBottle

@testable import BottleLink

/// Tests of the bottle's clock, which the phone sets on every connection until the bottle has
/// accepted the time.
@Suite struct BottleClockTests {
  /// Returns the clock values that the phone wrote, with the time of each write.
  private static func times(_ bench: BottleBench) -> [(at: Double, clock: UInt32)] {
    bench.log.compactMap { at, effect in
      guard case .write(_, _, .command, let bytes) = effect,
        case .setTime(let clock)? = try? BottleCommand(bytes)
      else { return nil }
      return (at, clock)
    }
  }

  private static func met(failing: Int) -> BottleBench {
    var bench = BottleBench.wanted()
    bench.failingTimes = failing
    bench.touch(.moved)
    bench.touch(.stands(true))
    _ = bench.wait(5) { $0.status.phase == .connected }
    return bench
  }

  @Test func `sets the time once on a connection whose bottle accepts it`() {
    var bench = Self.met(failing: 0)
    bench.pass(25)
    #expect(Self.times(bench).count == 1)
    #expect(bench.bottle.bottle.clock.isValid)
  }

  @Test(arguments: [1, 2, 3])
  func `sets a time that did not arrive again on the same connection`(failing: Int) {
    var bench = Self.met(failing: failing)
    bench.pass(26)
    #expect(bench.status.phase == .connected)
    #expect(Self.times(bench).count == failing + 1)
    #expect(bench.bottle.bottle.clock.isValid)
    bench.touch(.poured(40))
    bench.pass(3)
    #expect(bench.drinks.map { $0.record.timestamp != nil } == [true])
  }

  @Test func `sets the time again after 1, 5 and 15 s, with the time of that moment`() {
    var bench = Self.met(failing: 9)
    bench.give(.hold(true))
    bench.pass(80)
    let times = Self.times(bench)
    // Each failure is reported after one second.
    let waits = zip(times, times.dropFirst()).map { ($1.at - $0.at).rounded() }
    #expect(waits == [2, 6, 16])
    for (at, clock) in times {
      #expect(Int64(clock) == BottleBench.wall.nanoseconds / 1_000_000_000 + Int64(at))
    }
  }

  @Test func `after four failures the next connection sets the time`() {
    var bench = Self.met(failing: 4)
    bench.give(.hold(true))
    bench.pass(80)
    #expect(Self.times(bench).count == 4)
    bench.drop(.reset)
    bench.pass(20)
    #expect(Self.times(bench).count == 5)
    #expect(bench.bottle.bottle.clock.isValid)
  }

  @Test func `the end of a connection cancels its next attempt to set the time`() {
    var bench = Self.met(failing: 1)
    bench.pass(0.5)
    bench.background()
    bench.range(false)
    bench.drop(.timeout(.silence))
    bench.pass(60)
    #expect(Self.times(bench).count == 1)
    #expect(bench.model.deadline == nil)
  }
}
