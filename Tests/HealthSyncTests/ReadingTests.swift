import LinkCore
import LinkHealth
import LinkStorage
import LinkWire
import Testing

@testable import HealthSync

/// Observers, the pages that are read and stored, and the return of granted background time.
@Suite struct ReadingTests {
  private static let steps = SyncBench.steps
  private static let heart = SyncBench.heart

  @Test func `observers are registered at each start from the stored requested types`() {
    var bench = SyncBench()
    let kept = StoredSyncQueue(
      asked: [Self.heart], types: [], batches: [], stamp: SyncBench.time(0))
    let effects = bench.give(.restored(kept, running: [], missing: []))
    #expect(effects.contains(.observe([Self.heart])))
    bench.give(.ask([Self.steps]))
    #expect(bench.log.contains(.observe([Self.steps])))
    #expect(bench.steps == [[.ask([Self.steps])]])
    bench.finishCommits()
    bench.fire([Self.heart], 1)
    #expect(bench.givenBack == [WakeID(1): [.done]])
  }

  @Test func `the first reading reaches back 30 days, and the next one begins at the anchor`()
    throws
  {
    var bench = SyncBench.asked()
    bench.fire()
    #expect(bench.fetches == [])
    bench.pass(.milliseconds(50))
    #expect(bench.lastStart == .last(.seconds(30 * 86_400)))
    try bench.page(1, anchor: 1)
    bench.finishCommits()
    #expect(bench.lastStart == .after(HealthAnchor([1])))
    try bench.page(0, anchor: 1)
    #expect(bench.fetches.count == 2)
    bench.fire(wake: 2)
    bench.pass(.seconds(1))
    #expect(bench.lastStart == .after(HealthAnchor([1])))
  }

  @Test func `the anchor and batches of a page are one transaction and take effect once durable`()
    throws
  {
    var bench = SyncBench.fetching()
    try bench.page(2, anchor: 1, made: 9)
    let first = SyncBench.batch("f1", Self.steps, 1)
    let second = SyncBench.batch("f2", Self.steps, 2)
    #expect(
      bench.steps == [
        [
          .add(first), .add(second), .anchor(type: Self.steps, HealthAnchor([1])),
          .stamp(SyncBench.time(9)),
        ]
      ])
    #expect(bench.sent == [])
    #expect(bench.givenBack == [:])
    bench.finishCommits()
    #expect(bench.sent == ["f1"])
    #expect(bench.states(of: "f1") == [.queued, .sending])
  }

  @Test func `a failed transaction does not move the anchor, and the page is read again`() throws {
    var bench = SyncBench.fetching()
    try bench.page(1, anchor: 1)
    let id = try #require(bench.model.commits.underWay.keys.first)
    bench.give(.notCommitted(id, .full(detail: "full")))
    #expect(bench.deleted == ["f1"])
    #expect(bench.givenBack == [WakeID(1): [.later]])
    #expect(bench.model.queues[0].anchor == nil)
    bench.pass(.seconds(1))
    #expect(bench.lastStart == .last(.seconds(30 * 86_400)))
    try bench.read(1, anchor: 1)
    #expect(bench.sent == ["f2"])
  }

  @Test func `a type has one reading at a time, and one more for all callouts during it`() throws {
    var bench = SyncBench.asked()
    for wake in 1...3 { bench.fire(wake: UInt64(wake)) }
    bench.pass(.seconds(1))
    #expect(bench.fetches.count == 1)
    for wake in 4...6 { bench.fire(wake: UInt64(wake)) }
    bench.pass(.seconds(1))
    #expect(bench.fetches.count == 1)
    try bench.read(1, anchor: 1)
    #expect(bench.givenBack.keys.sorted() == [1, 2, 3].map { WakeID($0) })
    bench.pass(.seconds(1))
    #expect(bench.fetches.count == 3)
    try bench.page(0, anchor: 1)
    #expect(bench.givenBack.count == 6)
    bench.pass(.seconds(60))
    #expect(bench.fetches.count == 3)
  }

  @Test func `granted time is returned once, after all of its types or at its end`() throws {
    var bench = SyncBench.asked([Self.steps, Self.heart])
    bench.fire([Self.steps, Self.heart], 1, budget: .seconds(10))
    bench.fire([Self.steps], 2, budget: .seconds(30))
    bench.pass(.seconds(1))
    #expect(bench.fetches.count == 2)
    bench.pass(.milliseconds(7_999))
    #expect(bench.givenBack == [:])
    bench.pass(.milliseconds(1))
    #expect(bench.givenBack == [WakeID(1): [.later]])
    bench.pass(.seconds(20))
    #expect(bench.givenBack == [WakeID(1): [.later], WakeID(2): [.later]])
    for id in bench.fetches {
      bench.give(
        .fetched(
          id, FetchedPage(drafts: [], anchor: HealthAnchor([1]), made: SyncBench.time(1))))
    }
    bench.finishCommits()
    for id in bench.fetches.suffix(2) {
      bench.give(
        .fetched(
          id, FetchedPage(drafts: [], anchor: HealthAnchor([1]), made: SyncBench.time(1))))
    }
    bench.fire([Self.steps], 3)
    bench.give(.stop)
    bench.fire([Self.steps], 4)
    bench.pass(.seconds(60))
    #expect(bench.givenBack.values.allSatisfy { $0.count == 1 })
    #expect(bench.givenBack.count == 4)
  }

  @Test(arguments: [(10_000, 9_000), (2_000, 1_000), (1_000, 500)])
  func `granted time is returned before its end`(budget: Int, end: Int) {
    var bench = SyncBench.asked()
    bench.fire([Self.steps], 1, budget: .milliseconds(budget))
    bench.pass(.milliseconds(end - 1))
    #expect(bench.givenBack == [:])
    bench.pass(.milliseconds(1))
    #expect(bench.givenBack == [WakeID(1): [.later]])
  }

  @Test func `a page's stamp is at least the next whole second after the previous stamp`()
    throws
  {
    var bench = SyncBench.fetching()
    #expect(bench.lastStamp == Timestamp(nanoseconds: .min))
    let id = try #require(bench.fetches.last)
    let made = Timestamp(nanoseconds: 9_700_000_000)
    let draft = PayloadDraft(file: "f1", records: 1, deletions: 0, bytes: 1)
    bench.give(
      .fetched(id, FetchedPage(drafts: [draft], anchor: HealthAnchor([1]), made: made)))
    bench.finishCommits()
    #expect(bench.lastStamp == SyncBench.time(10))
  }

  @Test func `a locked source is read again later and does not count as empty`() throws {
    var bench = SyncBench.fetching()
    let id = try #require(bench.fetches.last)
    bench.give(.notFetched(id, .locked(detail: "locked")))
    #expect(bench.givenBack == [WakeID(1): [.later]])
    #expect(bench.steps == [])
    #expect(bench.model.standing == .working)
    bench.pass(.milliseconds(999))
    #expect(bench.fetches.count == 1)
    bench.pass(.milliseconds(1))
    #expect(bench.fetches.count == 2)
    for _ in 0..<3 {
      bench.give(.notFetched(try #require(bench.fetches.last), .locked(detail: "locked")))
      bench.pass(.seconds(60))
    }
    #expect(bench.model.standing == .unreadable(.locked(detail: "locked")))
    try bench.read(1, anchor: 1)
    #expect(bench.model.standing == .working)
  }

  @Test func `while the device is locked nothing is read`() {
    var bench = SyncBench.asked()
    bench.give(.conditions(SyncConditions(isUnlocked: false)))
    bench.fire()
    bench.pass(.seconds(60))
    #expect(bench.fetches == [])
    #expect(bench.givenBack == [WakeID(1): [.later]])
    bench.give(.conditions(SyncConditions()))
    #expect(bench.fetches.count == 1)
  }

  @Test func `a source is not read while the maximum number of batches is pending`() throws {
    var bench = SyncBench.asked()
    bench.fire(budget: .seconds(10_000))
    bench.pass(.seconds(1))
    try bench.page(63, anchor: 1)
    bench.finishCommits()
    #expect(bench.fetches.count == 2)
    try bench.page(1, anchor: 2)
    bench.finishCommits()
    #expect(bench.fetches.count == 2)
    #expect(bench.givenBack == [WakeID(1): [.later]])
    bench.fire(wake: 2)
    #expect(bench.givenBack[WakeID(2)] == [.later])
    for file in 1...31 {
      bench.accept("f\(file)")
      bench.finishCommits()
    }
    #expect(bench.fetches.count == 2)
    bench.accept("f32")
    bench.finishCommits()
    #expect(bench.fetches.count == 3)
  }

  @Test func `a type that fires while its queue is full is read once there is room`() throws {
    var bench = try SyncBench.read(64)
    bench.fire(wake: 2)
    for file in 1...32 { bench.accept("f\(file)") }
    bench.finishCommits()
    #expect(bench.fetches.count == 2)
    try bench.page(0, anchor: 1)
    bench.pass(.seconds(1))
    #expect(bench.fetches.count == 3)
  }

  @Test func `a page that comes twice is stored once`() throws {
    var bench = SyncBench.fetching()
    let id = try #require(bench.fetches.last)
    try bench.page(1, anchor: 1)
    let late = FetchedPage(
      drafts: [PayloadDraft(file: "late", records: 1, deletions: 0, bytes: 10)],
      anchor: HealthAnchor([2]), made: SyncBench.time(2))
    #expect(bench.give(.fetched(id, late)) == [.delete(["late"])])
  }

  @Test func `samples of a page that does not move the anchor are stored`() throws {
    var bench = try SyncBench.read(1)
    try bench.page(1, anchor: 1)
    bench.finishCommits()
    #expect(bench.model.queues.flatMap(\.batches).map(\.queued.file) == ["f1", "f2"])
  }

  @Test func `a type that is requested twice has one queue`() {
    var bench = SyncBench()
    let kept = StoredSyncQueue(
      asked: [Self.steps, Self.steps], types: [], batches: [], stamp: SyncBench.time(0))
    bench.give(.restored(kept, running: [], missing: []))
    #expect(bench.model.queues.map(\.type) == [Self.steps])
  }

  @Test func `stamps never go back, whatever the clock does`() throws {
    var bench = SyncBench.fetching()
    try bench.page(1, anchor: 1, made: 100)
    bench.finishCommits()
    #expect(bench.lastStamp == SyncBench.time(101))
    try bench.page(1, anchor: 2, made: 50)
    #expect(bench.steps.last?.last == .stamp(SyncBench.time(100)))
  }

  @Test(arguments: [(63, 1), (64, 0), (65, 0)])
  func `batches that an earlier process left count against the bound`(_ left: Int, _ fetches: Int) {
    var bench = SyncBench()
    let batches = (1...left).map { SyncBench.batch("b\($0)", Self.steps, UInt64($0)) }
    bench.give(
      .restored(
        StoredSyncQueue(asked: [Self.steps], types: [], batches: batches, stamp: SyncBench.time(0)),
        running: [], missing: []))
    bench.fire(wake: 1)
    bench.pass(.seconds(1))
    #expect(bench.fetches.count == fetches)
    #expect(bench.givenBack == (fetches == 0 ? [WakeID(1): [.later]] : [:]))
  }

  @Test func `a batch accepted during a refresh request causes one more refresh`() throws {
    var bench = SyncBench.asked()
    func told() -> Int { bench.log.count { $0 == .refresh } }
    for number in 1...2 {
      bench.fire(wake: UInt64(number))
      bench.pass(.seconds(1))
      try bench.read(1, anchor: UInt8(number))
      bench.accept("f\(number)")
      bench.finishCommits()
    }
    #expect(told() == 1)
    bench.give(.refreshed(nil))
    #expect(told() == 2)
    bench.give(.refreshed(nil))
    #expect(told() == 2)
    #expect(bench.model.standing == .done(quarantined: 0))
  }

  @Test func `a page that arrives after the stop is deleted`() throws {
    var bench = SyncBench.fetching()
    bench.give(.stop)
    try bench.page(1, anchor: 1)
    #expect(bench.deleted == ["f1"])
    #expect(bench.steps == [])
    #expect(bench.model.isStopped)
  }
}

extension SyncBench {
  mutating func fire(wake: UInt64) { fire([Self.steps], wake) }

  mutating func fire(budget: Duration) { fire([Self.steps], 1, budget: budget) }
}
