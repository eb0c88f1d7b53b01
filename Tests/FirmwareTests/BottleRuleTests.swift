import BottleFirmware
import LinkCore
import LinkWire
import Testing
import VirtualBottle

/// The rules of a bottle at their bounds.
@Suite struct BottleRuleTests {
  typealias Bench = BottleTests.Bench

  /// Returns a harness with an awake bottle and a connected phone.
  private static func connected(_ profile: TimerProfile = .plan034) -> Bench {
    var bench = Bench(profile)
    bench.give(.moved)
    bench.give(.connected)
    return bench
  }

  @Test func `each effect has its own bit`() {
    let all: [BottleEffects] = [
      .advertise, .stopAdvertising, .sleep, .sleepDeeply, .disconnect, .notifyState, .notifyChunk,
      .notifyCalibration, .notifyActivity, .persist, .reject,
    ]
    #expect(all.map(\.bits) == (0..<11).map { 1 << $0 })
    #expect(BottleEffects(3).contains(.advertise))
    #expect(!BottleEffects(1).contains(BottleEffects(3)))
  }

  @Test func `a timer of one millisecond fires after one millisecond`() {
    var profile = TimerProfile.plan034
    (profile.advertising, profile.healthCheck) = (1, 1)
    var bench = Bench(profile)
    #expect(bench.bottle.deadline == 1)
    bench.pass(0.003)
    #expect(bench.bottle.timerWakes == 3)
    bench.give(.moved)
    bench.pass(0.001)
    #expect(bench.first(.stopAdvertising) == 0.004)
  }

  // Waking, advertising, sleeping.

  @Test func `moving an awake bottle restarts its timer and does not count as a wake`() {
    var bench = Bench(.plan034)
    #expect(bench.give(.moved) == .advertise)
    bench.give(.stands(true))
    bench.pass(20)
    #expect(bench.give(.moved).bits == 0)
    #expect(bench.bottle.motionWakes == 1)
    bench.pass(29.999)
    #expect(bench.bottle.power == .awake)
    bench.pass(0.001)
    #expect(bench.bottle.power == .asleep)
    #expect(bench.give(.moved) == .advertise)
    #expect(bench.bottle.motionWakes == 2)
  }

  @Test func `a move at the moment when the bottle falls asleep keeps it awake and advertising`() {
    var bench = Bench(.plan034)
    bench.give(.moved)
    #expect(bench.bottle.handle(.moved, at: 29_999).bits == 0)
    #expect(bench.bottle.handle(.moved, at: 59_999).bits == 0, "its radio keeps advertising")
    #expect(bench.bottle.power == .awake)
    #expect(bench.bottle.isAdvertising)
  }

  @Test func `a write at the moment when the bottle falls asleep is refused`() {
    var bottle = VirtualBottle(.plan034, at: .zero)
    _ = bottle.handle(.world(.moved), at: .zero)
    _ = bottle.handle(.connected(longestValue: 20), at: .zero)
    let ping = VirtualBottle.Input.written(.command, [2, 0, 0, 0])
    let awake = Instant.zero.advanced(by: .milliseconds(29_999))
    #expect(bottle.handle(ping, at: awake) == [.answers(.command, isTaken: true)])
    #expect(
      bottle.handle(ping, at: awake.advanced(by: .seconds(30))) == [
        .answers(.command, isTaken: false), .disconnects, .sleeps(deeply: false),
      ])
  }

  @Test(arguments: [(VirtualBottle.Input.restarted, [1, 2]), (.erased, [1])])
  func `a restart keeps records and configuration, erasing the flash resets them`(
    _ input: VirtualBottle.Input, _ ids: [UInt32]
  ) {
    var bottle = VirtualBottle(.plan035, at: .zero)
    let configuration = BottleConfiguration(scale: 300, tare: 1, capacity: 500, dailyGoal: 2_000)
    _ = bottle.handle(.world(.moved), at: .zero)
    _ = bottle.handle(.connected(longestValue: 20), at: .zero)
    _ = bottle.handle(.written(.configuration, configuration.bytes), at: .zero)
    _ = bottle.handle(.world(.poured(250)), at: Instant.zero.advanced(by: .seconds(1)))
    let usual = VirtualBottle(.plan035, at: .zero).value(of: .configuration)
    let outputs = bottle.handle(input, at: Instant.zero.advanced(by: .seconds(2)))
    #expect(outputs.contains(.disconnects))
    #expect(outputs.contains(.advertises(true)))
    _ = bottle.handle(.world(.poured(40)), at: Instant.zero.advanced(by: .seconds(3)))
    #expect(bottle.records.map(\.id) == ids)
    let kept = input == .erased ? usual : configuration.bytes
    #expect(bottle.value(of: .configuration) == kept)
  }

  @Test func `repeating that a bottle is standing does not count as activity`() {
    var bench = Bench(.plan034)
    #expect(bench.give(.stands(true)).bits == 0)
    #expect(!bench.bottle.isStill, "the bottle sleeps")
    bench.give(.moved)
    bench.pass(20)
    bench.give(.stands(true))
    bench.pass(5)
    bench.give(.stands(true))
    bench.pass(25)
    #expect(bench.first(.sleep) == 50)
  }

  @Test func `a connected phone is notified when the bottle is put down and picked up`() {
    var bench = Self.connected()
    #expect(bench.give(.stands(false)).bits == 0)
    #expect(bench.give(.stands(true)) == .notifyState)
    #expect(bench.bottle.isStill)
    #expect(bench.give(.stands(false)) == .notifyState)
    #expect(!bench.bottle.isStill)
  }

  @Test func `in plan 028 a bottle advertises for 30 s after each activity and disconnection`() {
    var bench = Bench(.plan028)
    bench.give(.moved)
    bench.pass(20)
    #expect(bench.give(.connected) == .stopAdvertising)
    bench.pass(5)
    #expect(bench.give(.disconnected) == .advertise)
    bench.pass(1)
    bench.give(.stands(true))
    bench.pass(100)
    let last = bench.log.suffix(2)
    #expect(last.map(\.seconds) == [55, 56])
    #expect(last.map(\.effects) == [.stopAdvertising, .sleep])
    bench.give(.moved)
    bench.pass(20)
    bench.give(.stands(true))
    bench.pass(15)
    #expect(!bench.bottle.isAdvertising)
    #expect(bench.give(.moved) == .advertise, "it may be found again after any activity")
  }

  @Test func `in plan 028 a bottle with a record advertises for 120 s`() {
    var bench = Bench(.plan028)
    bench.give(.moved)
    bench.give(.poured(30))
    bench.pass(119.999)
    #expect(bench.bottle.isAdvertising)
    bench.give(.stands(true))
    bench.pass(0.001)
    #expect(!bench.bottle.isAdvertising)
    #expect(bench.bottle.power == .awake)
  }

  @Test func `the time in a backpack begins at the event that each plan specifies`() {
    func sleepsDeeply(_ profile: TimerProfile, standing at: Double) -> Double? {
      var bench = Bench(profile)
      bench.give(.moved)
      var isDown = false
      for second in 1...600 {
        bench.pass(1)
        if Double(second) == at, !isDown {
          isDown = true
          bench.give(.stands(true))
          bench.give(.stands(false))
        }
        if second % 10 == 0 { bench.give(.moved) }
      }
      return bench.first(.sleepDeeply)
    }
    #expect(sleepsDeeply(.plan028, standing: 100) == 300)
    #expect(sleepsDeeply(.plan034, standing: 100) == 280)
    #expect(sleepsDeeply(.plan035, standing: 100) == 280)
  }

  @Test func `in plan 035 a phone write restarts the backpack time, setting the clock does not`() {
    func sleepsDeeply(_ profile: TimerProfile, _ input: BottleInput) -> Double? {
      var bench = Self.connected(profile)
      for second in 1...500 {
        bench.pass(1)
        if second == 100 { bench.give(input) }
        if second % 10 == 0 { bench.give(.moved) }
      }
      return bench.first(.sleepDeeply)
    }
    #expect(sleepsDeeply(.plan034, .command(.ping)) == 180)
    #expect(sleepsDeeply(.plan035, .command(.ping)) == 280)
    #expect(sleepsDeeply(.plan035, .command(.setTime(1_768_766_400))) == 180)
  }

  @Test func `in plan 035 a bottle sleeps 30 s after it stood still`() {
    var bench = Bench(.plan035)
    bench.give(.moved)
    bench.pass(40)
    #expect(bench.bottle.power == .awake, "it has not stood still yet")
    bench.give(.stands(true))
    bench.pass(30)
    #expect(bench.first(.sleep) == 70)
    bench.give(.moved)
    bench.pass(60)
    #expect(bench.bottle.power == .awake, "it has not stood still since it woke")
    #expect(bench.bottle.isStill == false)
  }

  @Test func `in plan 035 a sleeping bottle checks itself every two hours`() {
    var bench = Bench(.plan035)
    #expect(bench.bottle.deadline == 7_200_000)
    bench.pass(7199.999)
    #expect(bench.bottle.timerWakes == 0)
    bench.pass(0.001)
    #expect(bench.bottle.timerWakes == 1)
    bench.pass(7200)
    #expect(bench.bottle.timerWakes == 2)
    bench.give(.moved)
    bench.give(.stands(true))
    bench.pass(30)
    #expect(bench.bottle.deadline == 21_630_000)
    #expect(bench.bottle.power == .asleep)
    #expect(Bench(.plan034).bottle.deadline == nil)
  }

  @Test func `deep sleep is counted, ends at a tap, and records nothing`() {
    var bench = Self.connected()
    for _ in 0..<17 {
      bench.pass(10)
      bench.give(.moved)
    }
    bench.pass(10)
    #expect(bench.log.last?.effects == BottleEffects(8 | 16))
    #expect(bench.bottle.backpacks == 1)
    #expect(!bench.bottle.isConnected)
    #expect(bench.give(.poured(100)).bits == 0)
    #expect(bench.give(.shaken).bits == 0)
    #expect((bench.bottle.level, bench.bottle.ring.count) == (600, 0))
    #expect(bench.give(.tapped) == .advertise)
    #expect(bench.bottle.motionWakes == 2)
  }

  @Test func `a low battery is reported and then ends the connection`() {
    var bench = Self.connected(.plan035)
    #expect(bench.give(.battery(60)).bits == 0)
    #expect(bench.bottle.battery == 60)
    #expect(bench.give(.battery(19)) == BottleEffects(4 | 16 | 32))
    #expect(bench.bottle.isLocked)
    #expect(bench.give(.battery(18)).bits == 0)
    #expect(bench.give(.tapped).bits == 0)
    #expect(bench.bottle.motionWakes == 1)
    #expect(bench.give(.battery(25)).bits == 0)
    #expect(bench.bottle.power == .asleep)
    var older = Self.connected()
    #expect(older.give(.battery(0)).bits == 0, "plan 034 has no such rule")
  }

  @Test func `only an awake bottle that advertises can be connected to, by one phone`() {
    var bench = Bench(.plan028)
    #expect(bench.give(.connected) == .reject)
    #expect(bench.give(.disconnected).bits == 0)
    bench.give(.moved)
    #expect(bench.give(.disconnected).bits == 0)
    #expect(bench.give(.connected) == .stopAdvertising)
    #expect((bench.bottle.isConnected, bench.bottle.isAdvertising) == (true, false))
    #expect(bench.give(.connected) == .reject)
    #expect(bench.bottle.isConnected)
  }

  @Test func `a write without a connection is refused and has no effect`() {
    var bench = Bench(.plan034)
    bench.give(.moved)
    bench.give(.poured(40))
    let inputs: [BottleInput] = [
      .command(.tare), .settings(shakeToEmpty: false), .acknowledged,
      .sync(count: 1, chunkSize: 1),
    ]
    for input in inputs { #expect(bench.give(input) == .reject) }
    #expect(bench.bottle.level == 560)
    #expect(bench.bottle.shakeToEmpty)
  }

  @Test func `the clock counts milliseconds and begins a new second when it is set`() {
    var bench = Self.connected()
    bench.pass(0.6)
    bench.give(.moved)
    #expect(bench.bottle.clock.seconds == 0)
    bench.pass(0.399)
    bench.give(.moved)
    #expect(bench.bottle.clock.seconds == 0)
    bench.pass(0.001)
    bench.give(.moved)
    #expect(bench.bottle.clock.seconds == 1)
    #expect(!bench.bottle.clock.isValid)
    bench.pass(0.9)
    #expect(bench.give(.command(.setTime(1_768_766_400))) == .notifyState)
    bench.pass(0.9)
    bench.give(.moved)
    #expect(bench.bottle.clock.seconds == 1_768_766_400)
    bench.pass(0.1)
    bench.give(.moved)
    #expect(bench.bottle.clock.seconds == 1_768_766_401)
    #expect(bench.bottle.clock.isValid)
  }

  @Test func `the profiles have the numbers of their plans`() {
    let plan028 = TimerProfile(
      plan: 28, awake: 30_000, awakeUnsynced: 120_000, countsNewRecordsOnly: false,
      advertising: 30_000, advertisingUnsynced: 120_000, dataIsActivity: false,
      backpack: 300_000, backpackCountsFromStable: false, dataEndsBackpack: false,
      waitsForStable: false, healthCheck: 0, lockout: 0, recovery: 0)
    let plan034 = TimerProfile(
      plan: 34, awake: 30_000, awakeUnsynced: 30_000, countsNewRecordsOnly: false,
      advertising: 0, advertisingUnsynced: 0, dataIsActivity: true, backpack: 180_000,
      backpackCountsFromStable: true, dataEndsBackpack: false, waitsForStable: false,
      healthCheck: 0, lockout: 0, recovery: 0)
    let plan035 = TimerProfile(
      plan: 35, awake: 30_000, awakeUnsynced: 240_000, countsNewRecordsOnly: true,
      advertising: 0, advertisingUnsynced: 0, dataIsActivity: true, backpack: 180_000,
      backpackCountsFromStable: true, dataEndsBackpack: true, waitsForStable: true,
      healthCheck: 7_200_000, lockout: 20, recovery: 25)
    #expect([.plan028, .plan034, .plan035] == [plan028, plan034, plan035])
  }

  @Test func `picking up a bottle does not restart its backpack time`() {
    var bench = Bench(.plan034)
    bench.give(.moved)
    for second in 1...300 {
      bench.pass(1)
      if second == 10 { bench.give(.stands(true)) }
      if second == 100 { bench.give(.stands(false)) }
      if second % 10 == 0 { bench.give(.moved) }
    }
    #expect(bench.first(.sleepDeeply) == 190)
  }

  @Test func `in plan 028 a disconnection without a connection does not restart advertising`() {
    var bench = Bench(.plan028)
    bench.give(.moved)
    bench.pass(20)
    bench.give(.stands(true))
    bench.pass(15)
    #expect((bench.bottle.power, bench.bottle.isAdvertising) == (.awake, false))
    #expect(bench.give(.disconnected).bits == 0)
  }

  @Test func `sleep ends a synchronization, and only sleep in a backpack counts as a backpack`() {
    var bench = Self.connected()
    bench.give(.stands(true))
    bench.give(.poured(40))
    bench.give(.sync(count: 1, chunkSize: 1))
    #expect(bench.bottle.sync.isSending)
    bench.pass(60)
    #expect(bench.bottle.power == .asleep)
    #expect(!bench.bottle.sync.isSending)
    #expect(bench.bottle.backpacks == 0)
  }

  @Test func `a tick without a due timer only advances the clock`() {
    var sleeping = Bench(.plan034).bottle
    #expect(sleeping.tick(at: 8_000_000).bits == 0)
    #expect((sleeping.timerWakes, sleeping.clock.seconds) == (0, 8_000))
    var checked = Bench(.plan035).bottle
    _ = checked.tick(at: 7_199_999)
    #expect(checked.timerWakes == 0)
    _ = checked.tick(at: 7_200_000)
    _ = checked.tick(at: 7_200_001)
    #expect(checked.timerWakes == 1)
  }

  @Test func `a bottle that was just switched on is asleep, empty and fully charged`() {
    let bottle = Bottle(.plan034, ring: RecordRing(ArrayStorage(capacity: 1)))
    #expect((bottle.level, bottle.battery, bottle.power) == (0, 100, .asleep))
    #expect(bottle.clock.seconds == 0)
    #expect((bottle.motionWakes, bottle.timerWakes, bottle.backpacks) == (0, 0, 0))
  }

  @Test func `a tap at the moment of deep sleep keeps the bottle awake`() {
    var bench = Bench(.plan034)
    for _ in 0..<17 {
      bench.give(.moved)
      bench.pass(10)
    }
    bench.give(.moved)
    bench.now &+= 10_000
    #expect(bench.give(.tapped).bits == 0)
    #expect(bench.bottle.power == .awake)
    #expect(bench.bottle.isAdvertising)
  }
}
