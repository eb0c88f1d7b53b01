import HoldfastBottleData
import HoldfastCore
import HoldfastFirmware
import HoldfastVirtualBottle
import Testing

@testable import HoldfastBottleLink

/// Tests that each drink reaches the store once, and that none is lost.
@Suite struct DrinkSyncTests {
  /// Returns a harness with a phone in the foreground and a bottle that has drinks and comes near.
  private static func meeting(
    _ drinks: Int, _ profile: TimerProfile = .plan035,
    prepare: (inout BottleHarness) -> Void = { _ in }
  ) -> BottleHarness {
    var harness = BottleHarness.wanted(profile)
    harness.pass(1)
    harness.touch(.moved)
    harness.touch(.stands(true))
    for _ in 0..<drinks { harness.touch(.poured(40)) }
    prepare(&harness)
    return harness
  }

  private static func all(_ count: Int) -> [UInt32] { (0..<count).map { UInt32($0) + 1 } }

  @Test(arguments: [(0, 244), (1, 244), (17, 244), (18, 244), (100, 182), (3, 20), (600, 244)])
  func `all drinks arrive, in chunks that fit`(drinks: Int, longest: Int) {
    var harness = Self.meeting(drinks) { $0.longestValue = longest }
    harness.pass(60)
    #expect(harness.stored == Self.all(drinks))
    #expect(harness.drinks.map(\.record.id) == Self.all(drinks))
    #expect(harness.bottle.bottle.unsynced == 0)
    #expect(harness.notices.filter { if case .unknownTime = $0 { false } else { true } } == [])
  }

  @Test func `drinks recorded while connected are live`() {
    var harness = Self.meeting(2)
    harness.pass(5)
    harness.touch(.poured(300))
    harness.pass(5)
    #expect(harness.drinks.map(\.via) == [.sync, .sync, .live])
  }

  @Test func `a chunk is acknowledged after it was stored, never before`() throws {
    var harness = Self.meeting(3)
    harness.pass(5)
    var stored = 0
    for (_, effect) in harness.log {
      if case .commit(_, let change) = effect { stored += change.records.count }
      if case .write(_, _, .syncControl, BottleSync.acknowledgement.bytes) = effect {
        #expect(stored == 3)
      }
    }
    var failing = Self.meeting(3) { $0.storeFailure = .full(detail: "full") }
    failing.pass(60)
    #expect(
      !failing.log.contains {
        if case .write(_, _, .syncControl, BottleSync.acknowledgement.bytes) = $0.effect {
          true
        } else {
          false
        }
      })
    #expect(failing.bottle.bottle.unsynced == 3)
  }

  @Test func `after four failures a changed record count starts a new synchronization`() {
    var harness = Self.meeting(2) { $0.storeFailure = .full(detail: "full") }
    harness.give(.hold(true))
    harness.pass(60)
    harness.storeFailure = nil
    harness.pass(30)
    #expect(harness.stored == [])
    harness.touch(.poured(100))
    harness.pass(5)
    #expect(harness.stored == [1, 2, 3])
  }

  @Test func `after four failures a full bottle syncs again, although its count stays the same`() {
    var harness = Self.meeting(600) { $0.storeFailure = .full(detail: "full") }
    harness.give(.hold(true))
    harness.pass(60)
    harness.storeFailure = nil
    harness.touch(.poured(100))
    harness.pass(60)
    #expect(harness.stored == Array(2...601))
  }

  @Test func `retries after 1, 5 and 15 s when the store fails, and then on a refresh`() {
    var harness = Self.meeting(2) { $0.storeFailure = .full(detail: "full") }
    harness.give(.hold(true))
    harness.pass(60)
    let starts = harness.log.filter {
      if case .write(_, _, .syncControl, let bytes) = $0.effect, bytes[4] == 1 {
        true
      } else {
        false
      }
    }.map(\.at)
    let waits = zip(starts, starts.dropFirst()).map { ($1 - $0).rounded() }
    #expect(waits == [1, 5, 15])
    harness.storeFailure = nil
    harness.give(.refresh(5))
    harness.pass(3)
    #expect(harness.stored == [1, 2])
    #expect(harness.updates.contains(.refreshed(5, .synced(2))))
  }

  @Test(arguments: 1...8)
  func `a lost notification loses no drink`(_ number: Int) {
    var harness = Self.meeting(60) {
      $0.longestValue = 182
      $0.dropped = [number]
    }
    harness.give(.hold(true))
    harness.pass(120)
    #expect(harness.stored == Self.all(60))
    #expect(harness.drinks.map(\.record.id) == Self.all(60))
  }

  @Test(arguments: 1...8)
  func `a repeated notification stores no drink twice`(_ number: Int) {
    var harness = Self.meeting(60) {
      $0.longestValue = 182
      $0.repeated = [number]
    }
    harness.pass(60)
    #expect(harness.stored == Self.all(60))
    #expect(harness.bottle.bottle.unsynced == 0)
  }

  @Test(arguments: [Duration.milliseconds(5), .milliseconds(40)])
  func `a drink recorded at any moment of a synchronization arrives`(notifying: Duration) {
    for moment in 0..<100 {
      var harness = Self.meeting(1) { $0.notifying = notifying }
      harness.pass(0.5 + Double(moment) * 0.02)
      harness.touch(.poured(40))
      harness.pass(5)
      #expect(harness.stored == [1, 2], "at \(moment)")
      #expect(harness.bottle.bottle.unsynced == 0, "at \(moment)")
    }
  }

  @Test func `a drop at any moment loses or repeats nothing`() {
    for moment in 0..<60 {
      var harness = Self.meeting(60) { $0.longestValue = 182 }
      harness.pass(0.4 + Double(moment) * 0.05)
      harness.drop(.reset)
      // A connection that fails within 2 s is queued again after 30 s.
      harness.pass(60)
      #expect(harness.stored == Self.all(60), "at \(moment)")
      #expect(harness.drinks.count == 60, "at \(moment)")
      #expect(harness.bottle.bottle.unsynced == 0, "at \(moment)")
    }
  }

  @Test func `a restart of the bottle at any moment loses or repeats nothing`() {
    for moment in 0..<30 {
      var harness = Self.meeting(40) { $0.longestValue = 182 }
      harness.pass(0.4 + Double(moment) * 0.1)
      harness.restart()
      harness.pass(60)
      #expect(harness.stored == Self.all(40), "at \(moment)")
      #expect(harness.drinks.count == 40, "at \(moment)")
    }
  }

  @Test func `a phone killed at any moment stores every drink once`() {
    for moment in 0..<40 {
      var harness = Self.meeting(40) { $0.longestValue = 182 }
      harness.pass(0.4 + Double(moment) * 0.07)
      harness.kill(keeping: false)
      harness.pass(1)
      harness.launch()
      harness.touch(.moved)
      harness.pass(30)
      #expect(harness.stored == Self.all(40), "at \(moment)")
    }
  }

  @Test
  func `asks a bottle that reports more than it has twice, and again when its count changes`() {
    var harness = BottleHarness.wanted(.plan035)
    harness.bottle.countsDeleted = true
    harness.pass(1)
    harness.touch(.moved)
    harness.touch(.stands(true))
    harness.touch(.poured(40))
    harness.pass(0.1)
    harness.deleteOnBottle(1)
    harness.give(.hold(true))
    harness.pass(60)
    #expect(harness.bottle.bottle.unsynced == 1)
    #expect(harness.stored == [])
    #expect(harness.notices == [.nothingCame(said: 1)])
    harness.touch(.poured(50))
    harness.pass(10)
    #expect(harness.stored == [2])
  }

  @Test func `does not store deleted records that arrive nevertheless`() throws {
    var harness = BottleHarness.connected()
    let attempt = try #require(harness.model.connection?.attempt)
    harness.dropped = Set(harness.notified + 1...harness.notified + 99)
    harness.touch(.poured(40))
    harness.give(.heard(attempt, .state(harness.bottle.state), at: harness.wall))
    let present = BottleRecord(id: 8, time: 1_768_766_000, amount: 100, level: 0)
    var deleted = BottleRecord(id: 9, time: 1_768_766_000, amount: 100, level: 0)
    deleted.flags = .isDeleted
    let chunk = BottleChunk(index: 0, total: 1, records: [deleted, present])
    harness.give(.heard(attempt, .chunk(chunk), at: harness.wall))
    harness.pass(1)
    #expect(harness.stored == [8])
    #expect(harness.drinks.map(\.record.id) == [8])
  }

  @Test func `stores and reports a drink without a time`() {
    var harness = Self.meeting(1)
    harness.pass(5)
    #expect(harness.stored == [1])
    #expect(harness.notices == [.unknownTime(record: 1)])
    #expect(harness.drinks.first?.record.timestamp == nil)
    harness.touch(.poured(40))
    harness.pass(5)
    #expect(harness.drinks.last?.record.timestamp != nil, "the clock was set on connecting")
  }

  @Test func `requests a truncated chunk again, with a smaller size`() {
    // The radio reports a limit of 244 bytes but carries only 120.
    var harness = Self.meeting(30) { $0.cutsAt = 120 }
    harness.give(.hold(true))
    harness.pass(60)
    #expect(harness.stored == Self.all(30))
    let failed = harness.notices.contains {
      if case .syncFailed(.malformed) = $0 { true } else { false }
    }
    #expect(failed)
  }

  @Test func `the next run shows drinks that were not confirmed, and no others`() {
    var harness = Self.meeting(3)
    harness.pass(5)
    harness.give(.shown(through: 2))
    harness.kill(keeping: false)
    harness.updates = []
    harness.launch()
    #expect(harness.drinks.map(\.number) == [3])
  }

  // `DrinkSync` by itself.

  private static func chunk(_ index: UInt16, _ total: UInt16) -> BottleChunk {
    BottleChunk(
      index: index, total: total,
      records: [BottleRecord(id: UInt32(index) + 1, time: 9, amount: 1, level: 1)])
  }

  @Test func `each chunk in each state`() {
    let until = Instant.second(9)
    var sync = DrinkSync()
    #expect(sync.take(Self.chunk(0, 2), until: until) == .ignore, "nothing was requested")
    sync.begin(until: until)
    #expect(sync.take(Self.chunk(1, 2), until: until) == .ignore, "part of an older one")
    #expect(sync.state == .requested(until: until, found: 1))
    #expect(sync.take(Self.chunk(2, 4), until: .second(20)) == .ignore)
    #expect(sync.state == .requested(until: until, found: 1), "the first one, and its time")
    #expect(
      sync.take(BottleChunk(index: 0, total: 0, records: []), until: until) == .ignore, "blank")
    #expect(sync.take(Self.chunk(0, 3), until: until) == .store(Self.chunk(0, 3).records))
    sync.storing(1)
    #expect(sync.take(Self.chunk(0, 3), until: until) == .ignore, "repeated")
    #expect(
      sync.take(Self.chunk(1, 3), until: until) == .fail(.missingChunk(expected: 0, found: 1)),
      "before it was asked for")
    #expect(sync.stored(2, added: 1) == nil, "another commit")
    #expect(sync.stored(1, added: 1) == false)
    #expect(
      sync.take(Self.chunk(2, 3), until: until) == .fail(.missingChunk(expected: 1, found: 2)))
    #expect(sync.take(Self.chunk(1, 4), until: until) == .fail(.changedTotal(from: 3, to: 4)))
    #expect(sync.take(Self.chunk(1, 3), until: until) == .store(Self.chunk(1, 3).records))
    sync.storing(3)
    #expect(sync.stored(3, added: 0) == false)
    #expect(
      sync.take(BottleChunk(index: 2, total: 3, records: []), until: until) == .store([]))
    sync.storing(4)
    #expect(sync.stored(4, added: 0) == true)
    sync.finish(with: WriteID(1))
    #expect(sync.take(Self.chunk(2, 3), until: until) == .ignore)
    #expect(sync.added == 1)
  }

  @Test func `an invariant of the synchronisation can fail`() {
    var sync = DrinkSync()
    sync.state = .receiving(DrinkSync.Receiving(next: 2, total: 2, until: .zero))
    var check = InvariantCheck(.thorough)
    sync.check(&check)
    #expect(check.broken == ["drink sync: it waits only for a chunk that exists"])
    var counted = DrinkSync()
    counted.added = -1
    var second = InvariantCheck(.thorough)
    counted.check(&second)
    #expect(second.broken == ["drink sync: what was added is counted"])
  }
}
