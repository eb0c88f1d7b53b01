import LinkCore
import LinkStorage
import LinkWire
import Testing

@testable import BottleLink

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
    var hand = try Hand.opened()
    let queued = try #require(hand.model.queue)
    let effects = hand.give(
      .discovered(hand.attempt, longestValue: 244, Hand.state(3), at: hand.wall))
    var change = DrinkChange(at: hand.wall)
    change.bottle = Hand.bottle
    #expect(
      effects == [
        .cancel(queued),
        .write(hand.attempt, WriteID(1), .command, Self.setTime),
        .commit(1, change),
        .update(.bottle(Hand.state(3))),
        .write(hand.attempt, WriteID(2), .syncControl, Self.start(3)),
        .update(.status(hand.model.status)),
      ])
    #expect(hand.model.status.phase == .connected)
    #expect(hand.model.status.outstanding == [.connection])
  }

  @Test func `a program that only sends commands stores nothing and fetches nothing`() throws {
    var hand = try Hand.opened { $0.syncs = false }
    let effects = hand.give(
      .discovered(hand.attempt, longestValue: 244, Hand.state(3), at: hand.wall))
    #expect(effects.writes == [Self.setTime])
    #expect(!effects.contains { if case .commit = $0 { true } else { false } })
    #expect(hand.say(.state(Hand.state(4))).writes == [])
  }

  @Test func `discovers services once, and ignores values before that`() throws {
    var hand = try Hand.opened()
    #expect(hand.model.status.phase == .discovering)
    #expect(hand.model.status.outstanding == [.discovery, .connection, .queuedConnect])
    #expect(hand.say(.state(Hand.state(3))) == [])
    #expect(hand.model.state == nil)
    hand.give(.discovered(hand.attempt, longestValue: 244, Hand.state(0), at: hand.wall))
    let again = hand.give(
      .discovered(hand.attempt, longestValue: 20, Hand.state(9), at: hand.wall))
    #expect(again == [])
    #expect(hand.model.state == Hand.state(0))
  }

  @Test func `a hold wakes the bottle as soon as it is connected`() throws {
    var hand = try Hand.opened()
    #expect(hand.give(.hold(true)).writes == [])
    let effects = hand.give(
      .discovered(hand.attempt, longestValue: 244, Hand.state(0), at: hand.wall))
    #expect(effects.writes == [Self.setTime, Self.ping])
    #expect(hand.give(.hold(true)).writes == [Self.ping])
    #expect(hand.give(.hold(false)).writes == [])
    #expect(hand.give(.hold(false)).writes == [])
    #expect(hand.give(.hold(false)).writes == [], "released more often than taken")
    #expect(hand.give(.hold(true)).writes == [Self.ping])
  }

  @Test func `a phone without a valid time does not set it`() throws {
    var hand = try Hand.opened()
    hand.wall = Timestamp(nanoseconds: 1_577_836_799_999_999_999)
    let early = hand.give(
      .discovered(hand.attempt, longestValue: 244, Hand.state(0), at: hand.wall))
    #expect(early.writes == [])
    var known = try Hand.opened()
    known.wall = Timestamp(nanoseconds: 1_577_836_800_000_000_000)
    let effects = known.give(
      .discovered(known.attempt, longestValue: 244, Hand.state(0), at: known.wall))
    #expect(effects.writes == [BottleCommand.setTime(1_577_836_800).bytes])
  }

  @Test(arguments: [(0, 1), (19, 1), (20, 1), (34, 2), (244, 17)])
  func `chunks fit the radio's maximum value length`(longest: Int, records: UInt16) throws {
    var hand = try Hand.opened()
    let effects = hand.give(
      .discovered(hand.attempt, longestValue: longest, Hand.state(3), at: hand.wall))
    #expect(
      effects.writes.last
        == BottleSync(count: 3, command: .start, chunkSize: records).bytes)
  }

  // Values of the bottle.

  @Test func `a state is shown when it changes`() throws {
    var hand = try Hand.ready()
    #expect(hand.say(.state(Hand.state(0))) == [])
    #expect(
      hand.say(.state(Hand.state(0, level: 490))).shown == [.bottle(Hand.state(0, level: 490))])
    #expect(hand.say(.state(Hand.state(0, level: 490))) == [])
  }

  @Test func `a battery is shown as part of the state when it changes`() throws {
    var hand = try Hand.ready()
    #expect(hand.say(.battery(100)) == [])
    var low = Hand.state(0)
    low.battery = 7
    #expect(hand.say(.battery(7)).shown == [.bottle(low)])
    #expect(hand.model.state == low)
    #expect(hand.say(.battery(7)) == [])
  }

  @Test func `shows a calibration, and reports a value that cannot be read`() throws {
    var hand = try Hand.ready()
    let calibration = BottleCalibration(step: .waitFull, empty: 3)
    #expect(hand.say(.calibration(calibration)) == [.update(.calibration(calibration))])
    #expect(
      hand.say(.malformed(detail: "state: 2 bytes")).notices
        == [.malformed(detail: "state: 2 bytes")])
    #expect(hand.say(.brokenChunk(detail: "cut")) == [], "no synchronisation runs")
  }

  @Test func `decodes the values of each characteristic`() {
    typealias News = BottleModel.News
    #expect(News(Hand.state(3).bytes, of: .state) == .state(Hand.state(3)))
    #expect(News([7], of: .battery) == .battery(7))
    #expect(
      News([], of: .battery) == .malformed(detail: "battery: 0 bytes instead of 1"))
    #expect(
      News([7, 8], of: .battery) == .malformed(detail: "battery: 2 bytes instead of 1"))
    #expect(News([1], of: .state) == .malformed(detail: "state: 1 bytes instead of 14"))
    #expect(News([1], of: .drinks) == .brokenChunk(detail: "chunk: 1 bytes instead of 6"))
    #expect(
      News([1], of: .calibration) == .malformed(detail: "calibration: 1 bytes instead of 12"))
    for attribute in [BottleAttribute.activity, .configuration, .syncControl, .command, .settings] {
      #expect(News([1], of: attribute) == nil)
    }
  }

  // Drinks.

  @Test func `a synchronisation from its request to its last acknowledgement`() throws {
    var hand = try Hand.ready(unsynced: 3)
    #expect(hand.chunk(0, of: 0, []) == [], "blank")
    let first = hand.chunk(0, of: 2, [Hand.record(1), Hand.record(2)])
    var change = DrinkChange(at: hand.wall)
    change.records = [Hand.record(1), Hand.record(2)]
    #expect(first == [.commit(2, change)])
    let stored = hand.committed([Hand.drink(1), Hand.drink(2)])
    #expect(
      stored == [
        .update(.drink(Hand.drink(1))), .update(.drink(Hand.drink(2))),
        .write(hand.attempt, WriteID(3), .syncControl, Self.acknowledgement),
      ])
    #expect(hand.written() == [])
    hand.chunk(1, of: 2, [Hand.record(3)])
    #expect(hand.committed([Hand.drink(3)]).writes == [Self.acknowledgement])
    #expect(hand.model.sync.isRunning)
    #expect(hand.written() == [])
    #expect(!hand.model.sync.isRunning)
    hand.say(.state(Hand.state(0)))
    #expect(hand.say(.state(Hand.state(1))).writes == [Self.start(1)])
    hand.chunk(0, of: 1, [Hand.record(4)])
    #expect(
      hand.committed([Hand.drink(4, .live)]).shown == [.drink(Hand.drink(4, .live))])
  }

  @Test func `drinks after a complete synchronization are live`() throws {
    var hand = try Hand.ready(unsynced: 1)
    #expect(vias(hand.chunk(0, of: 1, [Hand.record(1)])) == [.sync])
    hand.committed([Hand.drink(1)])
    hand.written()
    hand.say(.state(Hand.state(2)))
    #expect(vias(hand.chunk(0, of: 1, [Hand.record(2)])) == [.live])
  }

  private func vias(_ effects: [BottleModel.Effect]) -> [Drink.Via] {
    effects.compactMap { if case .commit(_, let change) = $0 { change.via } else { nil } }
  }

  @Test func `reports a drink without a time, but not one with a time`() throws {
    var hand = try Hand.ready(unsynced: 2)
    hand.chunk(0, of: 1, [Hand.record(1), Hand.record(2, at: 9)])
    var untimed = Hand.drink(2)
    untimed.record.time = 9
    #expect(hand.committed([Hand.drink(1), untimed]).notices == [.unknownTime(record: 2)])
  }

  @Test func `the last acknowledgement may be answered after more was recorded`() throws {
    var hand = try Hand.ready(unsynced: 1)
    hand.chunk(0, of: 1, [Hand.record(1)])
    hand.committed([Hand.drink(1)])
    #expect(hand.say(.state(Hand.state(2))).writes == [], "one runs")
    #expect(hand.written().writes == [Self.start(2)])
    hand.chunk(0, of: 1, [Hand.record(2)])
    hand.committed([Hand.drink(2)])
    #expect(hand.written().writes == [], "nothing more was reported")
  }

  @Test func `the answer of another write ends nothing`() throws {
    var hand = try Hand.ready(unsynced: 1)
    hand.chunk(0, of: 1, [Hand.record(1)])
    hand.committed([Hand.drink(1)])
    #expect(hand.give(.written(WriteID(99))) == [])
    #expect(hand.give(.written(WriteID(1))) == [], "of the time")
    #expect(hand.model.sync.isRunning)
  }

  @Test func `requests drinks again from a bottle that sent known ones, once its count changes`()
    throws
  {
    var hand = try Hand.ready(unsynced: 1)
    hand.chunk(0, of: 1, [Hand.record(1)])
    hand.committed([])
    hand.written()
    #expect(hand.say(.state(Hand.state(1, level: 490))).writes == [], "nothing new came")
    #expect(hand.say(.state(Hand.state(2))).writes == [Self.start(2)])
    hand.chunk(0, of: 1, [Hand.record(2)])
    hand.committed([Hand.drink(2)])
    hand.written()
    #expect(hand.say(.state(Hand.state(2, level: 490))).writes == [Self.start(2)])
  }

  @Test func `drinks after a bottle sent nothing are live`() throws {
    var hand = try Hand.ready(unsynced: 1)
    hand.written()
    hand.pass(.seconds(6))
    hand.written()
    hand.pass(.seconds(5))
    hand.say(.state(Hand.state(2)))
    #expect(vias(hand.chunk(0, of: 1, [Hand.record(1)])) == [.live])
  }

  @Test func `a chunk counts as use`() throws {
    var hand = try Hand.ready(unsynced: 99)
    for index: UInt16 in 0..<4 {
      hand.chunk(index, of: 9, [Hand.record(UInt32(index))])
      hand.committed([])
      hand.pass(.seconds(25))
    }
    #expect(hand.model.status.phase == .connected)
  }

  @Test func `each chunk has 30 s of its own`() throws {
    var hand = try Hand.ready(unsynced: 99)
    hand.chunk(0, of: 3, [Hand.record(1)])
    hand.committed([])
    hand.pass(.seconds(20))
    hand.chunk(1, of: 3, [Hand.record(2)])
    hand.committed([])
    #expect(hand.pass(.milliseconds(29_999)).notices == [])
    #expect(hand.pass(.milliseconds(1)).notices == [.syncFailed(.silence)])
  }

  @Test func `ignores a repeated chunk, also after the next one was stored`() throws {
    var hand = try Hand.ready(unsynced: 99)
    for index: UInt16 in 0..<2 {
      hand.chunk(index, of: 3, [Hand.record(UInt32(index))])
      hand.committed([])
    }
    #expect(hand.chunk(0, of: 3, [Hand.record(0)]) == [])
    #expect(hand.model.sync.isRunning)
  }

  @Test func `the answer of the last acknowledgement does not end a failed synchronization`() throws
  {
    var hand = try Hand.ready(unsynced: 1)
    hand.give(.refresh(1))
    hand.chunk(0, of: 1, [Hand.record(1)])
    hand.committed([Hand.drink(1)])
    #expect(hand.say(.brokenChunk(detail: "cut")).notices.count == 1)
    #expect(hand.written() == [])
  }

  @Test func `a retry sets the time by the clock of that moment`() throws {
    var hand = try Hand.ready()
    let time = hand.write
    #expect(hand.give(.unwritten(time, .reset)) == [])
    #expect(hand.give(.unwritten(time, .reset)) == [], "reported twice")
    hand.wall = hand.wall.advanced(by: .seconds(3_600))
    hand.say(.state(Hand.state(0, level: 490)))
    #expect(hand.pass(.milliseconds(999)).writes == [])
    #expect(
      hand.pass(.milliseconds(1)).writes == [BottleCommand.setTime(1_768_770_001).bytes])
    hand.give(.unwritten(hand.write, .reset))
    #expect(hand.pass(.milliseconds(4_999)).writes == [])
    #expect(hand.pass(.milliseconds(1)).writes.count == 1)
  }

  @Test func `an early tick does nothing`() throws {
    var hand = try Hand.ready(unsynced: 1)
    hand.give(.refresh(1))
    hand.give(.unwritten(WriteID(1), .reset))
    hand.say(.brokenChunk(detail: "cut"))
    #expect(hand.model.tick(at: hand.now.advanced(by: .milliseconds(999))) == [])
  }
}
