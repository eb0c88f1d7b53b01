import BottleFirmware
import LinkCore
import Testing
import VirtualBottle

/// The records of a bottle, the values that a phone writes, and the synchronization of records.
@Suite struct BottleRecordTests {
  typealias Bench = BottleTests.Bench

  private static func connected() -> Bench {
    var bench = Bench(.plan034)
    bench.give(.moved)
    bench.give(.connected)
    return bench
  }

  @Test func `a record that was cleared cannot be deleted`() {
    var bench = Self.connected()
    bench.give(.poured(100))
    #expect(bench.give(.command(.clearHistory)) == BottleEffects(32 | 512))
    #expect(bench.give(.command(.delete(1))) == .notifyState)
  }

  @Test func `a deleted record between others is not synchronized`() {
    var bench = Self.connected()
    for _ in 1...3 { bench.give(.poured(100)) }
    bench.give(.command(.delete(2)))
    bench.give(.sync(count: 10, chunkSize: 1))
    #expect(bench.bottle.sync.total == 2)
  }

  @Test func `a blank record is all zeros`() {
    let blank = DrinkRecord.blank
    #expect([blank.id, blank.time] == [0, 0])
    #expect([blank.level, blank.padding] == [0, 0])
    #expect([blank.kind, blank.flags] == [0, 0])
    #expect(blank.amount == 0)
  }

  // The level and the day.

  @Test func `a level change of 10 ml since the last notification is reported`() {
    var bench = Self.connected()
    #expect(bench.give(.poured(9)).bits == 0)
    #expect(bench.give(.poured(1)) == .notifyState)
    #expect(bench.give(.poured(-9)).bits == 0)
    #expect(bench.give(.poured(-1)) == .notifyState)
    #expect(bench.give(.poured(30)) == BottleEffects(32 | 512))
    #expect(bench.give(.poured(9)).bits == 0, "a record also reports the level")
    #expect(bench.bottle.level == 561)
  }

  @Test func `shaking empties the bottle unless the settings disable it`() {
    var bench = Self.connected()
    #expect(bench.give(.shaken) == .notifyState)
    #expect(bench.bottle.level == 0)
    #expect(bench.give(.shaken).bits == 0)
    bench.give(.poured(-300))
    #expect(bench.give(.settings(shakeToEmpty: false)) == .persist)
    #expect(bench.give(.shaken).bits == 0)
    #expect(bench.bottle.level == 300)
    var asleep = Bench(.plan034)
    #expect(asleep.give(.shaken) == .advertise)
    #expect(asleep.bottle.level == 0)
  }

  @Test func `each day has its own total, and its first record marks the new day`() {
    var bench = Self.connected()
    bench.give(.command(.setTime(1_768_780_798)))  // two seconds before midnight, UTC
    bench.give(.poured(100))
    bench.give(.poured(-200))
    bench.give(.poured(40))
    bench.pass(1)
    bench.give(.poured(30))
    #expect(bench.bottle.dailyTotal == 170)
    bench.pass(1)
    bench.give(.poured(50))
    #expect(bench.bottle.dailyTotal == 50)
    bench.pass(86_399)
    bench.give(.shaken)
    bench.pass(1)
    bench.give(.poured(35))
    #expect(bench.bottle.dailyTotal == 35)
    let ring = bench.bottle.ring
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
    var bench = Self.connected()
    bench.give(.poured(30_000))
    bench.give(.poured(30_000))
    bench.give(.poured(40))
    #expect(bench.bottle.dailyTotal == 60_040)
    bench.give(.poured(30_000))
    #expect(bench.bottle.dailyTotal == 60_040)
  }

  // Commands.

  @Test func `each command has its effect and notification`() {
    var bench = Self.connected()
    #expect(bench.give(.command(.ping)).bits == 0)
    #expect(bench.give(.command(.activitySummary)) == .notifyActivity)
    bench.give(.poured(100))
    #expect(bench.give(.command(.resetDaily)) == .notifyState)
    #expect((bench.bottle.dailyTotal, bench.bottle.ring.count) == (0, 1))
    #expect(bench.give(.command(.tare)) == .notifyState)
    #expect(bench.bottle.level == 0)
    #expect(bench.give(.poured(-9)).bits == 0, "the phone has the new level")
    #expect(bench.give(.poured(-1)) == .notifyState)
  }

  @Test func `clearing the history ends a synchronization, and record ids continue`() {
    var bench = Self.connected()
    bench.give(.poured(40))
    bench.give(.poured(40))
    bench.give(.sync(count: 2, chunkSize: 1))
    #expect(bench.give(.command(.clearHistory)) == BottleEffects(32 | 512))
    #expect(bench.give(.acknowledged).bits == 0)
    #expect((bench.bottle.dailyTotal, bench.bottle.ring.count) == (0, 0))
    bench.give(.poured(40))
    #expect(bench.bottle.ring[0].id == 3)
  }

  @Test func `a calibration reports each of its steps`() {
    var bench = Self.connected()
    #expect(bench.bottle.calibration.step == 0)
    func step(_ command: FirmwareCommand) -> BottleEffects {
      bench.give(.command(command))
    }
    let told = BottleEffects(32 | 128)
    #expect(step(.measure(full: false)) == told)
    #expect(bench.bottle.calibration.step == 10, "the calibration was not started")
    #expect(!bench.bottle.calibration.hasResult)
    #expect(step(.startCalibration) == told)
    #expect(bench.bottle.calibration.step == 3)
    #expect(step(.measure(full: true)) == told)
    #expect(bench.bottle.calibration.step == 10, "the empty bottle comes first")
    _ = step(.startCalibration)
    bench.give(.shaken)
    #expect(step(.measure(full: false)) == told)
    #expect(bench.bottle.calibration.step == 6)
    #expect(bench.bottle.calibration.hasResult)
    bench.give(.poured(-830))
    _ = step(.measure(full: true))
    let measured = bench.bottle.calibration
    #expect((measured.step, measured.empty, measured.full) == (8, 100_000, 442_375))
    _ = step(.startCalibration)
    let begun = bench.bottle.calibration
    #expect((begun.step, begun.empty, begun.full, begun.hasResult) == (3, 0, 0, false))
    _ = step(.measure(full: false))
    _ = step(.calibrate(empty: 1, full: 2, scale: 400))
    let complete = bench.bottle.calibration
    #expect((complete.step, complete.empty, complete.hasResult) == (9, 0, false))
    #expect(step(.cancelCalibration) == told)
    #expect(bench.bottle.calibration == Bench(.plan034).bottle.calibration)
  }

  @Test(
    arguments: [
      (99.9, 0, 1, false), (100, 0, 1, true), (800, 0, 1, true), (800.1, 0, 1, false),
      (400, 1, 1, false), (400, 2, 1, false),
    ] as [(Float, Int32, Int32, Bool)])
  func `a calibration is accepted only within its bounds`(
    scale: Float, empty: Int32, full: Int32, isTaken: Bool
  ) {
    var bench = Self.connected()
    let effects = bench.give(.command(.calibrate(empty: empty, full: full, scale: scale)))
    #expect(effects == (isTaken ? BottleEffects(32 | 128 | 512) : .reject))
    #expect(bench.bottle.configuration.scale == (isTaken ? scale : 412.5))
    #expect(bench.bottle.calibration.step == (isTaken ? 9 : 0))
  }

  @Test(
    arguments: [
      (99.9, 2500, false), (100, 2500, true), (800, 2500, true), (800.1, 2500, false),
      (400, 999, false), (400, 1000, true), (400, 4000, true), (400, 4001, false),
    ] as [(Float, UInt16, Bool)])
  func `a configuration is accepted only within its bounds`(
    scale: Float, goal: UInt16, isTaken: Bool
  ) {
    var bench = Self.connected()
    let new = FirmwareConfiguration(scale: scale, tare: 7, capacity: 500, dailyGoal: goal)
    let before = FirmwareConfiguration(scale: 412.5, tare: 0, capacity: 830, dailyGoal: 2500)
    #expect(bench.bottle.configuration == before)
    #expect(bench.give(.configuration(new)) == (isTaken ? .persist : .reject))
    #expect(bench.bottle.configuration == (isTaken ? new : before))
  }

  // The ring.

  @Test func `a record is pending unless it was synchronized or deleted`() {
    let records = (UInt8(0)..<8).map {
      DrinkRecord(id: 1, time: 0, amount: 0, level: 0, kind: 0, flags: $0)
    }
    #expect(records.filter(\.isSynced).map(\.flags) == [1, 3, 5, 7])
    #expect(records.filter(\.isDeleted).map(\.flags) == [4, 5, 6, 7])
    #expect(records.filter(\.isWaiting).map(\.flags) == [0, 2])
  }

  @Test func `a record ring wraps around and is restored from memory as it was`() {
    var bench = Bench(.plan034, capacity: 3)
    bench.give(.moved)
    for _ in 0..<5 { bench.give(.poured(30)) }
    let ring = bench.bottle.ring
    #expect((0..<ring.count).map { ring[$0].id } == [3, 4, 5])
    #expect((ring.first, ring.count, ring.nextID) == (2, 3, 6))
    #expect((0..<3).map { ring.storage[$0].id } == [4, 5, 3])
    var found = RecordRing(ring.storage, first: 2, count: 2, nextID: 9)
    #expect((0..<2).map { found[$0].id } == [3, 4])
    #expect(found.add(time: 1, amount: 99, level: 2, beginsDay: true) == 9)
    #expect(found[2] == DrinkRecord(id: 9, time: 1, amount: 99, level: 2, kind: 0, flags: 2))
    #expect(found.unsynced(withDeleted: false) == 3)
    bench.give(.connected)
    bench.give(.sync(count: 3, chunkSize: 2))
    let bottle = bench.bottle
    #expect((0..<2).map { bottle.sync.record($0, in: bottle.ring).id } == [3, 4])
    #expect(bottle.sync.recordCount(in: bottle.ring) == 2)
    #expect(bottle.sync.record(2, in: bottle.ring) == .blank)
  }

  @Test func `a record is deleted once, and then not sent`() {
    var bench = Self.connected()
    for _ in 0..<3 { bench.give(.poured(30)) }
    #expect(bench.give(.command(.delete(2))) == BottleEffects(32 | 512))
    #expect(bench.give(.command(.delete(2))) == .notifyState)
    #expect(bench.bottle.ring[1].flags == 4)
    #expect(bench.bottle.unsynced == 2)
    bench.give(.sync(count: 3, chunkSize: 20))
    let bottle = bench.bottle
    #expect((bottle.sync.index, bottle.sync.total) == (0, 1))
    #expect((0..<2).map { bottle.sync.record($0, in: bottle.ring).id } == [1, 3])
    #expect(bench.give(.acknowledged) == BottleEffects(32 | 512))
    #expect((0..<3).map { bench.bottle.ring[$0].flags } == [1, 4, 1])
  }

  // Synchronization.

  /// Returns the record identifiers of the most recently sent chunk.
  private static func sent(_ bench: Bench) -> [UInt32] {
    let (sync, ring) = (bench.bottle.sync, bench.bottle.ring)
    return (0..<sync.recordCount(in: ring)).map { sync.record($0, in: ring).id }
  }

  @Test func `a synchronization sends at most the requested number of records`() {
    var bench = Self.connected()
    for _ in 0..<5 { bench.give(.poured(30)) }
    #expect(bench.give(.sync(count: 3, chunkSize: 2)) == .notifyChunk)
    #expect((bench.bottle.sync.index, bench.bottle.sync.total) == (0, 2))
    #expect(Self.sent(bench) == [1, 2])
    #expect(bench.give(.acknowledged) == .notifyChunk)
    #expect((bench.bottle.sync.index, bench.bottle.sync.total) == (1, 2))
    #expect(Self.sent(bench) == [3])
    #expect(bench.give(.acknowledged) == BottleEffects(32 | 512))
    #expect(bench.bottle.unsynced == 2)
    #expect(bench.give(.acknowledged).bits == 0)
    bench.give(.sync(count: 9, chunkSize: 20))
    #expect(Self.sent(bench) == [4, 5], "marked records are not sent again")
  }

  @Test func `nothing is sent if no records are requested or available`() {
    var bench = Self.connected()
    #expect(bench.give(.sync(count: 9, chunkSize: 20)).bits == 0)
    bench.give(.poured(30))
    #expect(bench.give(.sync(count: 0, chunkSize: 20)).bits == 0)
    #expect(!bench.bottle.sync.isSending)
    #expect(bench.give(.sync(count: 1, chunkSize: 20)) == .notifyChunk)
  }

  @Test func `a second request restarts the synchronization`() {
    var bench = Self.connected()
    for _ in 0..<3 { bench.give(.poured(30)) }
    bench.give(.sync(count: 3, chunkSize: 1))
    bench.give(.acknowledged)
    #expect(Self.sent(bench) == [2])
    bench.give(.sync(count: 3, chunkSize: 2))
    #expect(Self.sent(bench) == [1, 2])
    #expect((bench.bottle.sync.index, bench.bottle.sync.total) == (0, 2))
  }

  @Test(arguments: [(0, [20, 1]), (1, nil), (20, [20, 1]), (21, [20, 1])] as [(UInt16, [Int]?)])
  func `a chunk has up to 20 records`(size: UInt16, counts: [Int]?) {
    var bench = Self.connected()
    for _ in 0..<21 { bench.give(.poured(30)) }
    var effects = bench.give(.sync(count: 21, chunkSize: size))
    var found: [Int] = []
    while effects.contains(.notifyChunk) {
      found.append(Self.sent(bench).count)
      effects = bench.give(.acknowledged)
    }
    #expect(found == counts ?? Array(repeating: 1, count: 21))
  }

  @Test(arguments: [(false, [0, 1, 1]), (true, [1, 1, 0])] as [(Bool, [UInt8])])
  func `sent records are marked, an older bottle marks the first ones including deleted ones`(
    isOlder: Bool, marks: [UInt8]
  ) {
    var bench = Self.connected()
    bench.bottle.countsDeleted = isOlder
    for _ in 1...3 { bench.give(.poured(100)) }
    bench.give(.command(.delete(1)))
    bench.give(.sync(count: 10, chunkSize: 20))
    bench.give(.acknowledged)
    let ring = bench.bottle.ring
    #expect((0..<3).map { ring[$0].flags & 1 } == marks)
  }
}
