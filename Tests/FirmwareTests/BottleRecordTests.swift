import HoldfastCore
import HoldfastFirmware
import HoldfastVirtualBottle
import Testing

/// Tests of the records of a bottle, the values that a phone writes, and the synchronization of
/// records.
@Suite struct BottleRecordTests {
  typealias Harness = BottleTests.Harness

  private static func connected() -> Harness {
    var harness = Harness(.plan034)
    harness.give(.moved)
    harness.give(.connected)
    return harness
  }

  @Test func `a record that was cleared cannot be deleted`() {
    var harness = Self.connected()
    harness.give(.poured(100))
    #expect(harness.give(.command(.clearHistory)) == BottleEffects(32 | 512))
    #expect(harness.give(.command(.delete(1))) == .notifyState)
  }

  @Test func `a deleted record between others is not synchronized`() {
    var harness = Self.connected()
    for _ in 1...3 { harness.give(.poured(100)) }
    harness.give(.command(.delete(2)))
    harness.give(.sync(count: 10, chunkSize: 1))
    #expect(harness.bottle.sync.total == 2)
  }

  @Test func `a blank record is all zeros`() {
    let blank = DrinkRecord.blank
    #expect([blank.id, blank.time] == [0, 0])
    #expect([blank.level, blank.padding] == [0, 0])
    #expect([blank.kind, blank.flags] == [0, 0])
    #expect(blank.amount == 0)
  }

  // MARK: The level and the day

  @Test func `a level change of 10 ml since the last notification is reported`() {
    var harness = Self.connected()
    #expect(harness.give(.poured(9)).bits == 0)
    #expect(harness.give(.poured(1)) == .notifyState)
    #expect(harness.give(.poured(-9)).bits == 0)
    #expect(harness.give(.poured(-1)) == .notifyState)
    #expect(harness.give(.poured(30)) == BottleEffects(32 | 512))
    #expect(harness.give(.poured(9)).bits == 0, "a record also reports the level")
    #expect(harness.bottle.level == 561)
  }

  @Test func `shaking empties the bottle unless the settings disable it`() {
    var harness = Self.connected()
    #expect(harness.give(.shaken) == .notifyState)
    #expect(harness.bottle.level == 0)
    #expect(harness.give(.shaken).bits == 0)
    harness.give(.poured(-300))
    #expect(harness.give(.settings(shakeToEmpty: false)) == .persist)
    #expect(harness.give(.shaken).bits == 0)
    #expect(harness.bottle.level == 300)
    var asleep = Harness(.plan034)
    #expect(asleep.give(.shaken) == .advertise)
    #expect(asleep.bottle.level == 0)
  }

  @Test func `each day has its own total, and its first record marks the new day`() {
    var harness = Self.connected()
    harness.give(.command(.setTime(1_768_780_798)))  // two seconds before midnight, UTC
    harness.give(.poured(100))
    harness.give(.poured(-200))
    harness.give(.poured(40))
    harness.pass(1)
    harness.give(.poured(30))
    #expect(harness.bottle.dailyTotal == 170)
    harness.pass(1)
    harness.give(.poured(50))
    #expect(harness.bottle.dailyTotal == 50)
    harness.pass(86_399)
    harness.give(.shaken)
    harness.pass(1)
    harness.give(.poured(35))
    #expect(harness.bottle.dailyTotal == 35)
    let ring = harness.bottle.ring
    #expect(
      (0..<ring.count).map { ring[$0] } == [
        DrinkRecord(id: 1, time: 1_768_780_798, amount: 100, level: 500, kind: 1, flags: 2),
        DrinkRecord(id: 2, time: 1_768_780_798, amount: -200, level: 700, kind: 0),
        DrinkRecord(id: 3, time: 1_768_780_798, amount: 40, level: 660, kind: 0),
        DrinkRecord(id: 4, time: 1_768_780_799, amount: 30, level: 630, kind: 0),
        DrinkRecord(id: 5, time: 1_768_780_800, amount: 50, level: 580, kind: 0, flags: 2),
        DrinkRecord(id: 6, time: 1_768_867_200, amount: 35, level: 0, kind: 0, flags: 2),
      ])
  }

  @Test func `the total of a day stops growing above 60 liters`() {
    var harness = Self.connected()
    harness.give(.poured(30_000))
    harness.give(.poured(30_000))
    harness.give(.poured(40))
    #expect(harness.bottle.dailyTotal == 60_040)
    harness.give(.poured(30_000))
    #expect(harness.bottle.dailyTotal == 60_040)
  }

  // MARK: Commands

  @Test func `each command has its effect and notification`() {
    var harness = Self.connected()
    #expect(harness.give(.command(.ping)).bits == 0)
    #expect(harness.give(.command(.activitySummary)) == .notifyActivity)
    harness.give(.poured(100))
    #expect(harness.give(.command(.resetDaily)) == .notifyState)
    #expect((harness.bottle.dailyTotal, harness.bottle.ring.count) == (0, 1))
    #expect(harness.give(.command(.tare)) == .notifyState)
    #expect(harness.bottle.level == 0)
    #expect(harness.give(.poured(-9)).bits == 0, "the phone has the new level")
    #expect(harness.give(.poured(-1)) == .notifyState)
  }

  @Test func `clearing the history ends a synchronization, and record ids continue`() {
    var harness = Self.connected()
    harness.give(.poured(40))
    harness.give(.poured(40))
    harness.give(.sync(count: 2, chunkSize: 1))
    #expect(harness.give(.command(.clearHistory)) == BottleEffects(32 | 512))
    #expect(harness.give(.acknowledged).bits == 0)
    #expect((harness.bottle.dailyTotal, harness.bottle.ring.count) == (0, 0))
    harness.give(.poured(40))
    #expect(harness.bottle.ring[0].id == 3)
  }

  @Test func `a calibration reports each of its steps`() {
    var harness = Self.connected()
    #expect(harness.bottle.calibration.step == 0)
    func step(_ command: FirmwareCommand) -> BottleEffects {
      harness.give(.command(command))
    }
    let expected = BottleEffects(32 | 128)
    #expect(step(.measure(full: false)) == expected)
    #expect(harness.bottle.calibration.step == 10, "the calibration was not started")
    #expect(!harness.bottle.calibration.hasResult)
    #expect(step(.startCalibration) == expected)
    #expect(harness.bottle.calibration.step == 3)
    #expect(step(.measure(full: true)) == expected)
    #expect(harness.bottle.calibration.step == 10, "the empty bottle comes first")
    _ = step(.startCalibration)
    harness.give(.shaken)
    #expect(step(.measure(full: false)) == expected)
    #expect(harness.bottle.calibration.step == 6)
    #expect(harness.bottle.calibration.hasResult)
    harness.give(.poured(-830))
    _ = step(.measure(full: true))
    let measured = harness.bottle.calibration
    #expect((measured.step, measured.empty, measured.full) == (8, 100_000, 442_375))
    _ = step(.startCalibration)
    let begun = harness.bottle.calibration
    #expect((begun.step, begun.empty, begun.full, begun.hasResult) == (3, 0, 0, false))
    _ = step(.measure(full: false))
    _ = step(.calibrate(empty: 1, full: 2, scale: 400))
    let complete = harness.bottle.calibration
    #expect((complete.step, complete.empty, complete.hasResult) == (9, 0, false))
    #expect(step(.cancelCalibration) == expected)
    #expect(harness.bottle.calibration == Harness(.plan034).bottle.calibration)
  }

  @Test(
    arguments: [
      (99.9, 0, 1, false), (100, 0, 1, true), (800, 0, 1, true), (800.1, 0, 1, false),
      (400, 1, 1, false), (400, 2, 1, false),
    ] as [(Float, Int32, Int32, Bool)])
  func `a calibration is accepted only within its bounds`(
    scale: Float, empty: Int32, full: Int32, isTaken: Bool
  ) {
    var harness = Self.connected()
    let effects = harness.give(.command(.calibrate(empty: empty, full: full, scale: scale)))
    #expect(effects == (isTaken ? BottleEffects(32 | 128 | 512) : .reject))
    #expect(harness.bottle.configuration.scale == (isTaken ? scale : 412.5))
    #expect(harness.bottle.calibration.step == (isTaken ? 9 : 0))
  }

  @Test(
    arguments: [
      (99.9, 2500, false), (100, 2500, true), (800, 2500, true), (800.1, 2500, false),
      (400, 999, false), (400, 1000, true), (400, 4000, true), (400, 4001, false),
    ] as [(Float, UInt16, Bool)])
  func `a configuration is accepted only within its bounds`(
    scale: Float, goal: UInt16, isTaken: Bool
  ) {
    var harness = Self.connected()
    let new = FirmwareConfiguration(scale: scale, tare: 7, capacity: 500, dailyGoal: goal)
    let before = FirmwareConfiguration(scale: 412.5, tare: 0, capacity: 830, dailyGoal: 2500)
    #expect(harness.bottle.configuration == before)
    #expect(harness.give(.configuration(new)) == (isTaken ? .persist : .reject))
    #expect(harness.bottle.configuration == (isTaken ? new : before))
  }

  // MARK: The ring

  @Test func `a record is pending unless it was synchronized or deleted`() {
    let records = (UInt8(0)..<8).map {
      DrinkRecord(id: 1, time: 0, amount: 0, level: 0, kind: 0, flags: $0)
    }
    #expect(records.filter(\.isSynced).map(\.flags) == [1, 3, 5, 7])
    #expect(records.filter(\.isDeleted).map(\.flags) == [4, 5, 6, 7])
    #expect(records.filter(\.isWaiting).map(\.flags) == [0, 2])
  }

  @Test func `a record ring wraps around and is restored from memory as it was`() {
    var harness = Harness(.plan034, capacity: 3)
    harness.give(.moved)
    for _ in 0..<5 { harness.give(.poured(30)) }
    let ring = harness.bottle.ring
    #expect((0..<ring.count).map { ring[$0].id } == [3, 4, 5])
    #expect((ring.first, ring.count, ring.nextID) == (2, 3, 6))
    #expect((0..<3).map { ring.storage[$0].id } == [4, 5, 3])
    var found = RecordRing(ring.storage, first: 2, count: 2, nextID: 9)
    #expect((0..<2).map { found[$0].id } == [3, 4])
    #expect(found.add(time: 1, amount: 99, level: 2, beginsDay: true) == 9)
    #expect(found[2] == DrinkRecord(id: 9, time: 1, amount: 99, level: 2, kind: 0, flags: 2))
    #expect(found.unsynced(withDeleted: false) == 3)
    harness.give(.connected)
    harness.give(.sync(count: 3, chunkSize: 2))
    let bottle = harness.bottle
    #expect((0..<2).map { bottle.sync.record($0, in: bottle.ring).id } == [3, 4])
    #expect(bottle.sync.recordCount(in: bottle.ring) == 2)
    #expect(bottle.sync.record(2, in: bottle.ring) == .blank)
  }

  @Test func `a record is deleted once, and then not sent`() {
    var harness = Self.connected()
    for _ in 0..<3 { harness.give(.poured(30)) }
    #expect(harness.give(.command(.delete(2))) == BottleEffects(32 | 512))
    #expect(harness.give(.command(.delete(2))) == .notifyState)
    #expect(harness.bottle.ring[1].flags == 4)
    #expect(harness.bottle.unsynced == 2)
    harness.give(.sync(count: 3, chunkSize: 20))
    let bottle = harness.bottle
    #expect((bottle.sync.index, bottle.sync.total) == (0, 1))
    #expect((0..<2).map { bottle.sync.record($0, in: bottle.ring).id } == [1, 3])
    #expect(harness.give(.acknowledged) == BottleEffects(32 | 512))
    #expect((0..<3).map { harness.bottle.ring[$0].flags } == [1, 4, 1])
  }

  // MARK: Synchronization

  /// Returns the identifiers of the records in the most recently sent chunk.
  private static func sent(_ harness: Harness) -> [UInt32] {
    let (sync, ring) = (harness.bottle.sync, harness.bottle.ring)
    return (0..<sync.recordCount(in: ring)).map { sync.record($0, in: ring).id }
  }

  @Test func `a synchronization sends at most the requested number of records`() {
    var harness = Self.connected()
    for _ in 0..<5 { harness.give(.poured(30)) }
    #expect(harness.give(.sync(count: 3, chunkSize: 2)) == .notifyChunk)
    #expect((harness.bottle.sync.index, harness.bottle.sync.total) == (0, 2))
    #expect(Self.sent(harness) == [1, 2])
    #expect(harness.give(.acknowledged) == .notifyChunk)
    #expect((harness.bottle.sync.index, harness.bottle.sync.total) == (1, 2))
    #expect(Self.sent(harness) == [3])
    #expect(harness.give(.acknowledged) == BottleEffects(32 | 512))
    #expect(harness.bottle.unsynced == 2)
    #expect(harness.give(.acknowledged).bits == 0)
    harness.give(.sync(count: 9, chunkSize: 20))
    #expect(Self.sent(harness) == [4, 5], "marked records are not sent again")
  }

  @Test func `nothing is sent if no records are requested or available`() {
    var harness = Self.connected()
    #expect(harness.give(.sync(count: 9, chunkSize: 20)).bits == 0)
    harness.give(.poured(30))
    #expect(harness.give(.sync(count: 0, chunkSize: 20)).bits == 0)
    #expect(!harness.bottle.sync.isSending)
    #expect(harness.give(.sync(count: 1, chunkSize: 20)) == .notifyChunk)
  }

  @Test func `a second request restarts the synchronization`() {
    var harness = Self.connected()
    for _ in 0..<3 { harness.give(.poured(30)) }
    harness.give(.sync(count: 3, chunkSize: 1))
    harness.give(.acknowledged)
    #expect(Self.sent(harness) == [2])
    harness.give(.sync(count: 3, chunkSize: 2))
    #expect(Self.sent(harness) == [1, 2])
    #expect((harness.bottle.sync.index, harness.bottle.sync.total) == (0, 2))
  }

  @Test(arguments: [(0, [20, 1]), (1, nil), (20, [20, 1]), (21, [20, 1])] as [(UInt16, [Int]?)])
  func `a chunk has up to 20 records`(size: UInt16, counts: [Int]?) {
    var harness = Self.connected()
    for _ in 0..<21 { harness.give(.poured(30)) }
    var effects = harness.give(.sync(count: 21, chunkSize: size))
    var found: [Int] = []
    while effects.contains(.notifyChunk) {
      found.append(Self.sent(harness).count)
      effects = harness.give(.acknowledged)
    }
    #expect(found == counts ?? Array(repeating: 1, count: 21))
  }

  @Test(arguments: [(false, [0, 1, 1]), (true, [1, 1, 0])] as [(Bool, [UInt8])])
  func `sent records are marked, an older bottle marks the first ones including deleted ones`(
    isOlder: Bool, marks: [UInt8]
  ) {
    var harness = Self.connected()
    harness.bottle.countsDeleted = isOlder
    for _ in 1...3 { harness.give(.poured(100)) }
    harness.give(.command(.delete(1)))
    harness.give(.sync(count: 10, chunkSize: 20))
    harness.give(.acknowledged)
    let ring = harness.bottle.ring
    #expect((0..<3).map { ring[$0].flags & 1 } == marks)
  }
}
