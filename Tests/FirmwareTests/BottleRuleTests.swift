import HoldfastBottleData
import HoldfastCore
import HoldfastFirmware
import HoldfastVirtualBottle
import Testing

/// Tests of a bottle's rules at their limits.
@Suite struct BottleRuleTests {
  typealias Harness = BottleTests.Harness

  /// Returns a harness with an awake bottle and a connected phone.
  private static func connected(_ profile: TimerProfile = .plan034) -> Harness {
    var harness = Harness(profile)
    harness.give(.moved)
    harness.give(.connected)
    return harness
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
    var harness = Harness(profile)
    #expect(harness.bottle.deadline == 1)
    harness.pass(0.003)
    #expect(harness.bottle.timerWakes == 3)
    harness.give(.moved)
    harness.pass(0.001)
    #expect(harness.first(.stopAdvertising) == 0.004)
  }

  // MARK: Waking, advertising, sleeping

  @Test func `moving an awake bottle restarts its timer and does not count as a wake`() {
    var harness = Harness(.plan034)
    #expect(harness.give(.moved) == .advertise)
    harness.give(.stands(true))
    harness.pass(20)
    #expect(harness.give(.moved).bits == 0)
    #expect(harness.bottle.motionWakes == 1)
    harness.pass(29.999)
    #expect(harness.bottle.power == .awake)
    harness.pass(0.001)
    #expect(harness.bottle.power == .asleep)
    #expect(harness.give(.moved) == .advertise)
    #expect(harness.bottle.motionWakes == 2)
  }

  @Test func `a move at the moment when the bottle falls asleep keeps it awake and advertising`() {
    var harness = Harness(.plan034)
    harness.give(.moved)
    #expect(harness.bottle.handle(.moved, at: 29_999).bits == 0)
    #expect(harness.bottle.handle(.moved, at: 59_999).bits == 0, "its radio keeps advertising")
    #expect(harness.bottle.power == .awake)
    #expect(harness.bottle.isAdvertising)
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
    let expected = input == .erased ? usual : configuration.bytes
    #expect(bottle.value(of: .configuration) == expected)
  }

  @Test func `repeating that a bottle is standing does not count as activity`() {
    var harness = Harness(.plan034)
    #expect(harness.give(.stands(true)).bits == 0)
    #expect(!harness.bottle.isStill, "the bottle sleeps")
    harness.give(.moved)
    harness.pass(20)
    harness.give(.stands(true))
    harness.pass(5)
    harness.give(.stands(true))
    harness.pass(25)
    #expect(harness.first(.sleep) == 50)
  }

  @Test func `a connected phone is notified when the bottle is put down and picked up`() {
    var harness = Self.connected()
    #expect(harness.give(.stands(false)).bits == 0)
    #expect(harness.give(.stands(true)) == .notifyState)
    #expect(harness.bottle.isStill)
    #expect(harness.give(.stands(false)) == .notifyState)
    #expect(!harness.bottle.isStill)
  }

  @Test func `in plan 028 a bottle advertises for 30 s after each activity and disconnection`() {
    var harness = Harness(.plan028)
    harness.give(.moved)
    harness.pass(20)
    #expect(harness.give(.connected) == .stopAdvertising)
    harness.pass(5)
    #expect(harness.give(.disconnected) == .advertise)
    harness.pass(1)
    harness.give(.stands(true))
    harness.pass(100)
    let last = harness.log.suffix(2)
    #expect(last.map(\.seconds) == [55, 56])
    #expect(last.map(\.effects) == [.stopAdvertising, .sleep])
    harness.give(.moved)
    harness.pass(20)
    harness.give(.stands(true))
    harness.pass(15)
    #expect(!harness.bottle.isAdvertising)
    #expect(harness.give(.moved) == .advertise, "it may be found again after any activity")
  }

  @Test func `in plan 028 a bottle with a record advertises for 120 s`() {
    var harness = Harness(.plan028)
    harness.give(.moved)
    harness.give(.poured(30))
    harness.pass(119.999)
    #expect(harness.bottle.isAdvertising)
    harness.give(.stands(true))
    harness.pass(0.001)
    #expect(!harness.bottle.isAdvertising)
    #expect(harness.bottle.power == .awake)
  }

  @Test func `the time in a backpack begins at the event that each plan specifies`() {
    func sleepsDeeply(_ profile: TimerProfile, standing at: Double) -> Double? {
      var harness = Harness(profile)
      harness.give(.moved)
      var isDown = false
      for second in 1...600 {
        harness.pass(1)
        if Double(second) == at, !isDown {
          isDown = true
          harness.give(.stands(true))
          harness.give(.stands(false))
        }
        if second % 10 == 0 { harness.give(.moved) }
      }
      return harness.first(.sleepDeeply)
    }
    #expect(sleepsDeeply(.plan028, standing: 100) == 300)
    #expect(sleepsDeeply(.plan034, standing: 100) == 280)
    #expect(sleepsDeeply(.plan035, standing: 100) == 280)
  }

  @Test func `in plan 035 a phone write restarts the backpack time, setting the clock does not`() {
    func sleepsDeeply(_ profile: TimerProfile, _ input: BottleInput) -> Double? {
      var harness = Self.connected(profile)
      for second in 1...500 {
        harness.pass(1)
        if second == 100 { harness.give(input) }
        if second % 10 == 0 { harness.give(.moved) }
      }
      return harness.first(.sleepDeeply)
    }
    #expect(sleepsDeeply(.plan034, .command(.ping)) == 180)
    #expect(sleepsDeeply(.plan035, .command(.ping)) == 280)
    #expect(sleepsDeeply(.plan035, .command(.setTime(1_768_766_400))) == 180)
  }

  @Test func `in plan 035 a bottle sleeps 30 s after it stood still`() {
    var harness = Harness(.plan035)
    harness.give(.moved)
    harness.pass(40)
    #expect(harness.bottle.power == .awake, "it has not stood still yet")
    harness.give(.stands(true))
    harness.pass(30)
    #expect(harness.first(.sleep) == 70)
    harness.give(.moved)
    harness.pass(60)
    #expect(harness.bottle.power == .awake, "it has not stood still since it woke")
    #expect(harness.bottle.isStill == false)
  }

  @Test func `in plan 035 a sleeping bottle checks itself every two hours`() {
    var harness = Harness(.plan035)
    #expect(harness.bottle.deadline == 7_200_000)
    harness.pass(7199.999)
    #expect(harness.bottle.timerWakes == 0)
    harness.pass(0.001)
    #expect(harness.bottle.timerWakes == 1)
    harness.pass(7200)
    #expect(harness.bottle.timerWakes == 2)
    harness.give(.moved)
    harness.give(.stands(true))
    harness.pass(30)
    #expect(harness.bottle.deadline == 21_630_000)
    #expect(harness.bottle.power == .asleep)
    #expect(Harness(.plan034).bottle.deadline == nil)
  }

  @Test func `deep sleep is counted, ends at a tap, and records nothing`() {
    var harness = Self.connected()
    for _ in 0..<17 {
      harness.pass(10)
      harness.give(.moved)
    }
    harness.pass(10)
    #expect(harness.log.last?.effects == BottleEffects(8 | 16))
    #expect(harness.bottle.backpacks == 1)
    #expect(!harness.bottle.isConnected)
    #expect(harness.give(.poured(100)).bits == 0)
    #expect(harness.give(.shaken).bits == 0)
    #expect((harness.bottle.level, harness.bottle.ring.count) == (600, 0))
    #expect(harness.give(.tapped) == .advertise)
    #expect(harness.bottle.motionWakes == 2)
  }

  @Test func `a low battery is reported and then ends the connection`() {
    var harness = Self.connected(.plan035)
    #expect(harness.give(.battery(60)).bits == 0)
    #expect(harness.bottle.battery == 60)
    #expect(harness.give(.battery(19)) == BottleEffects(4 | 16 | 32))
    #expect(harness.bottle.isLocked)
    #expect(harness.give(.battery(18)).bits == 0)
    #expect(harness.give(.tapped).bits == 0)
    #expect(harness.bottle.motionWakes == 1)
    #expect(harness.give(.battery(25)).bits == 0)
    #expect(harness.bottle.power == .asleep)
    var older = Self.connected()
    #expect(older.give(.battery(0)).bits == 0, "plan 034 has no such rule")
  }

  @Test func `only an awake bottle that advertises can be connected to, by one phone`() {
    var harness = Harness(.plan028)
    #expect(harness.give(.connected) == .reject)
    #expect(harness.give(.disconnected).bits == 0)
    harness.give(.moved)
    #expect(harness.give(.disconnected).bits == 0)
    #expect(harness.give(.connected) == .stopAdvertising)
    #expect((harness.bottle.isConnected, harness.bottle.isAdvertising) == (true, false))
    #expect(harness.give(.connected) == .reject)
    #expect(harness.bottle.isConnected)
  }

  @Test func `a write without a connection is refused and has no effect`() {
    var harness = Harness(.plan034)
    harness.give(.moved)
    harness.give(.poured(40))
    let inputs: [BottleInput] = [
      .command(.tare), .settings(shakeToEmpty: false), .acknowledged,
      .sync(count: 1, chunkSize: 1),
    ]
    for input in inputs { #expect(harness.give(input) == .reject) }
    #expect(harness.bottle.level == 560)
    #expect(harness.bottle.shakeToEmpty)
  }

  @Test func `the clock counts milliseconds and begins a new second when it is set`() {
    var harness = Self.connected()
    harness.pass(0.6)
    harness.give(.moved)
    #expect(harness.bottle.clock.seconds == 0)
    harness.pass(0.399)
    harness.give(.moved)
    #expect(harness.bottle.clock.seconds == 0)
    harness.pass(0.001)
    harness.give(.moved)
    #expect(harness.bottle.clock.seconds == 1)
    #expect(!harness.bottle.clock.isValid)
    harness.pass(0.9)
    #expect(harness.give(.command(.setTime(1_768_766_400))) == .notifyState)
    harness.pass(0.9)
    harness.give(.moved)
    #expect(harness.bottle.clock.seconds == 1_768_766_400)
    harness.pass(0.1)
    harness.give(.moved)
    #expect(harness.bottle.clock.seconds == 1_768_766_401)
    #expect(harness.bottle.clock.isValid)
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
    var harness = Harness(.plan034)
    harness.give(.moved)
    for second in 1...300 {
      harness.pass(1)
      if second == 10 { harness.give(.stands(true)) }
      if second == 100 { harness.give(.stands(false)) }
      if second % 10 == 0 { harness.give(.moved) }
    }
    #expect(harness.first(.sleepDeeply) == 190)
  }

  @Test func `in plan 028 a disconnection without a connection does not restart advertising`() {
    var harness = Harness(.plan028)
    harness.give(.moved)
    harness.pass(20)
    harness.give(.stands(true))
    harness.pass(15)
    #expect((harness.bottle.power, harness.bottle.isAdvertising) == (.awake, false))
    #expect(harness.give(.disconnected).bits == 0)
  }

  @Test func `sleep ends a synchronization, and only sleep in a backpack counts as a backpack`() {
    var harness = Self.connected()
    harness.give(.stands(true))
    harness.give(.poured(40))
    harness.give(.sync(count: 1, chunkSize: 1))
    #expect(harness.bottle.sync.isSending)
    harness.pass(60)
    #expect(harness.bottle.power == .asleep)
    #expect(!harness.bottle.sync.isSending)
    #expect(harness.bottle.backpacks == 0)
  }

  @Test func `a tick without a due timer only advances the clock`() {
    var sleeping = Harness(.plan034).bottle
    #expect(sleeping.tick(at: 8_000_000).bits == 0)
    #expect((sleeping.timerWakes, sleeping.clock.seconds) == (0, 8_000))
    var checked = Harness(.plan035).bottle
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
    var harness = Harness(.plan034)
    for _ in 0..<17 {
      harness.give(.moved)
      harness.pass(10)
    }
    harness.give(.moved)
    harness.now &+= 10_000
    #expect(harness.give(.tapped).bits == 0)
    #expect(harness.bottle.power == .awake)
    #expect(harness.bottle.isAdvertising)
  }
}
