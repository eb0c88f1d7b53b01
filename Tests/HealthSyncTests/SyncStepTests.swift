import HoldfastCore
import HoldfastHealthSamples
import HoldfastSyncData
import HoldfastUploads
import Testing

@testable import HoldfastHealthSync

/// Tests of all effects of each input of a sync.
@Suite struct SyncStepTests {
  private static let steps = SyncHarness.steps
  private static let heart = SyncHarness.heart

  private static func report(
    _ batch: QueuedBatch, _ state: SyncBatchReport.State, _ reason: SyncBatchReport.Reason? = nil
  ) -> SyncModel.Effect {
    .update(
      .batch(
        SyncBatchReport(
          type: batch.type, file: batch.file, records: batch.records, deletions: batch.deletions,
          state: state, reason: reason)))
  }

  private static func type(
    _ type: String = steps, pending: Int = 0, quarantined: Int = 0, synced: Int = 0,
    anchor: HealthAnchor? = nil
  ) -> SyncModel.Effect {
    .update(
      .type(
        SyncTypeReport(
          type: type, pending: pending, quarantined: quarantined, synced: synced, anchor: anchor)))
  }

  private static func upload(_ files: String...) -> SyncModel.Effect {
    .upload(files.map { FileUpload(file: $0, type: steps, bytes: 100) })
  }

  private static func notices(_ effects: [SyncModel.Effect]) -> [SyncNotice] {
    effects.compactMap { if case .update(.notice(let notice)) = $0 { notice } else { nil } }
  }

  // The stored queue.

  @Test func `a start reports stored types, quarantines batches without files and sends the rest`()
  {
    let (lost, waits) = (
      SyncHarness.batch("a", Self.steps, 1), SyncHarness.batch("b", Self.steps, 2)
    )
    var harness = SyncHarness()
    let stored = StoredSyncQueue(
      asked: [Self.heart, Self.steps],
      types: [SyncedType(type: Self.heart, anchor: HealthAnchor([1]), synced: 7)],
      batches: [lost, waits], stamp: SyncHarness.time(3))
    var quarantined = lost
    quarantined.quarantined = "its file is missing; reset the type to read its last 30 days again"
    let reason = quarantined.quarantined ?? ""
    #expect(
      harness.give(.restored(stored, running: [], missing: ["a", "unknown"])) == [
        Self.report(quarantined, .quarantined, .text(reason)),
        .commit(SyncCommitID(1), [.quarantine(file: "a", reason: reason)]),
        .observe([Self.heart, Self.steps]),
        Self.type(Self.heart, synced: 7, anchor: HealthAnchor([1])),
        Self.type(pending: 1, quarantined: 1),
        Self.report(waits, .sending), Self.upload("b"),
      ])
    #expect(
      harness.give(.restored(stored, running: [], missing: [])) == [], "it is restored already")
  }

  @Test func `a running upload is adopted unless its batch is quarantined`() {
    var quarantined = SyncHarness.batch("b", Self.steps, 2)
    quarantined.quarantined = "400"
    let batches = [SyncHarness.batch("a", Self.steps, 1), quarantined]
    var harness = SyncHarness()
    harness.give(
      .restored(
        StoredSyncQueue(asked: [], types: [], batches: batches, stamp: SyncHarness.time(0)),
        running: ["a", "b"], missing: []))
    #expect(harness.model.sending == ["a"])
    #expect(harness.sent == [])
    #expect((harness.model.pending, harness.model.quarantined) == (1, 1))
  }

  @Test func `requests and callouts have no effect before the queue is read`() {
    var harness = SyncHarness()
    #expect(harness.give(.ask([Self.steps])) == [])
    #expect(
      harness.give(.fired([Self.steps], WakeID(1), budget: .seconds(9)))
        == [.giveBack(WakeID(1), .later)])
    #expect(harness.model.deadline == nil)
    #expect(harness.model.state == .working)
    #expect(!harness.model.canWork)
    #expect(harness.give(.stop) == [])
    #expect(harness.model.isStopped)
    #expect(harness.give(.restored(StoredSyncQueue(), running: [], missing: [])) == [])
  }

  @Test func `requested types are stored and observed`() {
    var harness = SyncHarness()
    harness.give(.restored(StoredSyncQueue(), running: [], missing: []))
    #expect(
      harness.give(.ask([Self.heart])) == [
        .commit(SyncCommitID(1), [.ask([Self.heart])]), .observe([Self.heart]),
      ])
    #expect(harness.give(.ask([])) == [.commit(SyncCommitID(2), [.ask([])])])
    #expect(
      harness.give(.fired([Self.heart], WakeID(1), budget: .seconds(9)))
        == [.giveBack(WakeID(1), .done)], "it is asked for no more")
  }

  // Readings.

  @Test func `a callout leads to a fetch, a transaction and an upload`() throws {
    var harness = SyncHarness.asked()
    #expect(harness.give(.fired([Self.steps], WakeID(1), budget: .seconds(9))) == [])
    #expect(harness.model.deadline == harness.now.advanced(by: .milliseconds(50)))
    #expect(harness.pass(.milliseconds(49)) == [])
    let first = try #require(harness.pass(.milliseconds(1)).first)
    let id = try #require(harness.fetches.last)
    #expect(
      first
        == .fetch(
          id, Self.steps, .last(.seconds(2_592_000)), limit: 2_000,
          notBefore: Timestamp(nanoseconds: .min)))
    let draft = PayloadDraft(file: "f", records: 3, deletions: 1, bytes: 100)
    let batch = draft.queued(Self.steps, at: QueuedBatch.distance)
    let page = FetchedPage(drafts: [draft], anchor: HealthAnchor([1]), made: SyncHarness.time(9))
    let commit = SyncCommitID(id.number + 1)
    #expect(
      harness.give(.fetched(id, page)) == [
        .commit(
          commit,
          [
            .add(batch), .anchor(type: Self.steps, HealthAnchor([1])), .stamp(SyncHarness.time(9)),
          ])
      ])
    let next = SyncFetchID(commit.number + 1)
    #expect(
      harness.give(.committed(commit)) == [
        Self.report(batch, .queued), Self.type(pending: 1, anchor: HealthAnchor([1])),
        .fetch(
          next, Self.steps, .after(HealthAnchor([1])), limit: 2_000,
          notBefore: SyncHarness.time(10)),
        Self.report(batch, .sending), Self.upload("f"),
      ])
    #expect(harness.give(.committed(commit)) == [], "reported twice")
    let end = FetchedPage(drafts: [], anchor: HealthAnchor([1]), made: SyncHarness.time(11))
    #expect(harness.give(.fetched(next, end)) == [.giveBack(WakeID(1), .done)])
    #expect(harness.give(.fetched(next, page)) == [.delete(["f"])], "late")
    #expect(harness.model.numbers.stamp == SyncHarness.time(9), "an empty page is not sent")
  }

  @Test func `a page without samples moves the anchor, and stamps nothing`() throws {
    var harness = SyncHarness.fetching()
    let id = try #require(harness.fetches.last)
    let page = FetchedPage(drafts: [], anchor: HealthAnchor([2]), made: SyncHarness.time(9))
    let effects = harness.give(.fetched(id, page))
    let least = Timestamp(nanoseconds: .min)
    #expect(
      effects == [
        .commit(
          SyncCommitID(id.number + 1),
          [.anchor(type: Self.steps, HealthAnchor([2])), .stamp(least)])
      ])
    harness.finishCommits()
    #expect(harness.lastStamp == least)
  }

  @Test func `a page being stored during a stop is stored, and no further page is read`() throws {
    var harness = SyncHarness.fetching()
    try harness.page(1, anchor: 1)
    harness.give(.stop)
    #expect(!harness.model.isStopped)
    harness.finishCommits()
    #expect(harness.fetches.count == 1)
    #expect(harness.model.isStopped)
  }

  @Test func `a stop ends after 2 s, whatever the store does`() throws {
    var harness = SyncHarness.fetching()
    try harness.page(1, anchor: 1)
    #expect(harness.give(.stop) == [.giveBack(WakeID(1), .later)])
    #expect(harness.give(.stop) == [])
    harness.pass(.milliseconds(1_999))
    #expect(!harness.model.isStopped)
    harness.pass(.milliseconds(1))
    #expect(harness.model.isStopped)
    #expect(harness.model.deadline == nil)
  }

  @Test func `a source that fails is read again after 1, 2, 4 and up to 60 s`() throws {
    var harness = SyncHarness.fetching()
    for wait in [1, 2, 4, 8, 16, 32, 60, 60] {
      let id = try #require(harness.fetches.last)
      let count = harness.fetches.count
      let effects = harness.give(.notFetched(id, .locked(detail: "locked")))
      #expect(
        Self.notices(effects) == [.source(type: Self.steps, .locked(detail: "locked"))])
      #expect(harness.give(.notFetched(id, .locked(detail: "locked"))) == [], "reported twice")
      harness.pass(.seconds(wait) - .milliseconds(1))
      #expect(harness.fetches.count == count)
      harness.pass(.milliseconds(1))
      #expect(harness.fetches.count == count + 1)
    }
    try harness.read(1, anchor: 1)
    harness.fire(wake: 2)
    harness.pass(.seconds(1))
    harness.give(.notFetched(try #require(harness.fetches.last), .locked(detail: "locked")))
    let count = harness.fetches.count
    harness.pass(.seconds(1))
    #expect(harness.fetches.count == count + 1, "the waits start over after a success")
  }

  @Test func `payloads that cannot be written are reported as a store failure`() throws {
    var harness = SyncHarness.fetching()
    for count in 1...4 {
      #expect(harness.model.state == .working, "\(count)")
      let id = try #require(harness.fetches.last)
      let effects = harness.give(.notWritten(id, .full(detail: "full")))
      #expect(Self.notices(effects) == [.store(.full(detail: "full"))])
      harness.pass(.seconds(60))
    }
    #expect(harness.model.state == .unwritable(.full(detail: "full")))
  }

  @Test func `a second callout with the same ID is returned at once`() {
    var harness = SyncHarness.asked()
    harness.fire()
    #expect(
      harness.give(.fired([Self.steps], WakeID(1), budget: .seconds(9)))
        == [.giveBack(WakeID(1), .later)])
    #expect(
      harness.give(.fired(["unknown"], WakeID(2), budget: .seconds(9)))
        == [.giveBack(WakeID(2), .done)])
  }

  // The store.

  @Test func `four failed transactions in a row set the unwritable state until one succeeds`()
    throws
  {
    var harness = SyncHarness()
    harness.give(SyncHarness.waiting([SyncHarness.batch("a")]))
    harness.accept("a")
    for wait in [1, 2, 4] {
      let id = try #require(harness.model.commits.underWay.keys.first)
      let effects = harness.give(.notCommitted(id, .full(detail: "full")))
      #expect(effects == [.update(.notice(.store(.full(detail: "full"))))])
      #expect(harness.give(.notCommitted(id, .full(detail: "full"))) == [], "reported twice")
      #expect(harness.model.state == .working)
      #expect(harness.model.canWork)
      #expect(harness.pass(.seconds(wait) - .milliseconds(1)) == [])
      #expect(harness.pass(.milliseconds(1)).count == 1)
    }
    harness.give(
      .notCommitted(try #require(harness.model.commits.underWay.keys.first), .full(detail: "full")))
    #expect(harness.model.state == .unwritable(.full(detail: "full")))
    #expect(harness.give(.again).count == 1, "it is tried at once")
    let id = try #require(harness.model.commits.underWay.keys.first)
    var accepted = SyncHarness.batch("a")
    accepted.quarantined = nil
    #expect(
      harness.give(.committed(id)) == [
        Self.report(accepted, .accepted), .delete(["a"]), Self.type(synced: 10), .refresh,
      ])
    #expect(harness.model.state == .working)
    harness.give(.refreshed(nil))
    #expect(harness.model.state == .done(quarantined: 0))
    #expect(harness.model.isComplete)
    #expect(!harness.model.canWork)
  }

  @Test func `a store failure for requested types is reported`() throws {
    var harness = SyncHarness()
    harness.give(.restored(StoredSyncQueue(), running: [], missing: []))
    harness.give(.ask([Self.steps]))
    #expect(
      harness.give(.notCommitted(SyncCommitID(1), .locked(detail: "busy")))
        == [.update(.notice(.store(.locked(detail: "busy"))))])
  }

  // The server.

  @Test func `an unreachable server is reported once for each retry schedule`() {
    var harness = SyncHarness()
    harness.give(SyncHarness.waiting([SyncHarness.batch("a")]))
    var notices: [[SyncNotice]] = []
    for _ in 0..<5 {
      let effects = harness.give(.uploaded("a", .failed(.refused), at: SyncHarness.time(5)))
      notices.append(Self.notices(effects))
      harness.pass(.seconds(2))
    }
    #expect(notices == [[], [], [.unreachable(.refused)], [], []])
    #expect(harness.model.state == .working, "one try is under way")
    harness.fail("a", .refused)
    #expect(harness.model.state == .unreachable(.refused))
    harness.pass(.seconds(2))
    harness.accept("a")
    #expect(harness.model.state == .working)
  }

  @Test func `a batch that the server cannot handle is reported once for each retry schedule`() {
    var harness = SyncHarness()
    harness.give(
      SyncHarness.waiting([SyncHarness.batch("a"), SyncHarness.batch("c", Self.heart, 2)]))
    harness.accept("c")
    harness.finishCommits()
    var notices: [[SyncNotice]] = []
    let failure = SyncHarness.http(500)
    for _ in 0..<5 {
      let effects = harness.give(.uploaded("a", .failed(failure), at: SyncHarness.time(5)))
      #expect(harness.states(of: "a").last == .retrying)
      notices.append(Self.notices(effects))
      harness.pass(.seconds(8))
    }
    #expect(notices == [[], [], [.unreachable(failure)], [], []])
    #expect(harness.model.state == .unreachable(failure))
    harness.give(.again)
    #expect(harness.model.state == .working)
  }

  @Test func `a refused secret and its renewal are each reported once`() {
    var harness = SyncHarness()
    harness.give(SyncHarness.waiting([SyncHarness.batch("a")]))
    let refused = harness.give(
      .uploaded("a", .failed(SyncHarness.http(401)), at: SyncHarness.time(5)))
    #expect(
      refused == [
        Self.report(SyncHarness.batch("a"), .retrying, .failure(SyncHarness.http(401))),
        .requestSecret,
      ])
    #expect(harness.give(.secret(isNew: false)) == [.update(.notice(.secretRefused))])
    #expect(harness.give(.secret(isNew: false)) == [], "late")
    harness.pass(.seconds(60))
    #expect(harness.give(.secret(isNew: false)) == [])
    harness.pass(.seconds(60))
    #expect(
      harness.give(.secret(isNew: true)) == [
        .update(.notice(.secretRenewed)), Self.report(SyncHarness.batch("a"), .sending),
        Self.upload("a"),
      ])
    #expect(harness.give(.secret(isNew: true)) == [], "late")
  }

  @Test func `a secret that is not read within the policy's time-out counts as refused`() {
    var harness = SyncHarness()
    harness.give(SyncHarness.waiting([SyncHarness.batch("a")]))
    harness.fail("a", SyncHarness.http(401))
    let effects = harness.pass(SyncHarness.plain.gate.refreshTimeout)
    #expect(Self.notices(effects) == [.secretRefused])
    #expect(harness.model.state == .secretRefused)
  }

  @Test func `a failed refresh request is reported once`() {
    var harness = SyncHarness()
    harness.give(SyncHarness.waiting([SyncHarness.batch("a")]))
    #expect(harness.give(.refreshed(.refused)) == [], "it was not asked")
    harness.accept("a")
    harness.finishCommits()
    #expect(
      harness.give(.refreshed(.refused)) == [.update(.notice(.notRefreshed(.refused)))])
    #expect(harness.give(.refreshed(.refused)) == [], "reported twice")
  }

  @Test func `late answers of uploads change nothing`() {
    var harness = SyncHarness()
    harness.give(
      SyncHarness.waiting([SyncHarness.batch("a"), SyncHarness.batch("b", Self.steps, 2)]))
    #expect(harness.give(.uploaded("unknown", .accepted, at: SyncHarness.time(5))) == [])
    #expect(
      harness.give(.uploaded("b", .failed(.reset), at: SyncHarness.time(5))) == [], "it waits")
    #expect(
      harness.give(.uploaded("b", .unreadable(detail: "no"), at: SyncHarness.time(5))) == [])
    harness.accept("a")
    #expect(harness.give(.uploaded("a", .accepted, at: SyncHarness.time(5))) == [])
    #expect(harness.give(.uploaded("a", .failed(.reset), at: SyncHarness.time(5))) == [])
    harness.fail("b", SyncHarness.http(413))
    #expect(harness.give(.uploaded("b", .accepted, at: SyncHarness.time(5))) == [])
  }

  @Test func `an answer to an earlier upload counts for a waiting batch`() {
    var harness = SyncHarness()
    harness.give(
      SyncHarness.waiting([SyncHarness.batch("a"), SyncHarness.batch("b", Self.steps, 2)]))
    let effects = harness.give(.uploaded("b", .accepted, at: SyncHarness.time(5)))
    #expect(effects == [.commit(SyncCommitID(1), [.accept(file: "b", at: SyncHarness.time(5))])])
  }
}
