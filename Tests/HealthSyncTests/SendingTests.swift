import HoldfastCore
import HoldfastSyncData
import HoldfastUploads
import Testing

@testable import HoldfastHealthSync

/// Tests of the order in which batches are sent, and of the reactions to answers.
@Suite struct SendingTests {
  private static let steps = SyncHarness.steps
  private static let heart = SyncHarness.heart

  /// Returns a sync that has restored the given batches.
  private static func started(_ batches: [QueuedBatch]) -> SyncHarness {
    var harness = SyncHarness()
    harness.give(SyncHarness.waiting(batches))
    return harness
  }

  private static let three = [
    SyncHarness.batch("a", steps, 1), SyncHarness.batch("b", steps, 2),
    SyncHarness.batch("c", heart, 3),
  ]

  @Test func `a start sends the pending batches at once, each type in order`() {
    var harness = Self.started(Self.three)
    #expect(harness.sent == ["c", "a"])
    harness.accept("a")
    #expect(harness.sent == ["c", "a", "b"])
  }

  @Test func `a depth of 10 hands all pending batches to the system in one effect, in order`() {
    var harness = SyncHarness(SyncSettings(policy: SyncHarness.plain, depth: 10))
    harness.give(SyncHarness.waiting(Self.three))
    #expect(harness.sent == ["c", "a", "b"])
    let uploads = harness.log.count { if case .upload = $0 { true } else { false } }
    #expect(uploads == 1)
  }

  @Test func `running uploads are not started again`() {
    var harness = SyncHarness()
    harness.give(
      .restored(
        StoredSyncQueue(asked: [], types: [], batches: Self.three, stamp: SyncHarness.time(0)),
        running: ["a"], missing: []))
    #expect(harness.sent == ["c"])
    harness.accept("a")
    #expect(harness.sent == ["c", "b"])
  }

  @Test func `a file is deleted once its acceptance by the server is stored`() throws {
    var harness = Self.started([SyncHarness.batch("a")])
    harness.accept("a")
    #expect(harness.steps == [[.accept(file: "a", at: SyncHarness.time(5))]])
    #expect(harness.deleted == [])
    harness.finishCommits()
    #expect(harness.deleted == ["a"])
    #expect(harness.states(of: "a") == [.sending, .accepted])
    #expect(harness.model.queues[0].synced == 10)
    harness.pass(.seconds(100_000))
    #expect(harness.sent == ["a"])
  }

  @Test func `an accepted batch is not sent again if storing its acceptance fails`() throws {
    var harness = Self.started([SyncHarness.batch("a"), SyncHarness.batch("b", Self.heart)])
    harness.accept("a")
    let id = try #require(harness.model.commits.underWay.keys.first)
    harness.give(.notCommitted(id, .full(detail: "full")))
    harness.accept("b")
    harness.pass(.milliseconds(999))
    #expect(harness.steps.count == 1)
    harness.pass(.milliseconds(1))
    #expect(
      harness.steps.last == [
        .accept(file: "a", at: SyncHarness.time(5)), .accept(file: "b", at: SyncHarness.time(5)),
      ])
    harness.finishCommits()
    #expect(harness.sent == ["b", "a"])
    #expect(harness.deleted.sorted() == ["a", "b"])
  }

  static let passing: [LinkFailure] = [
    .refused, .reset, .ended, .timeout(.response), .dns(detail: ""), .captivePortal,
    .protocolError(detail: ""), .local(detail: ""), .tls(.expired, detail: ""),
    SyncHarness.http(408), SyncHarness.http(425), SyncHarness.http(429), SyncHarness.http(500),
    SyncHarness.http(502), SyncHarness.http(503), SyncHarness.http(507), SyncHarness.http(302),
  ]

  @Test(arguments: passing)
  func `cuts, 429 and 5xx never quarantine a batch and are retried by the schedule`(
    failure: LinkFailure
  ) {
    var harness = Self.started([SyncHarness.batch("a")])
    for (count, wait) in [1, 2, 2, 2].enumerated() {
      #expect(harness.sent.count == count + 1)
      harness.fail("a", failure)
      #expect(harness.states(of: "a").last == .retrying)
      // The schedule has two waits.
      #expect(harness.model.state == (count < 2 ? .working : .unreachable(failure)))
      harness.pass(.seconds(wait) - .milliseconds(1))
      #expect(harness.sent.count == count + 1)
      harness.pass(.milliseconds(1))
    }
    harness.accept("a")
    harness.finishCommits()
    #expect(harness.model.queues[0].batches == [])
  }

  @Test func `after a success the second retry schedule applies`() {
    var harness = Self.started(Array(Self.three.prefix(2)))
    harness.accept("a")
    harness.fail("b", .reset)
    harness.pass(.milliseconds(3_999))
    #expect(harness.sent == ["a", "b"])
    harness.pass(.milliseconds(1))
    #expect(harness.sent == ["a", "b", "b"])
  }

  @Test(arguments: [429, 503])
  func `all types honor Retry-After`(status: Int) {
    var harness = Self.started(Self.three)
    harness.fail("a", SyncHarness.http(status, after: .seconds(30)))
    harness.fail("c", SyncHarness.http(status, after: .seconds(20)))
    harness.give(.again)
    harness.pass(.milliseconds(29_999))
    #expect(harness.sent == ["c", "a"])
    harness.pass(.milliseconds(1))
    #expect(harness.sent == ["c", "a", "c"])
  }

  @Test func `Retry-After is honored even if another upload is accepted in the meantime`() {
    var harness = Self.started(Self.three)
    harness.fail("a", SyncHarness.http(429, after: .seconds(30)))
    harness.accept("c")
    harness.pass(.milliseconds(29_999))
    #expect(harness.sent == ["c", "a"])
    harness.pass(.milliseconds(1))
    #expect(harness.sent == ["c", "a", "a"])
    harness.accept("a")
    #expect(harness.sent == ["c", "a", "a", "b"])
  }

  @Test func `a single retry tests whether the server is back, each time with another type`() {
    var harness = Self.started(Self.three)
    harness.pass(.milliseconds(1))
    harness.fail("c", .refused)
    harness.fail("a", .refused)
    harness.pass(.seconds(1))
    #expect(harness.sent == ["c", "a", "c"])
    harness.fail("c", .refused)
    harness.pass(.seconds(2))
    #expect(harness.sent == ["c", "a", "c", "a"])
    harness.accept("a")
    #expect(harness.sent == ["c", "a", "c", "a", "c", "b"])
  }

  @Test func `a batch that the server cannot handle holds up its own type only`() {
    var harness = Self.started(Self.three)
    harness.fail("a", SyncHarness.http(500))
    harness.accept("c")
    harness.pass(.milliseconds(999))
    #expect(harness.sent == ["c", "a"])
    harness.pass(.seconds(8))
    #expect(harness.sent == ["c", "a", "a"])
    harness.accept("a")
    #expect(harness.sent == ["c", "a", "a", "b"])
  }

  @Test func `attempts stay within the rate windows`() throws {
    let policy = try SyncHarness.plain.setting([
      ("retry.windows", "3/1m"), ("retry.first", "1s,1s,1s,1s,1s,1s"),
    ])
    var harness = SyncHarness(SyncSettings(policy: policy))
    harness.give(SyncHarness.waiting([SyncHarness.batch("a")]))
    harness.fail("a", .refused)
    for _ in 0..<3 {
      harness.pass(.seconds(1))
      harness.fail("a", .refused)
    }
    #expect(harness.sent.count == 4)
    harness.give(.again)
    harness.pass(.seconds(57))
    #expect(harness.sent.count == 4)
    harness.pass(.seconds(2))
    #expect(harness.sent.count == 5)
  }

  @Test func `a refusal quarantines the batch, reports it, and lets the next batch be sent`() {
    for status in [400, 403, 404, 405, 409, 410, 415, 422] {
      var harness = Self.started(Array(Self.three.prefix(2)))
      harness.fail("a", SyncHarness.http(status))
      #expect(harness.states(of: "a") == [.sending, .quarantined])
      #expect(harness.steps == [[.quarantine(file: "a", reason: "\(SyncHarness.http(status))")]])
      #expect(harness.sent == ["a", "b"])
      harness.finishCommits()
      harness.accept("b")
      harness.finishCommits()
      harness.give(.refreshed(nil))
      harness.pass(.seconds(100_000))
      #expect(harness.sent == ["a", "b"])
      #expect(harness.deleted == ["b"])
      #expect(harness.model.state == .done(quarantined: 1))
    }
  }

  @Test func `a batch whose refusal cannot be stored is sent again later instead of quarantined`()
    throws
  {
    var harness = Self.started(Array(Self.three.prefix(1)))
    harness.fail("a", SyncHarness.http(410))
    let id = try #require(harness.model.commits.underWay.keys.first)
    harness.give(.notCommitted(id, .full(detail: "full")))
    #expect(harness.model.quarantined == 0)
    harness.pass(.milliseconds(999))
    #expect(harness.sent == ["a"])
    harness.pass(.seconds(1))
    #expect(harness.sent == ["a", "a"])
    harness.fail("a", SyncHarness.http(410))
    harness.finishCommits()
    #expect(harness.model.state == .done(quarantined: 1))
  }

  @Test func `a missing or unreadable file quarantines its batch`() {
    var harness = SyncHarness()
    harness.give(
      .restored(
        StoredSyncQueue(
          asked: [], types: [], batches: Array(Self.three.prefix(2)), stamp: SyncHarness.time(0)),
        running: [], missing: ["a"]))
    #expect(harness.states(of: "a") == [.quarantined])
    #expect(harness.sent == ["b"])
    harness.give(.uploaded("b", .unreadable(detail: "no"), at: SyncHarness.time(0)))
    #expect(harness.states(of: "b") == [.sending, .quarantined])
  }

  // MARK: 413

  @Test func `status 413 splits the batch in one transaction, and its parts keep its position`()
    throws
  {
    var harness = Self.started(Array(Self.three.prefix(2)))
    harness.fail("a", SyncHarness.http(413))
    #expect(harness.log.contains(.split("a")))
    harness.pass(.seconds(100))
    #expect(harness.sent == ["a"])
    let drafts = ["x", "y"].map {
      PayloadDraft(file: $0, records: 5, deletions: 0, bytes: 50)
    }
    harness.give(.split("a", drafts))
    let first = drafts[0].queued(Self.steps, at: QueuedBatch.distance)
    let second = drafts[1].queued(Self.steps, at: QueuedBatch.distance * 3 / 2)
    #expect(harness.steps == [[.remove(file: "a"), .add(first), .add(second)]])
    #expect(harness.deleted == [])
    harness.finishCommits()
    #expect(harness.deleted == ["a"])
    for file in ["x", "y", "b"] { harness.accept(file) }
    #expect(harness.sent == ["a", "x", "y", "b"])
  }

  @Test func `the parts of a batch come before a page that is being stored`() throws {
    var harness = try SyncHarness.read(1)
    harness.fail("f1", SyncHarness.http(413))
    try harness.page(2, anchor: 2)
    let drafts = ["x", "y"].map {
      PayloadDraft(file: $0, records: 5, deletions: 0, bytes: 50)
    }
    harness.give(.split("f1", drafts))
    // The other batches of the page follow at two and three times the distance.
    let first = drafts[0].queued(Self.steps, at: QueuedBatch.distance)
    let second = drafts[1].queued(Self.steps, at: QueuedBatch.distance * 3 / 2)
    #expect(harness.steps.last == [.remove(file: "f1"), .add(first), .add(second)])
  }

  @Test func `an indivisible batch is quarantined, and a split that cannot be written is retried`()
  {
    var harness = Self.started([SyncHarness.batch("a")])
    harness.fail("a", SyncHarness.http(413))
    harness.give(.notSplit("a", .full(detail: "full")))
    #expect(harness.states(of: "a") == [.sending])
    harness.pass(.seconds(1))
    #expect(harness.sent == ["a", "a"])
    harness.fail("a", SyncHarness.http(413))
    harness.give(.notSplit("a", nil))
    #expect(harness.states(of: "a").last == .quarantined)
  }

  // MARK: 401

  @Test func `status 401 pauses all types and requests another secret`() {
    var harness = Self.started(Self.three)
    harness.fail("a", SyncHarness.http(401))
    #expect(harness.log.count(where: { $0 == .requestSecret }) == 1)
    harness.fail("c", SyncHarness.http(401))
    harness.pass(.seconds(10))
    #expect(harness.sent == ["c", "a"])
    #expect(harness.model.state == .working)
    harness.give(.secret(isNew: false))
    #expect(harness.model.state == .secretRefused)
    harness.give(.again)
    #expect(harness.log.count(where: { $0 == .requestSecret }) == 2)
    #expect(harness.sent == ["c", "a"])
    harness.give(.secret(isNew: true))
    #expect(harness.sent == ["c", "a", "c", "a"])
    #expect(harness.model.state == .working)
  }

  @Test func `uploads that began before the secret was replaced do not ask for another one`() {
    var harness = Self.started(Self.three)
    harness.pass(.seconds(1))
    harness.fail("a", SyncHarness.http(401))
    harness.give(.secret(isNew: true))
    harness.fail("c", SyncHarness.http(401))
    #expect(harness.log.count(where: { $0 == .requestSecret }) == 1)
    #expect(harness.sent == ["c", "a", "a", "c"])
    harness.fail("c", SyncHarness.http(401))
    #expect(harness.log.count(where: { $0 == .requestSecret }) == 2)
  }

  @Test func `a refused secret is read again once a minute`() {
    var harness = Self.started([SyncHarness.batch("a")])
    harness.fail("a", SyncHarness.http(401))
    for count in 1...3 {
      #expect(harness.log.count(where: { $0 == .requestSecret }) == count)
      harness.give(.secret(isNew: false))
      harness.pass(.milliseconds(59_999))
      #expect(harness.log.count(where: { $0 == .requestSecret }) == count)
      harness.pass(.milliseconds(1))
    }
    #expect(harness.sent == ["a"])
  }

  // MARK: The device

  @Test func `nothing is sent without a network, and pending batches are sent once one returns`() {
    var harness = SyncHarness()
    harness.give(.restored(StoredSyncQueue(), running: [], missing: []))
    harness.give(.device(.reachability(.unreachable)))
    var other = SyncHarness()
    other.give(SyncHarness.waiting([SyncHarness.batch("a")]))
    other.fail("a", .refused)
    other.give(.device(.reachability(.unreachable)))
    other.pass(.seconds(1_000))
    #expect(other.sent == ["a"])
    other.give(.device(.reachability(.reachable(path: PathID("w")))))
    #expect(other.sent == ["a", "a"])
  }

  @Test func `in the background nothing is sent on a constrained network or in low power mode`() {
    for conditions in [SyncConditions(isConstrained: true), SyncConditions(isLowPower: true)] {
      var harness = Self.started(Array(Self.three.prefix(2)))
      harness.give(.conditions(conditions))
      harness.give(.device(.lifecycle(.background)))
      harness.accept("a")
      harness.pass(.seconds(1_000))
      #expect(harness.sent == ["a"])
      harness.give(.device(.lifecycle(.foreground)))
      #expect(harness.sent == ["a", "b"])
    }
  }

  @Test func `device conditions that arrive before the stored queue apply to its pending batches`()
  {
    for first in [
      SyncModel.Input.conditions(SyncConditions(isLowPower: true)),
      .device(.lifecycle(.background)),
    ] {
      var harness = SyncHarness()
      harness.give(first)
      harness.give(.conditions(SyncConditions(isLowPower: true)))
      harness.give(.device(.lifecycle(.background)))
      harness.give(SyncHarness.waiting([SyncHarness.batch("a")]))
      harness.pass(.seconds(1_000))
      #expect(harness.sent == [])
      harness.give(.device(.lifecycle(.foreground)))
      #expect(harness.sent == ["a"])
    }
  }

  @Test func `the server gets one refresh request once all batches are sent`() {
    var harness = Self.started(Array(Self.three.prefix(2)))
    func refreshes() -> Int { harness.log.count { $0 == .refresh } }
    harness.accept("a")
    harness.finishCommits()
    #expect(refreshes() == 0)
    harness.accept("b")
    #expect(refreshes() == 0)
    harness.finishCommits()
    #expect(refreshes() == 1)
    #expect(harness.model.state == .working)
    harness.give(.refreshed(.refused))
    #expect(harness.model.state == .done(quarantined: 0))
    harness.pass(.seconds(1_000))
    #expect(refreshes() == 1)
  }
}
