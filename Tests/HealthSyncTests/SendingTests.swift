import LinkCore
import LinkHealth
import LinkStorage
import LinkWire
import Testing

@testable import HealthSync

/// The order in which batches are sent, and the reactions to answers.
@Suite struct SendingTests {
  private static let steps = SyncBench.steps
  private static let heart = SyncBench.heart

  /// Returns a sync that restored some batches at its start.
  private static func started(_ batches: [QueuedBatch]) -> SyncBench {
    var bench = SyncBench()
    bench.give(SyncBench.waiting(batches))
    return bench
  }

  private static let three = [
    SyncBench.batch("a", steps, 1), SyncBench.batch("b", steps, 2), SyncBench.batch("c", heart, 3),
  ]

  @Test func `a start sends the pending batches at once, each type in order`() {
    var bench = Self.started(Self.three)
    #expect(bench.sent == ["c", "a"])
    bench.accept("a")
    #expect(bench.sent == ["c", "a", "b"])
  }

  @Test func `a depth of 10 hands all pending batches to the system in one effect, in order`() {
    var bench = SyncBench(SyncSettings(policy: SyncBench.plain, depth: 10))
    bench.give(SyncBench.waiting(Self.three))
    #expect(bench.sent == ["c", "a", "b"])
    let uploads = bench.log.count { if case .upload = $0 { true } else { false } }
    #expect(uploads == 1)
  }

  @Test func `running uploads are not started again`() {
    var bench = SyncBench()
    bench.give(
      .restored(
        StoredSyncQueue(asked: [], types: [], batches: Self.three, stamp: SyncBench.time(0)),
        running: ["a"], missing: []))
    #expect(bench.sent == ["c"])
    bench.accept("a")
    #expect(bench.sent == ["c", "b"])
  }

  @Test func `a file is deleted once its acceptance by the server is stored`() throws {
    var bench = Self.started([SyncBench.batch("a")])
    bench.accept("a")
    #expect(bench.steps == [[.accept(file: "a", at: SyncBench.time(5))]])
    #expect(bench.deleted == [])
    bench.finishCommits()
    #expect(bench.deleted == ["a"])
    #expect(bench.states(of: "a") == [.sending, .accepted])
    #expect(bench.model.queues[0].synced == 10)
    bench.pass(.seconds(100_000))
    #expect(bench.sent == ["a"])
  }

  @Test func `an accepted batch is not sent again if storing its acceptance fails`() throws {
    var bench = Self.started([SyncBench.batch("a"), SyncBench.batch("b", Self.heart)])
    bench.accept("a")
    let id = try #require(bench.model.commits.underWay.keys.first)
    bench.give(.notCommitted(id, .full(detail: "full")))
    bench.accept("b")
    bench.pass(.milliseconds(999))
    #expect(bench.steps.count == 1)
    bench.pass(.milliseconds(1))
    #expect(
      bench.steps.last == [
        .accept(file: "a", at: SyncBench.time(5)), .accept(file: "b", at: SyncBench.time(5)),
      ])
    bench.finishCommits()
    #expect(bench.sent == ["b", "a"])
    #expect(bench.deleted.sorted() == ["a", "b"])
  }

  static let passing: [LinkFailure] = [
    .refused, .reset, .ended, .timeout(.response), .dns(detail: ""), .captivePortal,
    .protocolError(detail: ""), .local(detail: ""), .tls(.expired, detail: ""),
    SyncBench.http(408), SyncBench.http(425), SyncBench.http(429), SyncBench.http(500),
    SyncBench.http(502), SyncBench.http(503), SyncBench.http(507), SyncBench.http(302),
  ]

  @Test(arguments: passing)
  func `cuts, 429 and 5xx never quarantine a batch and are retried by the schedule`(
    failure: LinkFailure
  ) {
    var bench = Self.started([SyncBench.batch("a")])
    for (count, wait) in [1, 2, 2, 2].enumerated() {
      #expect(bench.sent.count == count + 1)
      bench.fail("a", failure)
      #expect(bench.states(of: "a").last == .retrying)
      // The schedule has two waits.
      #expect(bench.model.standing == (count < 2 ? .working : .unreachable(failure)))
      bench.pass(.seconds(wait) - .milliseconds(1))
      #expect(bench.sent.count == count + 1)
      bench.pass(.milliseconds(1))
    }
    bench.accept("a")
    bench.finishCommits()
    #expect(bench.model.queues[0].batches == [])
  }

  @Test func `after a success the second retry schedule applies`() {
    var bench = Self.started(Array(Self.three.prefix(2)))
    bench.accept("a")
    bench.fail("b", .reset)
    bench.pass(.milliseconds(3_999))
    #expect(bench.sent == ["a", "b"])
    bench.pass(.milliseconds(1))
    #expect(bench.sent == ["a", "b", "b"])
  }

  @Test(arguments: [429, 503])
  func `all types honor Retry-After`(status: Int) {
    var bench = Self.started(Self.three)
    bench.fail("a", SyncBench.http(status, after: .seconds(30)))
    bench.fail("c", SyncBench.http(status, after: .seconds(20)))
    bench.give(.again)
    bench.pass(.milliseconds(29_999))
    #expect(bench.sent == ["c", "a"])
    bench.pass(.milliseconds(1))
    #expect(bench.sent == ["c", "a", "c"])
  }

  @Test func `Retry-After is honored even if another upload is accepted in the meantime`() {
    var bench = Self.started(Self.three)
    bench.fail("a", SyncBench.http(429, after: .seconds(30)))
    bench.accept("c")
    bench.pass(.milliseconds(29_999))
    #expect(bench.sent == ["c", "a"])
    bench.pass(.milliseconds(1))
    #expect(bench.sent == ["c", "a", "a"])
    bench.accept("a")
    #expect(bench.sent == ["c", "a", "a", "b"])
  }

  @Test func `a single retry tests whether the server is back, each time with another type`() {
    var bench = Self.started(Self.three)
    bench.pass(.milliseconds(1))
    bench.fail("c", .refused)
    bench.fail("a", .refused)
    bench.pass(.seconds(1))
    #expect(bench.sent == ["c", "a", "c"])
    bench.fail("c", .refused)
    bench.pass(.seconds(2))
    #expect(bench.sent == ["c", "a", "c", "a"])
    bench.accept("a")
    #expect(bench.sent == ["c", "a", "c", "a", "c", "b"])
  }

  @Test func `a batch that the server cannot handle holds up its own type only`() {
    var bench = Self.started(Self.three)
    bench.fail("a", SyncBench.http(500))
    bench.accept("c")
    bench.pass(.milliseconds(999))
    #expect(bench.sent == ["c", "a"])
    bench.pass(.seconds(8))
    #expect(bench.sent == ["c", "a", "a"])
    bench.accept("a")
    #expect(bench.sent == ["c", "a", "a", "b"])
  }

  @Test func `attempts stay within the rate windows`() throws {
    let policy = try SyncBench.plain.setting([
      ("retry.windows", "3/1m"), ("retry.first", "1s,1s,1s,1s,1s,1s"),
    ])
    var bench = SyncBench(SyncSettings(policy: policy))
    bench.give(SyncBench.waiting([SyncBench.batch("a")]))
    bench.fail("a", .refused)
    for _ in 0..<3 {
      bench.pass(.seconds(1))
      bench.fail("a", .refused)
    }
    #expect(bench.sent.count == 4)
    bench.give(.again)
    bench.pass(.seconds(57))
    #expect(bench.sent.count == 4)
    bench.pass(.seconds(2))
    #expect(bench.sent.count == 5)
  }

  @Test func `a refusal quarantines the batch, reports it, and lets the next batch be sent`() {
    for status in [400, 403, 404, 405, 409, 410, 415, 422] {
      var bench = Self.started(Array(Self.three.prefix(2)))
      bench.fail("a", SyncBench.http(status))
      #expect(bench.states(of: "a") == [.sending, .quarantined])
      #expect(bench.steps == [[.quarantine(file: "a", reason: "\(status): words")]])
      #expect(bench.sent == ["a", "b"])
      bench.finishCommits()
      bench.accept("b")
      bench.finishCommits()
      bench.give(.refreshed(nil))
      bench.pass(.seconds(100_000))
      #expect(bench.sent == ["a", "b"])
      #expect(bench.deleted == ["b"])
      #expect(bench.model.standing == .done(quarantined: 1))
    }
  }

  @Test func `a batch whose refusal cannot be stored is sent again later instead of quarantined`()
    throws
  {
    var bench = Self.started(Array(Self.three.prefix(1)))
    bench.fail("a", SyncBench.http(410))
    let id = try #require(bench.model.commits.underWay.keys.first)
    bench.give(.notCommitted(id, .full(detail: "full")))
    #expect(bench.model.quarantined == 0)
    bench.pass(.milliseconds(999))
    #expect(bench.sent == ["a"])
    bench.pass(.seconds(1))
    #expect(bench.sent == ["a", "a"])
    bench.fail("a", SyncBench.http(410))
    bench.finishCommits()
    #expect(bench.model.standing == .done(quarantined: 1))
  }

  @Test func `a missing or unreadable file quarantines its batch`() {
    var bench = SyncBench()
    bench.give(
      .restored(
        StoredSyncQueue(
          asked: [], types: [], batches: Array(Self.three.prefix(2)), stamp: SyncBench.time(0)),
        running: [], missing: ["a"]))
    #expect(bench.states(of: "a") == [.quarantined])
    #expect(bench.sent == ["b"])
    bench.give(.uploaded("b", .unreadable(detail: "no"), at: SyncBench.time(0)))
    #expect(bench.states(of: "b") == [.sending, .quarantined])
  }

  // MARK: 413

  @Test func `status 413 splits the batch in one transaction, and its parts keep its position`()
    throws
  {
    var bench = Self.started(Array(Self.three.prefix(2)))
    bench.fail("a", SyncBench.http(413))
    #expect(bench.log.contains(.split("a")))
    bench.pass(.seconds(100))
    #expect(bench.sent == ["a"])
    let drafts = ["x", "y"].map {
      PayloadDraft(file: $0, records: 5, deletions: 0, bytes: 50)
    }
    bench.give(.split("a", drafts))
    let first = drafts[0].queued(Self.steps, at: QueuedBatch.distance)
    let second = drafts[1].queued(Self.steps, at: QueuedBatch.distance * 3 / 2)
    #expect(bench.steps == [[.remove(file: "a"), .add(first), .add(second)]])
    #expect(bench.deleted == [])
    bench.finishCommits()
    #expect(bench.deleted == ["a"])
    for file in ["x", "y", "b"] { bench.accept(file) }
    #expect(bench.sent == ["a", "x", "y", "b"])
  }

  @Test func `the parts of a batch come before a page that is being stored`() throws {
    var bench = try SyncBench.read(1)
    bench.fail("f1", SyncBench.http(413))
    try bench.page(2, anchor: 2)
    let drafts = ["x", "y"].map {
      PayloadDraft(file: $0, records: 5, deletions: 0, bytes: 50)
    }
    bench.give(.split("f1", drafts))
    // The batches of the page come after it, at two and three times the distance.
    let first = drafts[0].queued(Self.steps, at: QueuedBatch.distance)
    let second = drafts[1].queued(Self.steps, at: QueuedBatch.distance * 3 / 2)
    #expect(bench.steps.last == [.remove(file: "f1"), .add(first), .add(second)])
  }

  @Test func `an indivisible batch is quarantined, and a split that cannot be written is retried`()
  {
    var bench = Self.started([SyncBench.batch("a")])
    bench.fail("a", SyncBench.http(413))
    bench.give(.notSplit("a", .full(detail: "full")))
    #expect(bench.states(of: "a") == [.sending])
    bench.pass(.seconds(1))
    #expect(bench.sent == ["a", "a"])
    bench.fail("a", SyncBench.http(413))
    bench.give(.notSplit("a", nil))
    #expect(bench.states(of: "a").last == .quarantined)
  }

  // MARK: 401

  @Test func `status 401 pauses all types and requests another secret`() {
    var bench = Self.started(Self.three)
    bench.fail("a", SyncBench.http(401))
    #expect(bench.log.count(where: { $0 == .askSecret }) == 1)
    bench.fail("c", SyncBench.http(401))
    bench.pass(.seconds(10))
    #expect(bench.sent == ["c", "a"])
    #expect(bench.model.standing == .working)
    bench.give(.secret(isNew: false))
    #expect(bench.model.standing == .secretRefused)
    bench.give(.again)
    #expect(bench.log.count(where: { $0 == .askSecret }) == 2)
    #expect(bench.sent == ["c", "a"])
    bench.give(.secret(isNew: true))
    #expect(bench.sent == ["c", "a", "c", "a"])
    #expect(bench.model.standing == .working)
  }

  @Test func `uploads that began before the secret was replaced do not ask for another one`() {
    var bench = Self.started(Self.three)
    bench.pass(.seconds(1))
    bench.fail("a", SyncBench.http(401))
    bench.give(.secret(isNew: true))
    bench.fail("c", SyncBench.http(401))
    #expect(bench.log.count(where: { $0 == .askSecret }) == 1)
    #expect(bench.sent == ["c", "a", "a", "c"])
    bench.fail("c", SyncBench.http(401))
    #expect(bench.log.count(where: { $0 == .askSecret }) == 2)
  }

  @Test func `a refused secret is read again once a minute`() {
    var bench = Self.started([SyncBench.batch("a")])
    bench.fail("a", SyncBench.http(401))
    for count in 1...3 {
      #expect(bench.log.count(where: { $0 == .askSecret }) == count)
      bench.give(.secret(isNew: false))
      bench.pass(.milliseconds(59_999))
      #expect(bench.log.count(where: { $0 == .askSecret }) == count)
      bench.pass(.milliseconds(1))
    }
    #expect(bench.sent == ["a"])
  }

  // MARK: The device

  @Test func `nothing is sent without a network, and pending batches are sent once one returns`() {
    var bench = SyncBench()
    bench.give(.restored(StoredSyncQueue(), running: [], missing: []))
    bench.give(.device(.reachability(.unreachable)))
    var other = SyncBench()
    other.give(SyncBench.waiting([SyncBench.batch("a")]))
    other.fail("a", .refused)
    other.give(.device(.reachability(.unreachable)))
    other.pass(.seconds(1_000))
    #expect(other.sent == ["a"])
    other.give(.device(.reachability(.reachable(path: PathID("w")))))
    #expect(other.sent == ["a", "a"])
  }

  @Test func `in the background nothing is sent on a constrained network or in low power mode`() {
    for conditions in [SyncConditions(isConstrained: true), SyncConditions(isLowPower: true)] {
      var bench = Self.started(Array(Self.three.prefix(2)))
      bench.give(.conditions(conditions))
      bench.give(.device(.lifecycle(.background)))
      bench.accept("a")
      bench.pass(.seconds(1_000))
      #expect(bench.sent == ["a"])
      bench.give(.device(.lifecycle(.foreground)))
      #expect(bench.sent == ["a", "b"])
    }
  }

  @Test func `device conditions that arrive before the stored queue apply to its pending batches`()
  {
    for first in [
      SyncModel.Input.conditions(SyncConditions(isLowPower: true)),
      .device(.lifecycle(.background)),
    ] {
      var bench = SyncBench()
      bench.give(first)
      bench.give(.conditions(SyncConditions(isLowPower: true)))
      bench.give(.device(.lifecycle(.background)))
      bench.give(SyncBench.waiting([SyncBench.batch("a")]))
      bench.pass(.seconds(1_000))
      #expect(bench.sent == [])
      bench.give(.device(.lifecycle(.foreground)))
      #expect(bench.sent == ["a"])
    }
  }

  @Test func `the server gets one refresh request once all batches are sent`() {
    var bench = Self.started(Array(Self.three.prefix(2)))
    func told() -> Int { bench.log.count { $0 == .refresh } }
    bench.accept("a")
    bench.finishCommits()
    #expect(told() == 0)
    bench.accept("b")
    #expect(told() == 0)
    bench.finishCommits()
    #expect(told() == 1)
    #expect(bench.model.standing == .working)
    bench.give(.refreshed(.refused))
    #expect(bench.model.standing == .done(quarantined: 0))
    bench.pass(.seconds(1_000))
    #expect(told() == 1)
  }
}
