import HoldfastBottleData
import HoldfastCore
import Testing

@testable import HoldfastBottleLink

/// Tests of the uses of a connection, step by step.
@Suite struct BottleUseTests {
  private static let setTime = BottleCommand.setTime(1_768_766_400).bytes
  private static let ping = BottleCommand.ping.bytes

  private static func start(_ count: UInt16, longest: Int = 244) -> [UInt8] {
    BottleSync.request(count: count, longestValue: longest).bytes
  }

  private static let acknowledgement = BottleSync.acknowledgement.bytes

  // Discovery.

  @Test func `sets the time of a discovered bottle, stores the bottle and requests its drinks`()
    throws
  {
    var harness = try Harness.opened()
    let queued = try #require(harness.model.search.queue)
    let effects = harness.give(
      .discovered(harness.attempt, longestValue: 244, Harness.state(3), at: harness.wall))
    var change = DrinkChange(at: harness.wall)
    change.bottle = Harness.bottle
    #expect(
      effects == [
        .cancel(queued, .superseded),
        .write(harness.attempt, WriteID(1), .command, Self.setTime),
        .commit(1, change),
        .update(.bottle(Harness.state(3))),
        .write(harness.attempt, WriteID(2), .syncControl, Self.start(3)),
        .update(.status(harness.model.status)),
      ])
    #expect(harness.model.status.phase == .connected)
    #expect(harness.model.status.outstanding == [.connection])
  }

  @Test func `a program that only sends commands stores nothing and fetches nothing`() throws {
    var harness = try Harness.opened { $0.syncs = false }
    let effects = harness.give(
      .discovered(harness.attempt, longestValue: 244, Harness.state(3), at: harness.wall))
    #expect(effects.writes == [Self.setTime])
    #expect(!effects.contains { if case .commit = $0 { true } else { false } })
    #expect(harness.say(.state(Harness.state(4))).writes == [])
  }

  @Test func `discovers services once, and ignores values before that`() throws {
    var harness = try Harness.opened()
    #expect(harness.model.status.phase == .discovering)
    #expect(harness.model.status.outstanding == [.discovery, .connection, .queuedConnect])
    #expect(harness.say(.state(Harness.state(3))) == [])
    #expect(harness.model.state == nil)
    harness.give(
      .discovered(harness.attempt, longestValue: 244, Harness.state(0), at: harness.wall))
    let again = harness.give(
      .discovered(harness.attempt, longestValue: 20, Harness.state(9), at: harness.wall))
    #expect(again == [])
    #expect(harness.model.state == Harness.state(0))
  }

  @Test func `a hold wakes the bottle as soon as it is connected`() throws {
    var harness = try Harness.opened()
    #expect(harness.give(.hold(true)).writes == [])
    let effects = harness.give(
      .discovered(harness.attempt, longestValue: 244, Harness.state(0), at: harness.wall))
    #expect(effects.writes == [Self.setTime, Self.ping])
    #expect(harness.give(.hold(true)).writes == [Self.ping])
    #expect(harness.give(.hold(false)).writes == [])
    #expect(harness.give(.hold(false)).writes == [])
    #expect(harness.give(.hold(false)).writes == [], "released more often than taken")
    #expect(harness.give(.hold(true)).writes == [Self.ping])
  }

  @Test func `a phone without a valid time does not set it`() throws {
    var harness = try Harness.opened()
    harness.wall = Timestamp(nanoseconds: 1_577_836_799_999_999_999)
    let early = harness.give(
      .discovered(harness.attempt, longestValue: 244, Harness.state(0), at: harness.wall))
    #expect(early.writes == [])
    var known = try Harness.opened()
    known.wall = Timestamp(nanoseconds: 1_577_836_800_000_000_000)
    let effects = known.give(
      .discovered(known.attempt, longestValue: 244, Harness.state(0), at: known.wall))
    #expect(effects.writes == [BottleCommand.setTime(1_577_836_800).bytes])
  }

  @Test(arguments: [(0, 1), (19, 1), (20, 1), (34, 2), (244, 17)])
  func `chunks fit the radio's maximum value length`(longest: Int, records: UInt16) throws {
    var harness = try Harness.opened()
    let effects = harness.give(
      .discovered(harness.attempt, longestValue: longest, Harness.state(3), at: harness.wall))
    #expect(
      effects.writes.last
        == BottleSync(count: 3, command: .start, chunkSize: records).bytes)
  }

  // Values of the bottle.

  @Test func `a state is shown when it changes`() throws {
    var harness = try Harness.ready()
    #expect(harness.say(.state(Harness.state(0))) == [])
    #expect(
      harness.say(.state(Harness.state(0, level: 490))).shown == [
        .bottle(Harness.state(0, level: 490))
      ])
    #expect(harness.say(.state(Harness.state(0, level: 490))) == [])
  }

  @Test func `a battery is shown as part of the state when it changes`() throws {
    var harness = try Harness.ready()
    #expect(harness.say(.battery(100)) == [])
    var low = Harness.state(0)
    low.battery = 7
    #expect(harness.say(.battery(7)).shown == [.bottle(low)])
    #expect(harness.model.state == low)
    #expect(harness.say(.battery(7)) == [])
  }

  @Test func `shows a calibration, and reports a value that cannot be read`() throws {
    var harness = try Harness.ready()
    let calibration = BottleCalibration(step: .waitFull, empty: 3)
    #expect(harness.say(.calibration(calibration)) == [.update(.calibration(calibration))])
    #expect(
      harness.say(.malformed(detail: "state: 2 bytes")).notices
        == [.malformed(detail: "state: 2 bytes")])
    #expect(harness.say(.brokenChunk(detail: "cut")) == [], "no synchronization is running")
  }

  @Test func `decodes the values of each characteristic`() {
    typealias News = BottleModel.News
    #expect(News(Harness.state(3).bytes, of: .state) == .state(Harness.state(3)))
    #expect(News([7], of: .battery) == .battery(7))
    #expect(
      News([], of: .battery) == .malformed(detail: "battery: 0 bytes instead of 1"))
    #expect(
      News([7, 8], of: .battery) == .malformed(detail: "battery: 2 bytes instead of 1"))
    #expect(News([1], of: .state) == .malformed(detail: "state: 1 byte instead of 14"))
    #expect(News([1], of: .drinks) == .brokenChunk(detail: "chunk: 1 byte instead of 6"))
    #expect(
      News([1], of: .calibration) == .malformed(detail: "calibration: 1 byte instead of 12"))
    for attribute in [BottleAttribute.activity, .configuration, .syncControl, .command, .settings] {
      #expect(News([1], of: attribute) == nil)
    }
  }

  // Drinks.

  @Test func `a synchronisation from its request to its last acknowledgement`() throws {
    var harness = try Harness.ready(unsynced: 3)
    #expect(harness.chunk(0, of: 0, []) == [], "blank")
    let first = harness.chunk(0, of: 2, [Harness.record(1), Harness.record(2)])
    var change = DrinkChange(at: harness.wall)
    change.records = [Harness.record(1), Harness.record(2)]
    #expect(first == [.commit(2, change)])
    let stored = harness.committed([Harness.drink(1), Harness.drink(2)])
    #expect(
      stored == [
        .update(.drink(Harness.drink(1))), .update(.drink(Harness.drink(2))),
        .write(harness.attempt, WriteID(3), .syncControl, Self.acknowledgement),
      ])
    #expect(harness.written() == [])
    harness.chunk(1, of: 2, [Harness.record(3)])
    #expect(harness.committed([Harness.drink(3)]).writes == [Self.acknowledgement])
    #expect(harness.model.sync.isRunning)
    #expect(harness.written() == [])
    #expect(!harness.model.sync.isRunning)
    harness.say(.state(Harness.state(0)))
    #expect(harness.say(.state(Harness.state(1))).writes == [Self.start(1)])
    harness.chunk(0, of: 1, [Harness.record(4)])
    #expect(
      harness.committed([Harness.drink(4, .live)]).shown == [.drink(Harness.drink(4, .live))])
  }

  @Test func `drinks after a complete synchronization are live`() throws {
    var harness = try Harness.ready(unsynced: 1)
    #expect(vias(harness.chunk(0, of: 1, [Harness.record(1)])) == [.sync])
    harness.committed([Harness.drink(1)])
    harness.written()
    harness.say(.state(Harness.state(2)))
    #expect(vias(harness.chunk(0, of: 1, [Harness.record(2)])) == [.live])
  }

  private func vias(_ effects: [BottleModel.Effect]) -> [BottleDrink.Via] {
    effects.compactMap { if case .commit(_, let change) = $0 { change.via } else { nil } }
  }

  @Test func `reports a drink without a time, but not one with a time`() throws {
    var harness = try Harness.ready(unsynced: 2)
    harness.chunk(0, of: 1, [Harness.record(1), Harness.record(2, at: 9)])
    var untimed = Harness.drink(2)
    untimed.record.time = 9
    #expect(harness.committed([Harness.drink(1), untimed]).notices == [.unknownTime(record: 2)])
  }

  @Test func `the last acknowledgement may be answered after more was recorded`() throws {
    var harness = try Harness.ready(unsynced: 1)
    harness.chunk(0, of: 1, [Harness.record(1)])
    harness.committed([Harness.drink(1)])
    #expect(harness.say(.state(Harness.state(2))).writes == [], "a synchronization is running")
    #expect(harness.written().writes == [Self.start(2)])
    harness.chunk(0, of: 1, [Harness.record(2)])
    harness.committed([Harness.drink(2)])
    #expect(harness.written().writes == [], "nothing more was reported")
  }

  @Test func `the answer of another write ends nothing`() throws {
    var harness = try Harness.ready(unsynced: 1)
    harness.chunk(0, of: 1, [Harness.record(1)])
    harness.committed([Harness.drink(1)])
    #expect(harness.give(.written(WriteID(99))) == [])
    #expect(harness.give(.written(WriteID(1))) == [], "the write of the time")
    #expect(harness.model.sync.isRunning)
  }

  @Test func `requests drinks again from a bottle that sent known ones, once its count changes`()
    throws
  {
    var harness = try Harness.ready(unsynced: 1)
    harness.chunk(0, of: 1, [Harness.record(1)])
    harness.committed([])
    harness.written()
    #expect(harness.say(.state(Harness.state(1, level: 490))).writes == [], "nothing new came")
    #expect(harness.say(.state(Harness.state(2))).writes == [Self.start(2)])
    harness.chunk(0, of: 1, [Harness.record(2)])
    harness.committed([Harness.drink(2)])
    harness.written()
    #expect(harness.say(.state(Harness.state(2, level: 490))).writes == [Self.start(2)])
  }

  @Test func `drinks after a bottle sent nothing are live`() throws {
    var harness = try Harness.ready(unsynced: 1)
    harness.written()
    harness.pass(.seconds(6))
    harness.written()
    harness.pass(.seconds(5))
    harness.say(.state(Harness.state(2)))
    #expect(vias(harness.chunk(0, of: 1, [Harness.record(1)])) == [.live])
  }

  @Test func `a chunk counts as use`() throws {
    var harness = try Harness.ready(unsynced: 99)
    for index: UInt16 in 0..<4 {
      harness.chunk(index, of: 9, [Harness.record(UInt32(index))])
      harness.committed([])
      harness.pass(.seconds(25))
    }
    #expect(harness.model.status.phase == .connected)
  }

  @Test func `each chunk has 30 s of its own`() throws {
    var harness = try Harness.ready(unsynced: 99)
    harness.chunk(0, of: 3, [Harness.record(1)])
    harness.committed([])
    harness.pass(.seconds(20))
    harness.chunk(1, of: 3, [Harness.record(2)])
    harness.committed([])
    #expect(harness.pass(.milliseconds(29_999)).notices == [])
    #expect(harness.pass(.milliseconds(1)).notices == [.syncFailed(.silence)])
  }

  @Test func `ignores a repeated chunk, also after the next one was stored`() throws {
    var harness = try Harness.ready(unsynced: 99)
    for index: UInt16 in 0..<2 {
      harness.chunk(index, of: 3, [Harness.record(UInt32(index))])
      harness.committed([])
    }
    #expect(harness.chunk(0, of: 3, [Harness.record(0)]) == [])
    #expect(harness.model.sync.isRunning)
  }

  @Test func `the answer of the last acknowledgement does not end a failed synchronization`() throws
  {
    var harness = try Harness.ready(unsynced: 1)
    harness.give(.refresh(1))
    harness.chunk(0, of: 1, [Harness.record(1)])
    harness.committed([Harness.drink(1)])
    #expect(harness.say(.brokenChunk(detail: "cut")).notices.count == 1)
    #expect(harness.written() == [])
  }

  @Test func `a retry sets the time by the clock of that moment`() throws {
    var harness = try Harness.ready()
    let time = harness.write
    #expect(harness.give(.unwritten(time, .reset)) == [])
    #expect(harness.give(.unwritten(time, .reset)) == [], "reported twice")
    harness.wall = harness.wall.advanced(by: .seconds(3_600))
    harness.say(.state(Harness.state(0, level: 490)))
    #expect(harness.pass(.milliseconds(999)).writes == [])
    #expect(
      harness.pass(.milliseconds(1)).writes == [BottleCommand.setTime(1_768_770_001).bytes])
    harness.give(.unwritten(harness.write, .reset))
    #expect(harness.pass(.milliseconds(4_999)).writes == [])
    #expect(harness.pass(.milliseconds(1)).writes.count == 1)
  }

  @Test func `an early tick does nothing`() throws {
    var harness = try Harness.ready(unsynced: 1)
    harness.give(.refresh(1))
    harness.give(.unwritten(WriteID(1), .reset))
    harness.say(.brokenChunk(detail: "cut"))
    #expect(harness.model.tick(at: harness.now.advanced(by: .milliseconds(999))) == [])
  }
}
