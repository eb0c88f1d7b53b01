import HoldfastCore
import HoldfastHealthSamples
import HoldfastSyncData
import Testing

@testable import HoldfastHealthSync

/// Tests of observers, of pages that are read and stored, and of the return of granted background
/// time.
@Suite struct ReadingTests {
  private static let steps = SyncHarness.steps
  private static let heart = SyncHarness.heart

  @Test func `observers are registered at each start from the stored requested types`() {
    var harness = SyncHarness()
    let stored = StoredSyncQueue(
      asked: [Self.heart], types: [], batches: [], stamp: SyncHarness.time(0))
    let effects = harness.give(.restored(stored, running: [], missing: []))
    #expect(effects.contains(.observe([Self.heart])))
    harness.give(.ask([Self.steps]))
    #expect(harness.log.contains(.observe([Self.steps])))
    #expect(harness.steps == [[.ask([Self.steps])]])
    harness.finishCommits()
    harness.fire([Self.heart], 1)
    #expect(harness.givenBack == [WakeID(1): [.done]])
  }

  @Test func `the first reading reaches back 30 days, and the next one begins at the anchor`()
    throws
  {
    var harness = SyncHarness.asked()
    harness.fire()
    #expect(harness.fetches == [])
    harness.pass(.milliseconds(50))
    #expect(harness.lastStart == .last(.seconds(30 * 86_400)))
    try harness.page(1, anchor: 1)
    harness.finishCommits()
    #expect(harness.lastStart == .after(HealthAnchor([1])))
    try harness.page(0, anchor: 1)
    #expect(harness.fetches.count == 2)
    harness.fire(wake: 2)
    harness.pass(.seconds(1))
    #expect(harness.lastStart == .after(HealthAnchor([1])))
  }

  @Test func `the anchor and batches of a page are one transaction and take effect once durable`()
    throws
  {
    var harness = SyncHarness.fetching()
    try harness.page(2, anchor: 1, made: 9)
    let first = SyncHarness.batch("f1", Self.steps, 1)
    let second = SyncHarness.batch("f2", Self.steps, 2)
    #expect(
      harness.steps == [
        [
          .add(first), .add(second), .anchor(type: Self.steps, HealthAnchor([1])),
          .stamp(SyncHarness.time(9)),
        ]
      ])
    #expect(harness.sent == [])
    #expect(harness.givenBack == [:])
    harness.finishCommits()
    #expect(harness.sent == ["f1"])
    #expect(harness.states(of: "f1") == [.queued, .sending])
  }

  @Test func `a failed transaction does not move the anchor, and the page is read again`() throws {
    var harness = SyncHarness.fetching()
    try harness.page(1, anchor: 1)
    let id = try #require(harness.model.commits.underWay.keys.first)
    harness.give(.notCommitted(id, .full(detail: "full")))
    #expect(harness.deleted == ["f1"])
    #expect(harness.givenBack == [WakeID(1): [.later]])
    #expect(harness.model.queues[0].anchor == nil)
    harness.pass(.seconds(1))
    #expect(harness.lastStart == .last(.seconds(30 * 86_400)))
    try harness.read(1, anchor: 1)
    #expect(harness.sent == ["f2"])
  }

  @Test func `a type has one reading at a time, and one more for all callouts during it`() throws {
    var harness = SyncHarness.asked()
    for wake in 1...3 { harness.fire(wake: UInt64(wake)) }
    harness.pass(.seconds(1))
    #expect(harness.fetches.count == 1)
    for wake in 4...6 { harness.fire(wake: UInt64(wake)) }
    harness.pass(.seconds(1))
    #expect(harness.fetches.count == 1)
    try harness.read(1, anchor: 1)
    #expect(harness.givenBack.keys.sorted() == [1, 2, 3].map { WakeID($0) })
    harness.pass(.seconds(1))
    #expect(harness.fetches.count == 3)
    try harness.page(0, anchor: 1)
    #expect(harness.givenBack.count == 6)
    harness.pass(.seconds(60))
    #expect(harness.fetches.count == 3)
  }

  @Test func `granted time is returned once, after all of its types or at its end`() throws {
    var harness = SyncHarness.asked([Self.steps, Self.heart])
    harness.fire([Self.steps, Self.heart], 1, budget: .seconds(10))
    harness.fire([Self.steps], 2, budget: .seconds(30))
    harness.pass(.seconds(1))
    #expect(harness.fetches.count == 2)
    harness.pass(.milliseconds(7_999))
    #expect(harness.givenBack == [:])
    harness.pass(.milliseconds(1))
    #expect(harness.givenBack == [WakeID(1): [.later]])
    harness.pass(.seconds(20))
    #expect(harness.givenBack == [WakeID(1): [.later], WakeID(2): [.later]])
    for id in harness.fetches {
      harness.give(
        .fetched(
          id, FetchedPage(drafts: [], anchor: HealthAnchor([1]), made: SyncHarness.time(1))))
    }
    harness.finishCommits()
    for id in harness.fetches.suffix(2) {
      harness.give(
        .fetched(
          id, FetchedPage(drafts: [], anchor: HealthAnchor([1]), made: SyncHarness.time(1))))
    }
    harness.fire([Self.steps], 3)
    harness.give(.stop)
    harness.fire([Self.steps], 4)
    harness.pass(.seconds(60))
    #expect(harness.givenBack.values.allSatisfy { $0.count == 1 })
    #expect(harness.givenBack.count == 4)
  }

  @Test(arguments: [(10_000, 9_000), (2_000, 1_000), (1_000, 500)])
  func `granted time is returned before its end`(budget: Int, end: Int) {
    var harness = SyncHarness.asked()
    harness.fire([Self.steps], 1, budget: .milliseconds(budget))
    harness.pass(.milliseconds(end - 1))
    #expect(harness.givenBack == [:])
    harness.pass(.milliseconds(1))
    #expect(harness.givenBack == [WakeID(1): [.later]])
  }

  @Test func `a page's stamp is at least the next whole second after the previous stamp`()
    throws
  {
    var harness = SyncHarness.fetching()
    #expect(harness.lastStamp == Timestamp(nanoseconds: .min))
    let id = try #require(harness.fetches.last)
    let made = Timestamp(nanoseconds: 9_700_000_000)
    let draft = PayloadDraft(file: "f1", records: 1, deletions: 0, bytes: 1)
    harness.give(
      .fetched(id, FetchedPage(drafts: [draft], anchor: HealthAnchor([1]), made: made)))
    harness.finishCommits()
    #expect(harness.lastStamp == SyncHarness.time(10))
  }

  @Test func `a locked source is read again later and does not count as empty`() throws {
    var harness = SyncHarness.fetching()
    let id = try #require(harness.fetches.last)
    harness.give(.notFetched(id, .locked(detail: "locked")))
    #expect(harness.givenBack == [WakeID(1): [.later]])
    #expect(harness.steps == [])
    #expect(harness.model.state == .working)
    harness.pass(.milliseconds(999))
    #expect(harness.fetches.count == 1)
    harness.pass(.milliseconds(1))
    #expect(harness.fetches.count == 2)
    for _ in 0..<3 {
      harness.give(.notFetched(try #require(harness.fetches.last), .locked(detail: "locked")))
      harness.pass(.seconds(60))
    }
    #expect(harness.model.state == .unreadable(.locked(detail: "locked")))
    try harness.read(1, anchor: 1)
    #expect(harness.model.state == .working)
  }

  @Test func `while the device is locked nothing is read`() {
    var harness = SyncHarness.asked()
    harness.give(.conditions(SyncConditions(isUnlocked: false)))
    harness.fire()
    harness.pass(.seconds(60))
    #expect(harness.fetches == [])
    #expect(harness.givenBack == [WakeID(1): [.later]])
    harness.give(.conditions(SyncConditions()))
    #expect(harness.fetches.count == 1)
  }

  @Test func `a source is not read while the maximum number of batches is pending`() throws {
    var harness = SyncHarness.asked()
    harness.fire(budget: .seconds(10_000))
    harness.pass(.seconds(1))
    try harness.page(63, anchor: 1)
    harness.finishCommits()
    #expect(harness.fetches.count == 2)
    try harness.page(1, anchor: 2)
    harness.finishCommits()
    #expect(harness.fetches.count == 2)
    #expect(harness.givenBack == [WakeID(1): [.later]])
    harness.fire(wake: 2)
    #expect(harness.givenBack[WakeID(2)] == [.later])
    for file in 1...31 {
      harness.accept("f\(file)")
      harness.finishCommits()
    }
    #expect(harness.fetches.count == 2)
    harness.accept("f32")
    harness.finishCommits()
    #expect(harness.fetches.count == 3)
  }

  @Test func `a type that fires while its queue is full is read once there is room`() throws {
    var harness = try SyncHarness.read(64)
    harness.fire(wake: 2)
    for file in 1...32 { harness.accept("f\(file)") }
    harness.finishCommits()
    #expect(harness.fetches.count == 2)
    try harness.page(0, anchor: 1)
    harness.pass(.seconds(1))
    #expect(harness.fetches.count == 3)
  }

  @Test func `a page that comes twice is stored once`() throws {
    var harness = SyncHarness.fetching()
    let id = try #require(harness.fetches.last)
    try harness.page(1, anchor: 1)
    let late = FetchedPage(
      drafts: [PayloadDraft(file: "late", records: 1, deletions: 0, bytes: 10)],
      anchor: HealthAnchor([2]), made: SyncHarness.time(2))
    #expect(harness.give(.fetched(id, late)) == [.delete(["late"])])
  }

  @Test func `samples of a page that does not move the anchor are stored`() throws {
    var harness = try SyncHarness.read(1)
    try harness.page(1, anchor: 1)
    harness.finishCommits()
    #expect(harness.model.queues.flatMap(\.batches).map(\.queued.file) == ["f1", "f2"])
  }

  @Test func `a type that is requested twice has one queue`() {
    var harness = SyncHarness()
    let stored = StoredSyncQueue(
      asked: [Self.steps, Self.steps], types: [], batches: [], stamp: SyncHarness.time(0))
    harness.give(.restored(stored, running: [], missing: []))
    #expect(harness.model.queues.map(\.type) == [Self.steps])
  }

  @Test func `stamps never go back, whatever the clock does`() throws {
    var harness = SyncHarness.fetching()
    try harness.page(1, anchor: 1, made: 100)
    harness.finishCommits()
    #expect(harness.lastStamp == SyncHarness.time(101))
    try harness.page(1, anchor: 2, made: 50)
    #expect(harness.steps.last?.last == .stamp(SyncHarness.time(100)))
  }

  @Test(arguments: [(63, 1), (64, 0), (65, 0)])
  func `batches that an earlier process left count against the bound`(_ left: Int, _ fetches: Int) {
    var harness = SyncHarness()
    let batches = (1...left).map { SyncHarness.batch("b\($0)", Self.steps, UInt64($0)) }
    harness.give(
      .restored(
        StoredSyncQueue(
          asked: [Self.steps], types: [], batches: batches, stamp: SyncHarness.time(0)),
        running: [], missing: []))
    harness.fire(wake: 1)
    harness.pass(.seconds(1))
    #expect(harness.fetches.count == fetches)
    #expect(harness.givenBack == (fetches == 0 ? [WakeID(1): [.later]] : [:]))
  }

  @Test func `a batch accepted during a refresh request causes one more refresh`() throws {
    var harness = SyncHarness.asked()
    func refreshes() -> Int { harness.log.count { $0 == .refresh } }
    for number in 1...2 {
      harness.fire(wake: UInt64(number))
      harness.pass(.seconds(1))
      try harness.read(1, anchor: UInt8(number))
      harness.accept("f\(number)")
      harness.finishCommits()
    }
    #expect(refreshes() == 1)
    harness.give(.refreshed(nil))
    #expect(refreshes() == 2)
    harness.give(.refreshed(nil))
    #expect(refreshes() == 2)
    #expect(harness.model.state == .done(quarantined: 0))
  }

  @Test func `a page that arrives after the stop is deleted`() throws {
    var harness = SyncHarness.fetching()
    harness.give(.stop)
    try harness.page(1, anchor: 1)
    #expect(harness.deleted == ["f1"])
    #expect(harness.steps == [])
    #expect(harness.model.isStopped)
  }
}

extension SyncHarness {
  mutating func fire(wake: UInt64) { fire([Self.steps], wake) }

  mutating func fire(budget: Duration) { fire([Self.steps], 1, budget: budget) }
}
