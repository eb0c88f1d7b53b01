import HoldfastCore
import HoldfastHealthSamples
import HoldfastSyncData
import HoldfastUploads
import Testing

@testable import HoldfastHealthSync

/// Tests of the owner of a sync's progress.
///
/// Nothing is sent before the server has reported the owner, and all samples are read again if the
/// owner changes.
@Suite struct SyncOwnerTests {
  private static let steps = SyncHarness.steps
  private static let heart = SyncHarness.heart
  private static let owner = SyncHarness.owner
  private static let month = Duration.seconds(30 * 86_400)

  private static func stored(
    _ owner: SyncOwner? = owner, batches: [QueuedBatch] = [], stamp: Int64 = 100
  ) -> SyncModel.Input {
    .restored(
      StoredSyncQueue(
        asked: [steps],
        types: [
          SyncedType(
            type: steps, anchor: HealthAnchor([1]), synced: 7, earliest: SyncHarness.time(-500))
        ], batches: batches, stamp: SyncHarness.time(stamp), owner: owner), running: [], missing: []
    )
  }

  /// Returns a sync with a restored queue and a server that reports an identity.
  ///
  /// The server does not answer if the identity is `nil`.
  private static func started(
    _ reported: SyncIdentity?, batches: [QueuedBatch] = []
  ) -> SyncHarness {
    var harness = SyncHarness()
    harness.identity = reported
    harness.give(stored(batches: batches))
    return harness
  }

  private static func identity(
    _ server: String = owner.server, _ user: String? = "ann", _ epoch: String? = "e1",
    stamp: Int64? = nil
  ) -> SyncIdentity {
    SyncIdentity(
      SyncOwner(server: server, user: user, epoch: epoch), stamp: stamp.map(SyncHarness.time))
  }

  @Test func `nothing is sent before the server has identified the owner of the progress`() {
    var harness = Self.started(nil, batches: [SyncHarness.batch("a")])
    #expect(harness.log.filter { $0 == .identify } == [.identify])
    #expect(harness.sent == [])
    #expect(harness.model.state == .working)
    #expect(harness.model.canWork)
    harness.give(.identified(Self.identity()))
    #expect(harness.sent == ["a"])
    #expect(harness.give(.identified(Self.identity("https://other.example"))) == [], "late")
    #expect(harness.give(.notIdentified(.reset)) == [], "late")
  }

  @Test func `a phone with nothing to send identifies the server before it reports completion`() {
    var harness = Self.started(nil)
    harness.fire()
    harness.pass(.seconds(1))
    harness.give(
      .fetched(
        harness.fetches[0],
        FetchedPage(drafts: [], anchor: HealthAnchor([1]), made: SyncHarness.time(1))))
    #expect(harness.model.state == .working)
    #expect(!harness.model.isComplete)
    harness.give(.identified(Self.identity()))
    #expect(harness.model.state == .done(quarantined: 0))
    #expect(harness.model.isComplete)
    #expect(harness.steps == [])
  }

  @Test func `the first server is stored before anything is sent to it`() throws {
    var harness = SyncHarness()
    harness.identity = nil
    // `SyncHarness.give` would set an owner for a queue without one.
    let stored = StoredSyncQueue(
      asked: [Self.steps], types: [], batches: [SyncHarness.batch("a")], stamp: SyncHarness.time(0))
    harness.log += harness.model.handle(
      .restored(stored, running: [], missing: []), at: harness.now)
    harness.give(.identified(Self.identity()))
    #expect(harness.steps == [[.own(Self.owner, again: false)]])
    #expect(harness.sent == [])
    let id = try #require(harness.model.commits.underWay.keys.first)
    harness.give(.notCommitted(id, .full(detail: "full")))
    harness.pass(.seconds(1))
    #expect(harness.log.count { $0 == .identify } == 2)
    harness.give(.identified(Self.identity()))
    harness.finishCommits()
    #expect(harness.sent == ["a"])
  }

  @Test(arguments: [
    identity("https://other.example"), identity(owner.server, "bob"),
    identity(owner.server, "ann", "e2"),
    identity("https://other.example", nil, nil), identity(stamp: 101),
  ])
  func `all samples are read again for another server, user or epoch, or a restored queue`(
    reported: SyncIdentity
  ) throws {
    var harness = Self.started(reported, batches: [SyncHarness.batch("a")])
    let owner = reported.owner
    #expect(harness.log.contains(.update(.notice(.readsAgain(owner)))))
    #expect(harness.steps == [[.own(owner, again: true)]])
    #expect(harness.sent == [], "not before it is stored")
    #expect(harness.model.queues.map(\.synced) == [0])
    harness.finishCommits()
    #expect(harness.sent == ["a"])
    #expect(harness.lastStart == .since(SyncHarness.time(-500), orLast: Self.month))
    let least = max(100, reported.stamp.map { $0.nanoseconds / 1_000_000_000 } ?? 0) + 1
    #expect(harness.lastStamp == SyncHarness.time(least), "after every stamp that was ever sent")
    try harness.read(1, anchor: 2)
    #expect(harness.model.queues.map(\.anchor) == [HealthAnchor([2])])
  }

  @Test(arguments: [
    identity(), identity(owner.server, nil, nil), identity(stamp: 100), identity(stamp: 3),
  ])
  func `nothing is read again for the same server or a server without an identity`(
    reported: SyncIdentity
  ) {
    let harness = Self.started(reported, batches: [SyncHarness.batch("a")])
    #expect(harness.steps == [])
    #expect(harness.sent == ["a"])
    #expect(harness.model.ownership.owner == Self.owner)
  }

  @Test func `all samples are read again after an answer with another epoch`() {
    var harness = Self.started(Self.identity(), batches: [SyncHarness.batch("a")])
    #expect(harness.give(.epoch("e1")) == [])
    harness.give(.epoch("e2"))
    var other = Self.owner
    other.epoch = "e2"
    #expect(harness.steps == [[.own(other, again: true)]])
    harness.accept("a")
    harness.give(.epoch("e2"))
    harness.finishCommits()
    #expect(harness.fetches.count == 1)
    #expect(harness.model.ownership.owner == other)
    #expect(harness.steps.count == 2, "once, and the accepted batch")
  }

  @Test func `a page fetched for the previous owner is dropped and read again for the next`() throws
  {
    var harness = Self.started(Self.identity())
    harness.fire()
    harness.pass(.seconds(1))
    #expect(harness.lastStart == .after(HealthAnchor([1])))
    harness.give(.epoch("e2"))
    #expect(harness.steps == [], "one reading of a type at a time")
    #expect(!harness.model.isComplete)
    try harness.page(1, anchor: 2)
    #expect(harness.deleted == ["f1"])
    #expect(harness.givenBack == [WakeID(1): [.later]])
    #expect(harness.steps.count == 1)
    #expect(harness.fetches.count == 1, "the owner is stored first")
    harness.finishCommits()
    #expect(harness.lastStart == .since(SyncHarness.time(-500), orLast: Self.month))
  }

  @Test func `repeated changes of the owner are followed with growing delays`() throws {
    var harness = Self.started(Self.identity())
    harness.give(.epoch("e2"))
    harness.finishCommits()
    for (wait, epoch) in [(1, "e3"), (2, "e4"), (4, "e5")] {
      let before = harness.model.ownership.owner
      harness.give(.epoch(epoch))
      if !harness.fetches.isEmpty { try harness.page(0, anchor: 1) }
      harness.pass(.seconds(wait) - .milliseconds(1))
      #expect(harness.model.ownership.owner == before)
      harness.pass(.milliseconds(1))
      #expect(harness.model.ownership.owner?.epoch == epoch)
      harness.finishCommits()
    }
  }

  @Test func `a page being stored when the epoch changes adds its batch but not its anchor`() throws
  {
    var harness = Self.started(Self.identity())
    harness.fire()
    harness.pass(.seconds(1))
    try harness.page(1, anchor: 2)
    let page = try #require(harness.model.commits.underWay.keys.first)
    harness.give(.epoch("e2"))
    #expect(harness.steps.count == 1)
    harness.give(.committed(page))
    #expect(harness.steps.count == 2)
    #expect(harness.model.queues.map(\.anchor) == [nil])
    #expect(harness.model.pending == 1, "its batch waits")
    harness.finishCommits()
    #expect(harness.fetches.count == 2)
    #expect(harness.lastStart == .since(SyncHarness.time(-500), orLast: Self.month))
  }

  @Test
  func `a new owner that cannot be stored is retried, and nothing is sent until it is stored`()
    throws
  {
    var harness = Self.started(
      Self.identity(Self.owner.server, "bob"), batches: [SyncHarness.batch("a")])
    for wait in [1, 2] {
      let id = try #require(harness.model.commits.underWay.keys.first)
      harness.give(.notCommitted(id, .full(detail: "full")))
      #expect(harness.model.commits.underWay.isEmpty)
      harness.pass(.seconds(wait) - .milliseconds(1))
      #expect(harness.model.commits.underWay.isEmpty)
      harness.pass(.milliseconds(1))
      #expect(harness.sent == [])
      #expect(harness.fetches.isEmpty)
    }
    harness.finishCommits()
    #expect(harness.sent == ["a"])
  }

  @Test func `the earliest sample is stored with its page, and an earlier one replaces it`() throws
  {
    var harness = SyncHarness.fetching()
    for (anchor, start, steps) in [(1, 50, true), (2, 60, false), (3, 40, true)]
      as [(UInt8, Int64, Bool)]
    {
      let draft = PayloadDraft(file: "f\(anchor)", records: 1, deletions: 0, bytes: 1)
      harness.give(
        .fetched(
          try #require(harness.fetches.last),
          FetchedPage(
            drafts: [draft], anchor: HealthAnchor([anchor]), made: SyncHarness.time(900),
            earliest: SyncHarness.time(start))))
      let step = SyncQueueStep.earliest(type: Self.steps, SyncHarness.time(start))
      #expect(harness.steps.last?.contains(step) == steps)
      harness.finishCommits()
    }
    #expect(harness.model.queues.map(\.earliest) == [SyncHarness.time(40)])
  }

  @Test func `the identity of a server that does not answer is requested again by the schedule`() {
    var harness = Self.started(nil, batches: [SyncHarness.batch("a")])
    for wait in [1, 2, 2] {
      let count = harness.log.count { $0 == .identify }
      harness.give(.notIdentified(.refused))
      harness.pass(.seconds(wait) - .milliseconds(1))
      #expect(harness.log.count { $0 == .identify } == count)
      harness.pass(.milliseconds(1))
      #expect(harness.log.count { $0 == .identify } == count + 1)
    }
    #expect(harness.sent == [])
    harness.give(.notIdentified(.refused))
    #expect(harness.model.state == .unreachable(.refused))
  }

  @Test func `a manual retry requests the server's identity again`() {
    var harness = Self.started(Self.identity())
    harness.identity = nil
    #expect(harness.give(.again) == [.identify])
    #expect(harness.give(.again) == [], "a request is in progress")
    harness.give(.identified(Self.identity(Self.owner.server, "ann", "e2")))
    #expect(harness.steps.count == 1)
    harness.finishCommits()
    #expect(harness.lastStart == .since(SyncHarness.time(-500), orLast: Self.month))
  }

  @Test func `a refused secret is read again, and the new secret may belong to another user`() {
    var harness = Self.started(nil)
    #expect(harness.give(.notIdentified(SyncHarness.http(401))) == [.requestSecret])
    harness.give(.secret(isNew: false))
    #expect(harness.model.state == .secretRefused)
    harness.pass(.seconds(60))
    let effects = harness.give(.secret(isNew: true))
    #expect(effects == [.update(.notice(.secretRenewed)), .identify])
    harness.give(.identified(Self.identity(Self.owner.server, "bob")))
    #expect(harness.steps == [[.own(Self.identity(Self.owner.server, "bob").owner, again: true)]])
  }

  @Test func `an identity received for a replaced secret is requested again`() {
    var harness = Self.started(nil, batches: [SyncHarness.batch("a")])
    harness.give(.uploaded("a", .failed(.reset), at: SyncHarness.time(5)))
    harness.model.gate.refuseSecret(since: harness.now, at: harness.now, &harness.log)
    harness.pass(.seconds(1))
    harness.give(.secret(isNew: true))
    let count = harness.log.count { $0 == .identify }
    harness.give(.identified(Self.identity()))
    #expect(harness.sent == [])
    #expect(harness.log.count { $0 == .identify } == count + 1)
  }

  @Test func `a successful status that reports an unstored batch delays only its own type`() {
    var harness = SyncHarness()
    harness.give(
      SyncHarness.waiting([SyncHarness.batch("a"), SyncHarness.batch("c", SyncHarness.heart, 2)]))
    harness.fail("a", SyncHarness.http(200))
    #expect(harness.states(of: "a").last == .retrying)
    harness.accept("c")
    harness.pass(.seconds(1))
    #expect(harness.sent == ["c", "a", "a"])
  }
}
