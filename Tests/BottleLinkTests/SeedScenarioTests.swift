import HoldfastBottleData
import HoldfastCore
import HoldfastFirmware
import HoldfastVirtualBottle
import Testing

@testable import HoldfastBottleLink

/// Tests of the scenarios and the table of expected behavior in seed 002, with its timings as
/// bounds.
@Suite struct SeedScenarioTests {
  private static let profiles: [TimerProfile] = [.plan028, .plan034, .plan035]

  @Test(arguments: profiles)
  func `test 1: in the foreground a bottle that wakes is connected within 5 seconds`(
    _ profile: TimerProfile
  ) throws {
    var harness = BottleHarness.connected(profile)
    harness.background()
    harness.pass(6)
    #expect(!harness.isLinked)
    harness.pass(300)
    harness.touch(.moved)
    harness.foreground()
    let time = try #require(harness.wait(10) { $0.status.phase == .connected })
    #expect((0.5...5).contains(time), "\(time)")
  }

  @Test(arguments: profiles)
  func `test 2: after walking out of range and back it is connected within about 8 seconds`(
    _ profile: TimerProfile
  ) throws {
    var harness = BottleHarness.connected(profile)
    harness.range(false)
    let lost = harness.wait(10) { $0.status.phase != .connected }
    #expect(lost != nil)
    harness.range(true)
    harness.touch(.moved)
    let time = try #require(harness.wait(20) { $0.status.phase == .connected })
    #expect(time <= 8, "\(time)")
  }

  @Test func `test 3: in the background a drink is synchronized before the app is opened`() {
    var harness = BottleHarness.connected(.plan028)
    harness.background()
    harness.pass(6)
    #expect(!harness.isLinked)
    harness.pass(600)
    harness.passive = .seconds(60)
    harness.touch(.moved)
    harness.touch(.poured(250))
    harness.pass(90)
    #expect(harness.stored == [1])
    harness.foreground()
    #expect(harness.drinks.map(\.record.amount) == [250])
  }

  @Test(arguments: profiles)
  func `test 4: after a forced end it reconnects at the next launch`(
    _ profile: TimerProfile
  ) throws {
    var harness = BottleHarness.connected(profile)
    harness.kill(keeping: false)
    harness.pass(60)
    #expect(!harness.isLinked)
    harness.touch(.moved)
    harness.launch()
    let time = try #require(harness.wait(10) { $0.status.phase == .connected })
    #expect(time <= 5, "\(time)")
  }

  @Test func `app open, bottle wakes: the burst finds it in 1 to 5 seconds`() throws {
    var harness = BottleHarness.wanted()
    harness.pass(1)
    harness.touch(.moved)
    let time = try #require(harness.wait(10) { $0.status.phase == .connected })
    #expect((0...5).contains(time), "\(time)")
  }

  @Test func `app open, after its burst: the queued connect takes over`() throws {
    var harness = BottleHarness.wanted()
    harness.pass(60)
    #expect(harness.status.outstanding == [.queuedConnect])
    harness.touch(.moved)
    let time = try #require(harness.wait(20) { $0.status.phase == .connected })
    #expect((5...15).contains(time), "\(time)")
  }

  @Test(arguments: [10.0, 30, 60])
  func `app in background, bottle wakes with drinks: it is synchronized in 10 to 60 seconds`(
    passive: Double
  ) throws {
    var harness = BottleHarness.connected(.plan035)
    harness.background()
    harness.pass(600)
    harness.passive = .seconds(Int64(passive))
    harness.touch(.moved)
    harness.touch(.stands(true))
    harness.touch(.poured(250))
    let time = try #require(harness.wait(120) { $0.stored == [1] })
    #expect((passive...passive + 3).contains(time), "\(time)")
  }

  @Test func `app in background, bottle wakes without drinks: 30 seconds can be too short`() {
    var harness = BottleHarness.connected(.plan028)
    harness.background()
    harness.pass(600)
    harness.passive = .seconds(40)
    harness.touch(.moved)
    harness.touch(.stands(true))
    #expect(harness.wait(120) { $0.isLinked } == nil)
    #expect(harness.status.outstanding == [.queuedConnect])
  }

  @Test func `app ended by the system, bottle wakes: it is launched and synchronized`() throws {
    var harness = BottleHarness.connected(.plan035)
    harness.background()
    harness.pass(60)
    harness.kill(keeping: true)
    harness.pass(600)
    harness.passive = .seconds(60)
    harness.touch(.moved)
    harness.touch(.stands(true))
    harness.touch(.poured(250))
    let time = try #require(harness.wait(180) { $0.stored == [1] })
    #expect((30...120).contains(time), "\(time)")
    #expect(harness.drinks.map(\.record.id) == [1])
  }
}
