import BottleFirmware
import LinkCore
import LinkStorage
import LinkWire
import Testing
import VirtualBottle

@testable import BottleLink

/// Tests that each drink reaches the store once, and that none is lost.
@Suite struct DrinkSyncTests {
  /// Returns a harness with a bottle that has drinks and comes near, and a phone in the foreground.
  private static func meeting(
    _ drinks: Int, _ profile: TimerProfile = .plan035,
    prepare: (inout BottleBench) -> Void = { _ in }
  ) -> BottleBench {
    var bench = BottleBench.wanted(profile)
    bench.pass(1)
    bench.touch(.moved)
    bench.touch(.stands(true))
    for _ in 0..<drinks { bench.touch(.poured(40)) }
    prepare(&bench)
    return bench
  }

  private static func all(_ count: Int) -> [UInt32] { (0..<count).map { UInt32($0) + 1 } }

  @Test(arguments: [(0, 244), (1, 244), (17, 244), (18, 244), (100, 182), (3, 20), (600, 244)])
  func `all drinks arrive, in chunks that fit`(drinks: Int, longest: Int) {
    var bench = Self.meeting(drinks) { $0.longestValue = longest }
    bench.pass(60)
    #expect(bench.stored == Self.all(drinks))
    #expect(bench.drinks.map(\.record.id) == Self.all(drinks))
    #expect(bench.bottle.bottle.unsynced == 0)
    #expect(bench.notices.filter { if case .unknownTime = $0 { false } else { true } } == [])
  }

  @Test func `drinks recorded while connected are live`() {
    var bench = Self.meeting(2)
    bench.pass(5)
    bench.touch(.poured(300))
    bench.pass(5)
    #expect(bench.drinks.map(\.via) == [.sync, .sync, .live])
  }

  @Test func `a chunk is acknowledged after it was stored, never before`() throws {
    var bench = Self.meeting(3)
    bench.pass(5)
    var stored = 0
    for (_, effect) in bench.log {
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
    var bench = Self.meeting(2) { $0.storeFailure = .full(detail: "full") }
    bench.give(.hold(true))
    bench.pass(60)
    bench.storeFailure = nil
    bench.pass(30)
    #expect(bench.stored == [])
    bench.touch(.poured(100))
    bench.pass(5)
    #expect(bench.stored == [1, 2, 3])
  }

  @Test func `after four failures a full bottle syncs again, although its count stays the same`() {
    var bench = Self.meeting(600) { $0.storeFailure = .full(detail: "full") }
    bench.give(.hold(true))
    bench.pass(60)
    bench.storeFailure = nil
    bench.touch(.poured(100))
    bench.pass(60)
    #expect(bench.stored == Array(2...601))
  }

  @Test func `retries after 1, 5 and 15 s when the store fails, and then on a refresh`() {
    var bench = Self.meeting(2) { $0.storeFailure = .full(detail: "full") }
    bench.give(.hold(true))
    bench.pass(60)
    let starts = bench.log.filter {
      if case .write(_, _, .syncControl, let bytes) = $0.effect, bytes[4] == 1 {
        true
      } else {
        false
      }
    }.map(\.at)
    let waits = zip(starts, starts.dropFirst()).map { ($1 - $0).rounded() }
    #expect(waits == [1, 5, 15])
    bench.storeFailure = nil
    bench.give(.refresh(5))
    bench.pass(3)
    #expect(bench.stored == [1, 2])
    #expect(bench.updates.contains(.refreshed(5, .synced(2))))
  }

  @Test(arguments: 1...8)
  func `a lost notification loses no drink`(_ number: Int) {
    var bench = Self.meeting(60) {
      $0.longestValue = 182
      $0.dropped = [number]
    }
    bench.give(.hold(true))
    bench.pass(120)
    #expect(bench.stored == Self.all(60))
    #expect(bench.drinks.map(\.record.id) == Self.all(60))
  }

  @Test(arguments: 1...8)
  func `a repeated notification stores no drink twice`(_ number: Int) {
    var bench = Self.meeting(60) {
      $0.longestValue = 182
      $0.repeated = [number]
    }
    bench.pass(60)
    #expect(bench.stored == Self.all(60))
    #expect(bench.bottle.bottle.unsynced == 0)
  }

  @Test(arguments: [Duration.milliseconds(5), .milliseconds(40)])
  func `a drink recorded at any moment of a synchronization arrives`(notifying: Duration) {
    for moment in 0..<100 {
      var bench = Self.meeting(1) { $0.notifying = notifying }
      bench.pass(0.5 + Double(moment) * 0.02)
      bench.touch(.poured(40))
      bench.pass(5)
      #expect(bench.stored == [1, 2], "at \(moment)")
      #expect(bench.bottle.bottle.unsynced == 0, "at \(moment)")
    }
  }

  @Test func `a drop at any moment loses or repeats nothing`() {
    for moment in 0..<60 {
      var bench = Self.meeting(60) { $0.longestValue = 182 }
      bench.pass(0.4 + Double(moment) * 0.05)
      bench.drop(.reset)
      // A connection that fails within 2 s is queued again after 30 s.
      bench.pass(60)
      #expect(bench.stored == Self.all(60), "at \(moment)")
      #expect(bench.drinks.count == 60, "at \(moment)")
      #expect(bench.bottle.bottle.unsynced == 0, "at \(moment)")
    }
  }

  @Test func `a restart of the bottle at any moment loses or repeats nothing`() {
    for moment in 0..<30 {
      var bench = Self.meeting(40) { $0.longestValue = 182 }
      bench.pass(0.4 + Double(moment) * 0.1)
      bench.restart()
      bench.pass(60)
      #expect(bench.stored == Self.all(40), "at \(moment)")
      #expect(bench.drinks.count == 40, "at \(moment)")
    }
  }

  @Test func `a phone killed at any moment stores every drink once`() {
    for moment in 0..<40 {
      var bench = Self.meeting(40) { $0.longestValue = 182 }
      bench.pass(0.4 + Double(moment) * 0.07)
      bench.kill(keeping: false)
      bench.pass(1)
      bench.launch()
      bench.touch(.moved)
      bench.pass(30)
      #expect(bench.stored == Self.all(40), "at \(moment)")
    }
  }

  @Test
  func `asks a bottle that reports more than it has twice, and again when its count changes`() {
    var bench = BottleBench.wanted(.plan035)
    bench.bottle.countsDeleted = true
    bench.pass(1)
    bench.touch(.moved)
    bench.touch(.stands(true))
    bench.touch(.poured(40))
    bench.pass(0.1)
    bench.deleteOnBottle(1)
    bench.give(.hold(true))
    bench.pass(60)
    #expect(bench.bottle.bottle.unsynced == 1)
    #expect(bench.stored == [])
    #expect(bench.notices == [.nothingCame(said: 1)])
    bench.touch(.poured(50))
    bench.pass(10)
    #expect(bench.stored == [2])
  }

  @Test func `does not store deleted records that arrive nevertheless`() throws {
    var bench = BottleBench.connected()
    let attempt = try #require(bench.model.connection?.attempt)
    bench.dropped = Set(bench.notified + 1...bench.notified + 99)
    bench.touch(.poured(40))
    bench.give(.heard(attempt, .state(bench.bottle.state), at: bench.wall))
    let kept = BottleRecord(id: 8, time: 1_768_766_000, amount: 100, level: 0)
    var deleted = BottleRecord(id: 9, time: 1_768_766_000, amount: 100, level: 0)
    deleted.flags = .isDeleted
    let chunk = BottleChunk(index: 0, total: 1, records: [deleted, kept])
    bench.give(.heard(attempt, .chunk(chunk), at: bench.wall))
    bench.pass(1)
    #expect(bench.stored == [8])
    #expect(bench.drinks.map(\.record.id) == [8])
  }

  @Test func `stores and reports a drink without a time`() {
    var bench = Self.meeting(1)
    bench.pass(5)
    #expect(bench.stored == [1])
    #expect(bench.notices == [.unknownTime(record: 1)])
    #expect(bench.drinks.first?.record.timestamp == nil)
    bench.touch(.poured(40))
    bench.pass(5)
    #expect(bench.drinks.last?.record.timestamp != nil, "the clock was set on connecting")
  }

  @Test func `requests a truncated chunk again, with a smaller size`() {
    // The radio reports 244 bytes and carries 120.
    var bench = Self.meeting(30) { $0.cutsAt = 120 }
    bench.give(.hold(true))
    bench.pass(60)
    #expect(bench.stored == Self.all(30))
    let failed = bench.notices.contains {
      if case .syncFailed(.malformed) = $0 { true } else { false }
    }
    #expect(failed)
  }

  @Test func `the next run shows drinks that were not confirmed, and no others`() {
    var bench = Self.meeting(3)
    bench.pass(5)
    bench.give(.shown(through: 2))
    bench.kill(keeping: false)
    bench.updates = []
    bench.launch()
    #expect(bench.drinks.map(\.number) == [3])
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
    #expect(sync.take(Self.chunk(0, 2), until: until) == .ignore, "nothing was asked for")
    sync.begin(until: until)
    #expect(sync.take(Self.chunk(1, 2), until: until) == .ignore, "of an older one")
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
    #expect(check.broken == ["drink sync: it waits only for a chunk that there is"])
    var counted = DrinkSync()
    counted.added = -1
    var second = InvariantCheck(.thorough)
    counted.check(&second)
    #expect(second.broken == ["drink sync: what was added is counted"])
  }
}
