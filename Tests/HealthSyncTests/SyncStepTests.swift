import LinkCore
import LinkHealth
import LinkStorage
import LinkWire
import Testing

@testable import HealthSync

/// All effects of each input of a sync.
@Suite struct SyncStepTests {
  private static let steps = SyncBench.steps
  private static let heart = SyncBench.heart

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
    let (lost, waits) = (SyncBench.batch("a", Self.steps, 1), SyncBench.batch("b", Self.steps, 2))
    var bench = SyncBench()
    let kept = StoredSyncQueue(
      asked: [Self.heart, Self.steps],
      types: [SyncedType(type: Self.heart, anchor: HealthAnchor([1]), synced: 7)],
      batches: [lost, waits], stamp: SyncBench.time(3))
    var quarantined = lost
    quarantined.quarantined = "its file is missing; reset the type to read its last 30 days again"
    let words = quarantined.quarantined ?? ""
    #expect(
      bench.give(.restored(kept, running: [], missing: ["a", "unknown"])) == [
        Self.report(quarantined, .quarantined, .words(words)),
        .commit(SyncCommitID(1), [.quarantine(file: "a", reason: words)]),
        .observe([Self.heart, Self.steps]),
        Self.type(Self.heart, synced: 7, anchor: HealthAnchor([1])),
        Self.type(pending: 1, quarantined: 1),
        Self.report(waits, .sending), Self.upload("b"),
      ])
    #expect(bench.give(.restored(kept, running: [], missing: [])) == [], "it is restored already")
  }

  @Test func `a running upload is adopted unless its batch is quarantined`() {
    var quarantined = SyncBench.batch("b", Self.steps, 2)
    quarantined.quarantined = "400"
    let batches = [SyncBench.batch("a", Self.steps, 1), quarantined]
    var bench = SyncBench()
    bench.give(
      .restored(
        StoredSyncQueue(asked: [], types: [], batches: batches, stamp: SyncBench.time(0)),
        running: ["a", "b"], missing: []))
    #expect(bench.model.sending == ["a"])
    #expect(bench.sent == [])
    #expect((bench.model.pending, bench.model.quarantined) == (1, 1))
  }

  @Test func `requests and callouts have no effect before the queue is read`() {
    var bench = SyncBench()
    #expect(bench.give(.ask([Self.steps])) == [])
    #expect(
      bench.give(.fired([Self.steps], WakeID(1), budget: .seconds(9)))
        == [.giveBack(WakeID(1), .later)])
    #expect(bench.model.deadline == nil)
    #expect(bench.model.standing == .working)
    #expect(!bench.model.canWork)
    #expect(bench.give(.stop) == [])
    #expect(bench.model.isStopped)
    #expect(bench.give(.restored(StoredSyncQueue(), running: [], missing: [])) == [])
  }

  @Test func `requested types are stored and observed`() {
    var bench = SyncBench()
    bench.give(.restored(StoredSyncQueue(), running: [], missing: []))
    #expect(
      bench.give(.ask([Self.heart])) == [
        .commit(SyncCommitID(1), [.ask([Self.heart])]), .observe([Self.heart]),
      ])
    #expect(bench.give(.ask([])) == [.commit(SyncCommitID(2), [.ask([])])])
    #expect(
      bench.give(.fired([Self.heart], WakeID(1), budget: .seconds(9)))
        == [.giveBack(WakeID(1), .done)], "it is asked for no more")
  }

  // Readings.

  @Test func `a callout leads to a fetch, a transaction and an upload`() throws {
    var bench = SyncBench.asked()
    #expect(bench.give(.fired([Self.steps], WakeID(1), budget: .seconds(9))) == [])
    #expect(bench.model.deadline == bench.now.advanced(by: .milliseconds(50)))
    #expect(bench.pass(.milliseconds(49)) == [])
    let first = try #require(bench.pass(.milliseconds(1)).first)
    let id = try #require(bench.fetches.last)
    #expect(
      first
        == .fetch(
          id, Self.steps, .last(.seconds(2_592_000)), limit: 2_000,
          notBefore: Timestamp(nanoseconds: .min)))
    let draft = PayloadDraft(file: "f", records: 3, deletions: 1, bytes: 100)
    let batch = draft.queued(Self.steps, at: QueuedBatch.distance)
    let page = FetchedPage(drafts: [draft], anchor: HealthAnchor([1]), made: SyncBench.time(9))
    let commit = SyncCommitID(id.number + 1)
    #expect(
      bench.give(.fetched(id, page)) == [
        .commit(
          commit,
          [
            .add(batch), .anchor(type: Self.steps, HealthAnchor([1])), .stamp(SyncBench.time(9)),
          ])
      ])
    let next = SyncFetchID(commit.number + 1)
    #expect(
      bench.give(.committed(commit)) == [
        Self.report(batch, .queued), Self.type(pending: 1, anchor: HealthAnchor([1])),
        .fetch(
          next, Self.steps, .after(HealthAnchor([1])), limit: 2_000,
          notBefore: SyncBench.time(10)),
        Self.report(batch, .sending), Self.upload("f"),
      ])
    #expect(bench.give(.committed(commit)) == [], "told twice")
    let end = FetchedPage(drafts: [], anchor: HealthAnchor([1]), made: SyncBench.time(11))
    #expect(bench.give(.fetched(next, end)) == [.giveBack(WakeID(1), .done)])
    #expect(bench.give(.fetched(next, page)) == [.delete(["f"])], "late")
    #expect(bench.model.numbers.stamp == SyncBench.time(9), "an empty page is not sent")
  }

  @Test func `a page without samples moves the anchor, and stamps nothing`() throws {
    var bench = SyncBench.fetching()
    let id = try #require(bench.fetches.last)
    let page = FetchedPage(drafts: [], anchor: HealthAnchor([2]), made: SyncBench.time(9))
    let effects = bench.give(.fetched(id, page))
    let least = Timestamp(nanoseconds: .min)
    #expect(
      effects == [
        .commit(
          SyncCommitID(id.number + 1),
          [.anchor(type: Self.steps, HealthAnchor([2])), .stamp(least)])
      ])
    bench.finishCommits()
    #expect(bench.lastStamp == least)
  }

  @Test func `a page being stored during a stop is stored, and no further page is read`() throws {
    var bench = SyncBench.fetching()
    try bench.page(1, anchor: 1)
    bench.give(.stop)
    #expect(!bench.model.isStopped)
    bench.finishCommits()
    #expect(bench.fetches.count == 1)
    #expect(bench.model.isStopped)
  }

  @Test func `a stop ends after 2 s, whatever the store does`() throws {
    var bench = SyncBench.fetching()
    try bench.page(1, anchor: 1)
    #expect(bench.give(.stop) == [.giveBack(WakeID(1), .later)])
    #expect(bench.give(.stop) == [])
    bench.pass(.milliseconds(1_999))
    #expect(!bench.model.isStopped)
    bench.pass(.milliseconds(1))
    #expect(bench.model.isStopped)
    #expect(bench.model.deadline == nil)
  }

  @Test func `a source that fails is read again after 1, 2, 4 and up to 60 s`() throws {
    var bench = SyncBench.fetching()
    for wait in [1, 2, 4, 8, 16, 32, 60, 60] {
      let id = try #require(bench.fetches.last)
      let count = bench.fetches.count
      let effects = bench.give(.notFetched(id, .locked(detail: "locked")))
      #expect(
        Self.notices(effects) == [.source(type: Self.steps, .locked(detail: "locked"))])
      #expect(bench.give(.notFetched(id, .locked(detail: "locked"))) == [], "told twice")
      bench.pass(.seconds(wait) - .milliseconds(1))
      #expect(bench.fetches.count == count)
      bench.pass(.milliseconds(1))
      #expect(bench.fetches.count == count + 1)
    }
    try bench.read(1, anchor: 1)
    bench.fire(wake: 2)
    bench.pass(.seconds(1))
    bench.give(.notFetched(try #require(bench.fetches.last), .locked(detail: "locked")))
    let count = bench.fetches.count
    bench.pass(.seconds(1))
    #expect(bench.fetches.count == count + 1, "the waits begin anew after a success")
  }

  @Test func `payloads that cannot be written are reported as a store failure`() throws {
    var bench = SyncBench.fetching()
    for count in 1...4 {
      #expect(bench.model.standing == .working, "\(count)")
      let id = try #require(bench.fetches.last)
      let effects = bench.give(.notWritten(id, .full(detail: "full")))
      #expect(Self.notices(effects) == [.store(.full(detail: "full"))])
      bench.pass(.seconds(60))
    }
    #expect(bench.model.standing == .unwritable(.full(detail: "full")))
  }

  @Test func `a second callout with the same ID is returned at once`() {
    var bench = SyncBench.asked()
    bench.fire()
    #expect(
      bench.give(.fired([Self.steps], WakeID(1), budget: .seconds(9)))
        == [.giveBack(WakeID(1), .later)])
    #expect(
      bench.give(.fired(["unknown"], WakeID(2), budget: .seconds(9)))
        == [.giveBack(WakeID(2), .done)])
  }

  // The store.

  @Test func `four failed transactions in a row set the unwritable state until one succeeds`()
    throws
  {
    var bench = SyncBench()
    bench.give(SyncBench.waiting([SyncBench.batch("a")]))
    bench.accept("a")
    for wait in [1, 2, 4] {
      let id = try #require(bench.model.commits.underWay.keys.first)
      let effects = bench.give(.notCommitted(id, .full(detail: "full")))
      #expect(effects == [.update(.notice(.store(.full(detail: "full"))))])
      #expect(bench.give(.notCommitted(id, .full(detail: "full"))) == [], "told twice")
      #expect(bench.model.standing == .working)
      #expect(bench.model.canWork)
      #expect(bench.pass(.seconds(wait) - .milliseconds(1)) == [])
      #expect(bench.pass(.milliseconds(1)).count == 1)
    }
    bench.give(
      .notCommitted(try #require(bench.model.commits.underWay.keys.first), .full(detail: "full")))
    #expect(bench.model.standing == .unwritable(.full(detail: "full")))
    #expect(bench.give(.again).count == 1, "it is tried at once")
    let id = try #require(bench.model.commits.underWay.keys.first)
    var accepted = SyncBench.batch("a")
    accepted.quarantined = nil
    #expect(
      bench.give(.committed(id)) == [
        Self.report(accepted, .accepted), .delete(["a"]), Self.type(synced: 10), .refresh,
      ])
    #expect(bench.model.standing == .working)
    bench.give(.refreshed(nil))
    #expect(bench.model.standing == .done(quarantined: 0))
    #expect(bench.model.isComplete)
    #expect(!bench.model.canWork)
  }

  @Test func `a store failure for requested types is reported`() throws {
    var bench = SyncBench()
    bench.give(.restored(StoredSyncQueue(), running: [], missing: []))
    bench.give(.ask([Self.steps]))
    #expect(
      bench.give(.notCommitted(SyncCommitID(1), .locked(detail: "busy")))
        == [.update(.notice(.store(.locked(detail: "busy"))))])
  }

  // The server.

  @Test func `an unreachable server is reported once for each retry schedule`() {
    var bench = SyncBench()
    bench.give(SyncBench.waiting([SyncBench.batch("a")]))
    var told: [[SyncNotice]] = []
    for _ in 0..<5 {
      let effects = bench.give(.uploaded("a", .failed(.refused), at: SyncBench.time(5)))
      told.append(Self.notices(effects))
      bench.pass(.seconds(2))
    }
    #expect(told == [[], [], [.unreachable(.refused)], [], []])
    #expect(bench.model.standing == .working, "one try is under way")
    bench.fail("a", .refused)
    #expect(bench.model.standing == .unreachable(.refused))
    bench.pass(.seconds(2))
    bench.accept("a")
    #expect(bench.model.standing == .working)
  }

  @Test func `a batch that the server cannot handle is reported once for each retry schedule`() {
    var bench = SyncBench()
    bench.give(
      SyncBench.waiting([SyncBench.batch("a"), SyncBench.batch("c", Self.heart, 2)]))
    bench.accept("c")
    bench.finishCommits()
    var told: [[SyncNotice]] = []
    let failure = SyncBench.http(500)
    for _ in 0..<5 {
      let effects = bench.give(.uploaded("a", .failed(failure), at: SyncBench.time(5)))
      #expect(bench.states(of: "a").last == .retrying)
      told.append(Self.notices(effects))
      bench.pass(.seconds(8))
    }
    #expect(told == [[], [], [.unreachable(failure)], [], []])
    #expect(bench.model.standing == .unreachable(failure))
    bench.give(.again)
    #expect(bench.model.standing == .working)
  }

  @Test func `a refused secret and its renewal are each reported once`() {
    var bench = SyncBench()
    bench.give(SyncBench.waiting([SyncBench.batch("a")]))
    let refused = bench.give(.uploaded("a", .failed(SyncBench.http(401)), at: SyncBench.time(5)))
    #expect(
      refused == [
        Self.report(SyncBench.batch("a"), .retrying, .failure(SyncBench.http(401))), .askSecret,
      ])
    #expect(bench.give(.secret(isNew: false)) == [.update(.notice(.secretRefused))])
    #expect(bench.give(.secret(isNew: false)) == [], "late")
    bench.pass(.seconds(60))
    #expect(bench.give(.secret(isNew: false)) == [])
    bench.pass(.seconds(60))
    #expect(
      bench.give(.secret(isNew: true)) == [
        .update(.notice(.secretRenewed)), Self.report(SyncBench.batch("a"), .sending),
        Self.upload("a"),
      ])
    #expect(bench.give(.secret(isNew: true)) == [], "late")
  }

  @Test func `a secret that is not read within the policy's time-out counts as refused`() {
    var bench = SyncBench()
    bench.give(SyncBench.waiting([SyncBench.batch("a")]))
    bench.fail("a", SyncBench.http(401))
    let effects = bench.pass(SyncBench.plain.gate.refreshTimeout)
    #expect(Self.notices(effects) == [.secretRefused])
    #expect(bench.model.standing == .secretRefused)
  }

  @Test func `a failed refresh request is reported once`() {
    var bench = SyncBench()
    bench.give(SyncBench.waiting([SyncBench.batch("a")]))
    #expect(bench.give(.refreshed(.refused)) == [], "it was not asked")
    bench.accept("a")
    bench.finishCommits()
    #expect(
      bench.give(.refreshed(.refused)) == [.update(.notice(.notRefreshed(.refused)))])
    #expect(bench.give(.refreshed(.refused)) == [], "told twice")
  }

  @Test func `late answers of uploads change nothing`() {
    var bench = SyncBench()
    bench.give(
      SyncBench.waiting([SyncBench.batch("a"), SyncBench.batch("b", Self.steps, 2)]))
    #expect(bench.give(.uploaded("unknown", .accepted, at: SyncBench.time(5))) == [])
    #expect(
      bench.give(.uploaded("b", .failed(.reset), at: SyncBench.time(5))) == [], "it waits")
    #expect(
      bench.give(.uploaded("b", .unreadable(detail: "no"), at: SyncBench.time(5))) == [])
    bench.accept("a")
    #expect(bench.give(.uploaded("a", .accepted, at: SyncBench.time(5))) == [])
    #expect(bench.give(.uploaded("a", .failed(.reset), at: SyncBench.time(5))) == [])
    bench.fail("b", SyncBench.http(413))
    #expect(bench.give(.uploaded("b", .accepted, at: SyncBench.time(5))) == [])
  }

  @Test func `an answer to an earlier upload counts for a waiting batch`() {
    var bench = SyncBench()
    bench.give(
      SyncBench.waiting([SyncBench.batch("a"), SyncBench.batch("b", Self.steps, 2)]))
    let effects = bench.give(.uploaded("b", .accepted, at: SyncBench.time(5)))
    #expect(effects == [.commit(SyncCommitID(1), [.accept(file: "b", at: SyncBench.time(5))])])
  }
}
