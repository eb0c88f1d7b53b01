import BottleFirmware
import LinkCore
import LinkStorage
import LinkWire
import Testing
import VirtualBottle

@testable import BottleLink

/// Tests of the scenarios and the table of expected behavior in seed 002, with its timings as
/// bounds.
@Suite struct SeedScenarioTests {
  private static let profiles: [TimerProfile] = [.plan028, .plan034, .plan035]

  @Test(arguments: profiles)
  func `test 1: in the foreground a bottle that wakes is connected within 5 seconds`(
    _ profile: TimerProfile
  ) throws {
    var bench = BottleBench.connected(profile)
    bench.background()
    bench.pass(6)
    #expect(!bench.isLinked)
    bench.pass(300)
    bench.touch(.moved)
    bench.foreground()
    let time = try #require(bench.wait(10) { $0.status.phase == .connected })
    #expect((0.5...5).contains(time), "\(time)")
  }

  @Test(arguments: profiles)
  func `test 2: after walking out of range and back it is connected within about 8 seconds`(
    _ profile: TimerProfile
  ) throws {
    var bench = BottleBench.connected(profile)
    bench.range(false)
    let lost = bench.wait(10) { $0.status.phase != .connected }
    #expect(lost != nil)
    bench.range(true)
    bench.touch(.moved)
    let time = try #require(bench.wait(20) { $0.status.phase == .connected })
    #expect(time <= 8, "\(time)")
  }

  @Test func `test 3: in the background a drink is synchronized before the app is opened`() {
    var bench = BottleBench.connected(.plan028)
    bench.background()
    bench.pass(6)
    #expect(!bench.isLinked)
    bench.pass(600)
    bench.passive = .seconds(60)
    bench.touch(.moved)
    bench.touch(.poured(250))
    bench.pass(90)
    #expect(bench.stored == [1])
    bench.foreground()
    #expect(bench.drinks.map(\.record.amount) == [250])
  }

  @Test(arguments: profiles)
  func `test 4: after a forced end it reconnects at the next launch`(
    _ profile: TimerProfile
  ) throws {
    var bench = BottleBench.connected(profile)
    bench.kill(keeping: false)
    bench.pass(60)
    #expect(!bench.isLinked)
    bench.touch(.moved)
    bench.launch()
    let time = try #require(bench.wait(10) { $0.status.phase == .connected })
    #expect(time <= 5, "\(time)")
  }

  @Test func `app open, bottle wakes: the burst finds it in 1 to 5 seconds`() throws {
    var bench = BottleBench.wanted()
    bench.pass(1)
    bench.touch(.moved)
    let time = try #require(bench.wait(10) { $0.status.phase == .connected })
    #expect((0...5).contains(time), "\(time)")
  }

  @Test func `app open, after its burst: the queued connect takes over`() throws {
    var bench = BottleBench.wanted()
    bench.pass(60)
    #expect(bench.status.outstanding == [.queuedConnect])
    bench.touch(.moved)
    let time = try #require(bench.wait(20) { $0.status.phase == .connected })
    #expect((5...15).contains(time), "\(time)")
  }

  @Test(arguments: [10.0, 30, 60])
  func `app in background, bottle wakes with drinks: it is synchronized in 10 to 60 seconds`(
    passive: Double
  ) throws {
    var bench = BottleBench.connected(.plan035)
    bench.background()
    bench.pass(600)
    bench.passive = .seconds(Int64(passive))
    bench.touch(.moved)
    bench.touch(.stands(true))
    bench.touch(.poured(250))
    let time = try #require(bench.wait(120) { $0.stored == [1] })
    #expect((passive...passive + 3).contains(time), "\(time)")
  }

  @Test func `app in background, bottle wakes without drinks: 30 seconds can be too short`() {
    var bench = BottleBench.connected(.plan028)
    bench.background()
    bench.pass(600)
    bench.passive = .seconds(40)
    bench.touch(.moved)
    bench.touch(.stands(true))
    #expect(bench.wait(120) { $0.isLinked } == nil)
    #expect(bench.status.outstanding == [.queuedConnect])
  }

  @Test func `app ended by the system, bottle wakes: it is launched and synchronized`() throws {
    var bench = BottleBench.connected(.plan035)
    bench.background()
    bench.pass(60)
    bench.kill(keeping: true)
    bench.pass(600)
    bench.passive = .seconds(60)
    bench.touch(.moved)
    bench.touch(.stands(true))
    bench.touch(.poured(250))
    let time = try #require(bench.wait(180) { $0.stored == [1] })
    #expect((30...120).contains(time), "\(time)")
    #expect(bench.drinks.map(\.record.id) == [1])
  }
}
