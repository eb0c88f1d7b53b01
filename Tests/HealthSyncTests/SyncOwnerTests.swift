import LinkCore
import LinkHealth
import LinkStorage
import LinkWire
import Testing

@testable import HealthSync

/// The owner of a sync's progress.
///
/// Nothing is sent before the server has reported the owner, and all samples are read again if the
/// owner changes.
@Suite struct SyncOwnerTests {
  private static let steps = SyncBench.steps
  private static let heart = SyncBench.heart
  private static let owner = SyncBench.owner
  private static let month = Duration.seconds(30 * 86_400)

  private static func kept(
    _ owner: SyncOwner? = owner, batches: [QueuedBatch] = [], stamp: Int64 = 100
  ) -> SyncModel.Input {
    .restored(
      StoredSyncQueue(
        asked: [steps],
        types: [
          SyncedType(
            type: steps, anchor: HealthAnchor([1]), synced: 7, earliest: SyncBench.time(-500))
        ], batches: batches, stamp: SyncBench.time(stamp), owner: owner), running: [], missing: [])
  }

  /// Returns a sync with a restored queue and a server that reports an identity.
  ///
  /// With `nil` the server does not answer.
  private static func started(
    _ told: SyncIdentity?, batches: [QueuedBatch] = []
  ) -> SyncBench {
    var bench = SyncBench()
    bench.identity = told
    bench.give(kept(batches: batches))
    return bench
  }

  private static func identity(
    _ server: String = owner.server, _ user: String? = "ann", _ epoch: String? = "e1",
    stamp: Int64? = nil
  ) -> SyncIdentity {
    SyncIdentity(
      SyncOwner(server: server, user: user, epoch: epoch), stamp: stamp.map(SyncBench.time))
  }

  @Test func `nothing is sent before the server has identified the owner of the progress`() {
    var bench = Self.started(nil, batches: [SyncBench.batch("a")])
    #expect(bench.log.filter { $0 == .identify } == [.identify])
    #expect(bench.sent == [])
    #expect(bench.model.standing == .working)
    #expect(bench.model.canWork)
    bench.give(.identified(Self.identity()))
    #expect(bench.sent == ["a"])
    #expect(bench.give(.identified(Self.identity("https://other.example"))) == [], "late")
    #expect(bench.give(.notIdentified(.reset)) == [], "late")
  }

  @Test func `a phone with nothing to send identifies the server before it reports completion`() {
    var bench = Self.started(nil)
    bench.fire()
    bench.pass(.seconds(1))
    bench.give(
      .fetched(
        bench.fetches[0],
        FetchedPage(drafts: [], anchor: HealthAnchor([1]), made: SyncBench.time(1))))
    #expect(bench.model.standing == .working)
    #expect(!bench.model.isComplete)
    bench.give(.identified(Self.identity()))
    #expect(bench.model.standing == .done(quarantined: 0))
    #expect(bench.model.isComplete)
    #expect(bench.steps == [])
  }

  @Test func `the first server is stored before anything is sent to it`() throws {
    var bench = SyncBench()
    bench.identity = nil
    // `SyncBench.give` would set an owner for a queue without one.
    let kept = StoredSyncQueue(
      asked: [Self.steps], types: [], batches: [SyncBench.batch("a")], stamp: SyncBench.time(0))
    bench.log += bench.model.handle(.restored(kept, running: [], missing: []), at: bench.now)
    bench.give(.identified(Self.identity()))
    #expect(bench.steps == [[.own(Self.owner, again: false)]])
    #expect(bench.sent == [])
    let id = try #require(bench.model.commits.underWay.keys.first)
    bench.give(.notCommitted(id, .full(detail: "full")))
    bench.pass(.seconds(1))
    #expect(bench.log.count { $0 == .identify } == 2)
    bench.give(.identified(Self.identity()))
    bench.finishCommits()
    #expect(bench.sent == ["a"])
  }

  @Test(arguments: [
    identity("https://other.example"), identity(owner.server, "bob"),
    identity(owner.server, "ann", "e2"),
    identity("https://other.example", nil, nil), identity(stamp: 101),
  ])
  func `all samples are read again for another server, user or epoch, or a restored queue`(
    told: SyncIdentity
  ) throws {
    var bench = Self.started(told, batches: [SyncBench.batch("a")])
    let owner = told.owner
    #expect(bench.log.contains(.update(.notice(.readsAgain(owner)))))
    #expect(bench.steps == [[.own(owner, again: true)]])
    #expect(bench.sent == [], "not before it is stored")
    #expect(bench.model.queues.map(\.synced) == [0])
    bench.finishCommits()
    #expect(bench.sent == ["a"])
    #expect(bench.lastStart == .since(SyncBench.time(-500), orLast: Self.month))
    let least = max(100, told.stamp.map { $0.nanoseconds / 1_000_000_000 } ?? 0) + 1
    #expect(bench.lastStamp == SyncBench.time(least), "after every stamp that was ever sent")
    try bench.read(1, anchor: 2)
    #expect(bench.model.queues.map(\.anchor) == [HealthAnchor([2])])
  }

  @Test(arguments: [
    identity(), identity(owner.server, nil, nil), identity(stamp: 100), identity(stamp: 3),
  ])
  func `nothing is read again for the same server or a server without an identity`(
    told: SyncIdentity
  ) {
    let bench = Self.started(told, batches: [SyncBench.batch("a")])
    #expect(bench.steps == [])
    #expect(bench.sent == ["a"])
    #expect(bench.model.ownership.owner == Self.owner)
  }

  @Test func `all samples are read again after an answer with another epoch`() {
    var bench = Self.started(Self.identity(), batches: [SyncBench.batch("a")])
    #expect(bench.give(.epoch("e1")) == [])
    bench.give(.epoch("e2"))
    var other = Self.owner
    other.epoch = "e2"
    #expect(bench.steps == [[.own(other, again: true)]])
    bench.accept("a")
    bench.give(.epoch("e2"))
    bench.finishCommits()
    #expect(bench.fetches.count == 1)
    #expect(bench.model.ownership.owner == other)
    #expect(bench.steps.count == 2, "once, and the accepted batch")
  }

  @Test func `a page fetched for the previous owner is dropped and read again for the next`() throws
  {
    var bench = Self.started(Self.identity())
    bench.fire()
    bench.pass(.seconds(1))
    #expect(bench.lastStart == .after(HealthAnchor([1])))
    bench.give(.epoch("e2"))
    #expect(bench.steps == [], "one reading of a type at a time")
    #expect(!bench.model.isComplete)
    try bench.page(1, anchor: 2)
    #expect(bench.deleted == ["f1"])
    #expect(bench.givenBack == [WakeID(1): [.later]])
    #expect(bench.steps.count == 1)
    #expect(bench.fetches.count == 1, "the owner is stored first")
    bench.finishCommits()
    #expect(bench.lastStart == .since(SyncBench.time(-500), orLast: Self.month))
  }

  @Test func `repeated changes of the owner are followed with growing delays`() throws {
    var bench = Self.started(Self.identity())
    bench.give(.epoch("e2"))
    bench.finishCommits()
    for (wait, epoch) in [(1, "e3"), (2, "e4"), (4, "e5")] {
      let before = bench.model.ownership.owner
      bench.give(.epoch(epoch))
      if !bench.fetches.isEmpty { try bench.page(0, anchor: 1) }
      bench.pass(.seconds(wait) - .milliseconds(1))
      #expect(bench.model.ownership.owner == before)
      bench.pass(.milliseconds(1))
      #expect(bench.model.ownership.owner?.epoch == epoch)
      bench.finishCommits()
    }
  }

  @Test func `a page being stored when the epoch changes adds its batch but not its anchor`() throws
  {
    var bench = Self.started(Self.identity())
    bench.fire()
    bench.pass(.seconds(1))
    try bench.page(1, anchor: 2)
    let page = try #require(bench.model.commits.underWay.keys.first)
    bench.give(.epoch("e2"))
    #expect(bench.steps.count == 1)
    bench.give(.committed(page))
    #expect(bench.steps.count == 2)
    #expect(bench.model.queues.map(\.anchor) == [nil])
    #expect(bench.model.pending == 1, "its batch waits")
    bench.finishCommits()
    #expect(bench.fetches.count == 2)
    #expect(bench.lastStart == .since(SyncBench.time(-500), orLast: Self.month))
  }

  @Test
  func `a new owner that cannot be stored is retried, and nothing is sent until it is stored`()
    throws
  {
    var bench = Self.started(
      Self.identity(Self.owner.server, "bob"), batches: [SyncBench.batch("a")])
    for wait in [1, 2] {
      let id = try #require(bench.model.commits.underWay.keys.first)
      bench.give(.notCommitted(id, .full(detail: "full")))
      #expect(bench.model.commits.underWay.isEmpty)
      bench.pass(.seconds(wait) - .milliseconds(1))
      #expect(bench.model.commits.underWay.isEmpty)
      bench.pass(.milliseconds(1))
      #expect(bench.sent == [])
      #expect(bench.fetches.isEmpty)
    }
    bench.finishCommits()
    #expect(bench.sent == ["a"])
  }

  @Test func `the earliest sample is stored with its page, and an earlier one replaces it`() throws
  {
    var bench = SyncBench.fetching()
    for (anchor, start, steps) in [(1, 50, true), (2, 60, false), (3, 40, true)]
      as [(UInt8, Int64, Bool)]
    {
      let draft = PayloadDraft(file: "f\(anchor)", records: 1, deletions: 0, bytes: 1)
      bench.give(
        .fetched(
          try #require(bench.fetches.last),
          FetchedPage(
            drafts: [draft], anchor: HealthAnchor([anchor]), made: SyncBench.time(900),
            earliest: SyncBench.time(start))))
      let step = SyncQueueStep.earliest(type: Self.steps, SyncBench.time(start))
      #expect(bench.steps.last?.contains(step) == steps)
      bench.finishCommits()
    }
    #expect(bench.model.queues.map(\.earliest) == [SyncBench.time(40)])
  }

  @Test func `the identity of a server that does not answer is requested again by the schedule`() {
    var bench = Self.started(nil, batches: [SyncBench.batch("a")])
    for wait in [1, 2, 2] {
      let count = bench.log.count { $0 == .identify }
      bench.give(.notIdentified(.refused))
      bench.pass(.seconds(wait) - .milliseconds(1))
      #expect(bench.log.count { $0 == .identify } == count)
      bench.pass(.milliseconds(1))
      #expect(bench.log.count { $0 == .identify } == count + 1)
    }
    #expect(bench.sent == [])
    bench.give(.notIdentified(.refused))
    #expect(bench.model.standing == .unreachable(.refused))
  }

  @Test func `a manual retry requests the server's identity again`() {
    var bench = Self.started(Self.identity())
    bench.identity = nil
    #expect(bench.give(.again) == [.identify])
    #expect(bench.give(.again) == [], "a request is in progress")
    bench.give(.identified(Self.identity(Self.owner.server, "ann", "e2")))
    #expect(bench.steps.count == 1)
    bench.finishCommits()
    #expect(bench.lastStart == .since(SyncBench.time(-500), orLast: Self.month))
  }

  @Test func `a refused secret is read again, and the new secret may belong to another user`() {
    var bench = Self.started(nil)
    #expect(bench.give(.notIdentified(SyncBench.http(401))) == [.askSecret])
    bench.give(.secret(isNew: false))
    #expect(bench.model.standing == .secretRefused)
    bench.pass(.seconds(60))
    let effects = bench.give(.secret(isNew: true))
    #expect(effects == [.update(.notice(.secretRenewed)), .identify])
    bench.give(.identified(Self.identity(Self.owner.server, "bob")))
    #expect(bench.steps == [[.own(Self.identity(Self.owner.server, "bob").owner, again: true)]])
  }

  @Test func `an identity received for a replaced secret is requested again`() {
    var bench = Self.started(nil, batches: [SyncBench.batch("a")])
    bench.give(.uploaded("a", .failed(.reset), at: SyncBench.time(5)))
    bench.model.gate.refuseSecret(since: bench.now, at: bench.now, &bench.log)
    bench.pass(.seconds(1))
    bench.give(.secret(isNew: true))
    let count = bench.log.count { $0 == .identify }
    bench.give(.identified(Self.identity()))
    #expect(bench.sent == [])
    #expect(bench.log.count { $0 == .identify } == count + 1)
  }

  @Test func `a successful status that reports an unstored batch delays only its own type`() {
    var bench = SyncBench()
    bench.give(
      SyncBench.waiting([SyncBench.batch("a"), SyncBench.batch("c", SyncBench.heart, 2)]))
    bench.fail("a", SyncBench.http(200))
    #expect(bench.states(of: "a").last == .retrying)
    bench.accept("c")
    bench.pass(.seconds(1))
    #expect(bench.sent == ["c", "a", "a"])
  }
}
