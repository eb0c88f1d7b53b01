import HoldfastCore
import HoldfastFirmware
import HoldfastVirtualBottle
import Testing

/// Tests of a bottle's rules, in virtual time.
@Suite struct BottleTests {
  /// A test harness that consists of a bottle and its clock in milliseconds.
  struct Harness {
    var bottle: Bottle<ArrayStorage>
    var now: UInt32
    /// The bottle's effects, with their times in seconds since the start.
    var log: [(seconds: Double, effects: BottleEffects)] = []
    let start: UInt32

    init(_ profile: TimerProfile, at start: UInt32 = 0, capacity: Int = 600) {
      self.start = start
      now = start
      bottle = Bottle(
        profile, ring: RecordRing(ArrayStorage(capacity: capacity)), level: 600, at: start)
    }

    @discardableResult
    mutating func give(_ input: BottleInput) -> BottleEffects {
      note(bottle.handle(input, at: now))
    }

    mutating func pass(_ seconds: Double) {
      let end = now &+ UInt32(seconds * 1000)
      while let due = bottle.deadline, Int32(bitPattern: end &- due) >= 0 {
        now = due
        note(bottle.tick(at: now))
      }
      now = end
    }

    @discardableResult
    private mutating func note(_ effects: BottleEffects) -> BottleEffects {
      if effects.bits != 0 { log.append((Double(now &- start) / 1000, effects)) }
      return effects
    }

    /// Returns the time of the first occurrence of an effect, in seconds since the start.
    func first(_ effect: BottleEffects) -> Double? {
      log.first { $0.effects.contains(effect) }?.seconds
    }
  }

  @Test(arguments: [
    (TimerProfile.plan028, 30.0, 120.0), (.plan034, 30, 30), (.plan035, 180, 240),
  ])
  func `a moved bottle stays awake for its plan's time, without and with records`(
    profile: TimerProfile, without: Double, with: Double
  ) {
    var quiet = Harness(profile)
    #expect(quiet.give(.moved) == .advertise)
    quiet.pass(400)
    #expect(quiet.first(.sleep) ?? quiet.first(.sleepDeeply) == without)
    var full = Harness(profile)
    full.give(.moved)
    full.give(.stands(true))
    full.give(.poured(150))
    full.pass(400)
    #expect(full.first(.sleep) ?? full.first(.sleepDeeply) == min(with, 180))
  }

  @Test func `in plan 035 only records made since the bottle woke keep it awake for 240 s`() {
    var harness = Harness(.plan035)
    harness.give(.moved)
    harness.give(.poured(150))
    for _ in 0..<5 {
      harness.give(.stands(false))
      harness.give(.stands(true))
      harness.pass(50)
    }
    #expect(harness.bottle.power == .awake)
    let last = 200.0
    harness.log = []
    harness.pass(400)
    #expect(harness.first(.sleepDeeply) == last + 180)
    harness.give(.tapped)
    harness.give(.stands(true))
    harness.log = []
    let woke = Double(harness.now) / 1000
    harness.pass(400)
    #expect(harness.first(.sleep).map { $0 - woke } == 30, "an older record is no reason to wait")
  }

  @Test func `in plan 028 advertising ends by itself, and a record prolongs it`() {
    var harness = Harness(.plan028)
    harness.give(.moved)
    harness.pass(29)
    harness.give(.poured(40))
    harness.pass(200)
    #expect(harness.first(.sleep) == 149)
    #expect(harness.bottle.isAdvertising == false)
    var still = Harness(.plan028)
    still.give(.moved)
    still.pass(10)
    still.give(.stands(true))
    still.pass(100)
    #expect(still.first(.stopAdvertising) == 30)
    #expect(still.first(.sleep) == 40)
  }

  @Test func `in plan 034 a bottle advertises as long as it is awake`() {
    var harness = Harness(.plan034)
    harness.give(.moved)
    harness.pass(20)
    harness.give(.stands(true))
    harness.pass(100)
    #expect(harness.first(.stopAdvertising) == 50)
    #expect(harness.first(.sleep) == 50)
  }

  @Test(arguments: [(TimerProfile.plan028, 30.0), (.plan034, 55), (.plan035, 55)])
  func `since plan 034 a write by the phone counts as activity, except setting the time`(
    profile: TimerProfile, asleep: Double
  ) {
    var harness = Harness(profile)
    harness.give(.moved)
    harness.give(.stands(true))
    harness.give(.connected)
    harness.pass(25)
    harness.give(.command(.ping))
    harness.pass(2)
    harness.give(.command(.setTime(1_768_766_400)))
    harness.pass(100)
    #expect(harness.first(.sleep) == asleep)
    #expect(harness.first(.disconnect) == asleep, "a connection alone keeps nothing awake")
  }

  @Test(arguments: [(TimerProfile.plan028, 300.0), (.plan034, 180), (.plan035, 180)])
  func `a bottle in a backpack sleeps until it is tapped`(profile: TimerProfile, seconds: Double) {
    var harness = Harness(profile)
    harness.give(.moved)
    for _ in 0..<60 {
      harness.pass(10)
      harness.give(.moved)
    }
    #expect(harness.first(.sleepDeeply) == seconds)
    #expect(harness.bottle.power == .deep)
    #expect(harness.give(.moved).bits == 0)
    #expect(harness.give(.tapped) == .advertise)
  }

  @Test func `in plan 035 nothing wakes a bottle from below 20 percent until it has 25 percent`() {
    var harness = Harness(.plan035)
    harness.give(.moved)
    #expect(harness.give(.battery(20)).bits == 0)
    #expect(harness.give(.battery(19)).contains(.sleep))
    #expect(harness.give(.moved).bits == 0)
    harness.give(.battery(24))
    #expect(harness.give(.moved).bits == 0)
    harness.give(.battery(25))
    #expect(harness.give(.moved) == .advertise)
  }

  @Test func `a drink of 30 ml and a refill of 100 ml are recorded, and less is not`() {
    var harness = Harness(.plan034)
    for amount: Int16 in [29, 30, -99, -100, 99, 100] { harness.give(.poured(amount)) }
    let ring = harness.bottle.ring
    #expect((0..<ring.count).map { ring[$0].amount } == [30, -100, 99, 100])
    #expect((0..<ring.count).map { ring[$0].id } == [1, 2, 3, 4])
    #expect((0..<ring.count).map { ring[$0].kind } == [0, 0, 0, 1])
    #expect(harness.bottle.dailyTotal == 229)
  }

  @Test func `the level stays between empty and full`() {
    var harness = Harness(.plan034)
    harness.give(.poured(700))
    #expect(harness.bottle.level == 0)
    harness.give(.poured(-1000))
    #expect(harness.bottle.level == 830)
  }

  @Test func `600 records are kept, and the next one replaces the oldest`() {
    var harness = Harness(.plan034)
    for _ in 0..<600 { harness.give(.poured(30)) }
    #expect(harness.bottle.ring.count == 600)
    #expect(harness.bottle.ring[0].id == 1)
    harness.give(.poured(30))
    #expect(harness.bottle.ring.count == 600)
    #expect(harness.bottle.ring[0].id == 2)
    #expect(harness.bottle.ring[599].id == 601)
  }

  @Test func `the counter of milliseconds may wrap around`() {
    var harness = Harness(.plan034, at: UInt32.max - 10_000)
    harness.give(.moved)
    harness.give(.stands(true))
    harness.pass(29.999)
    #expect(harness.bottle.power == .awake)
    harness.pass(0.001)
    #expect(harness.bottle.power == .asleep)
  }

  @Test(arguments: [TimerProfile.plan028, .plan034, .plan035])
  func `an early tick changes nothing, even where the millisecond counter wraps around`(
    profile: TimerProfile
  ) {
    for start in [0, UInt32.max - 10_000, UInt32.max - 29_000] {
      var harness = Harness(profile, at: start)
      harness.give(.moved)
      for wait in [1_000, 15_000, 29_500] as [UInt32] {
        #expect(harness.bottle.tick(at: start &+ wait) == BottleEffects())
        #expect(harness.bottle.isAdvertising)
      }
      harness.now = start &+ 29_500
      #expect(harness.give(.connected) != .reject)
    }
  }

  @Test func `a clock that was set keeps running while the bottle sleeps`() {
    var harness = Harness(.plan034)
    harness.give(.moved)
    harness.give(.connected)
    harness.give(.command(.setTime(1_768_766_400)))
    harness.pass(3600)
    harness.give(.moved)
    #expect(harness.bottle.clock.seconds == 1_768_770_000)
    #expect(harness.bottle.clock.isValid)
  }

  /// Returns the record identifiers of each chunk of a synchronization. Each chunk is acknowledged
  /// before the next.
  private static func chunks(_ harness: inout Harness, size: UInt16) -> [[UInt32]] {
    var found: [[UInt32]] = []
    var effects = harness.give(.sync(count: harness.bottle.unsynced, chunkSize: size))
    while effects.contains(.notifyChunk) {
      let bottle = harness.bottle
      found.append(
        (0..<bottle.sync.recordCount(in: bottle.ring)).map {
          bottle.sync.record($0, in: bottle.ring).id
        })
      effects = harness.give(.acknowledged)
    }
    return found
  }

  private static func filled(_ records: Int) -> Harness {
    var harness = Harness(.plan034)
    harness.give(.moved)
    for _ in 0..<records { harness.give(.poured(30)) }
    harness.give(.connected)
    return harness
  }

  @Test(
    arguments: [
      (0, 2, []), (1, 2, [[1]]), (2, 2, [[1, 2]]), (3, 2, [[1, 2], [3]]), (3, 20, [[1, 2, 3]]),
      (2, 0, [[1, 2]]), (2, 21, [[1, 2]]),
    ] as [(Int, UInt16, [[UInt32]])])
  func `a synchronization sends the records in chunks of the requested size`(
    records: Int, size: UInt16, chunks: [[UInt32]]
  ) {
    var harness = Self.filled(records)
    #expect(Self.chunks(&harness, size: size) == chunks)
    #expect(harness.bottle.unsynced == 0)
    #expect(!harness.bottle.sync.isSending)
  }

  @Test func `nothing is marked before the last acknowledgement`() {
    var harness = Self.filled(5)
    harness.give(.sync(count: 5, chunkSize: 2))
    harness.give(.acknowledged)
    harness.give(.acknowledged)
    #expect(harness.bottle.unsynced == 5)
    harness.give(.disconnected)
    #expect(!harness.bottle.sync.isSending)
    harness.give(.connected)
    #expect(
      Self.chunks(&harness, size: 2) == [[1, 2], [3, 4], [5]], "all records are sent again")
  }

  @Test func `a record added or deleted during a synchronization does not shift the others`() {
    var harness = Self.filled(4)
    harness.give(.sync(count: 4, chunkSize: 2))
    harness.give(.poured(30))
    harness.give(.command(.delete(1)))
    #expect(harness.give(.acknowledged).contains(.notifyChunk))
    let bottle = harness.bottle
    #expect(
      (0..<2).map { bottle.sync.record($0, in: bottle.ring).id } == [3, 4])
    harness.give(.acknowledged)
    #expect(harness.bottle.unsynced == 1, "the record that was added later")
  }

  @Test func `older bottles count deleted records and mark the first ones`() {
    var harness = Self.filled(3)
    harness.bottle.countsDeleted = true
    #expect(harness.give(.command(.delete(1))).contains(.notifyState))
    #expect(harness.bottle.unsynced == 3)
    #expect(Self.chunks(&harness, size: 20) == [[2, 3]])
    #expect(harness.bottle.unsynced == 1, "the deleted record and the second one were marked")
  }

  @Test func `a deletion is always answered, even that of an unknown record`() {
    var harness = Self.filled(1)
    #expect(harness.give(.command(.delete(9))) == .notifyState)
    #expect(harness.give(.command(.delete(1))).contains(.persist))
    #expect(harness.bottle.unsynced == 0)
  }

  @Test func `a calibration accepts its steps in order and fails out of order`() {
    var harness = Self.filled(0)
    harness.give(.command(.startCalibration))
    harness.give(.command(.measure(full: false)))
    #expect(harness.bottle.calibration.empty == 100_000 + 247_500)
    harness.give(.command(.measure(full: true)))
    #expect(harness.bottle.calibration.step == 8)
    harness.give(.command(.calibrate(empty: 1, full: 2, scale: 400)))
    #expect(harness.bottle.calibration.step == 9)
    #expect(harness.bottle.configuration.scale == 400)
    #expect(harness.give(.command(.calibrate(empty: 2, full: 2, scale: 400))) == .reject)
    harness.give(.command(.measure(full: true)))
    #expect(harness.bottle.calibration.step == 10)
  }

  @Test func `a configuration out of range is refused`() {
    var harness = Self.filled(0)
    var configuration = FirmwareConfiguration.usual
    configuration.scale = 99
    #expect(harness.give(.configuration(configuration)) == .reject)
    configuration.scale = 100
    #expect(harness.give(.configuration(configuration)) == .persist)
  }

  @Test func `a bottle's state takes at most 200 bytes, and a record 16`() {
    // The size does not include the flash memory with the records. The embedded build checks the
    // size of the program.
    #expect(MemoryLayout<Bottle<ArrayStorage>>.size <= 200)
    #expect(MemoryLayout<DrinkRecord>.size == 16)
  }
}
