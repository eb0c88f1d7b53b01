import HoldfastCore
import HoldfastSyncData
import HoldfastUploads
import Testing

@testable import HoldfastHealthSync

/// Tests of the recovery of a sync after failures of the network, the server and the store.
@Suite struct SyncRecoveryTests {
  private static let cell = SyncModel.Input.device(
    .reachability(.reachable(path: PathID("cell0"))))

  private static func started(
    _ batches: [QueuedBatch] = [SyncHarness.batch("a")],
    _ changes: [(key: String, value: String)] = []
  ) throws -> SyncHarness {
    let policy = try SyncHarness.plain.setting(changes)
    var harness = SyncHarness(SyncSettings(policy: policy))
    harness.give(SyncHarness.waiting(batches))
    return harness
  }

  private static let two = [
    SyncHarness.batch("a"), SyncHarness.batch("b", SyncHarness.steps, 2),
  ]

  private static let parts = ["x", "y"].map {
    PayloadDraft(file: $0, records: 5, deletions: 0, bytes: 50)
  }

  @Test func `a new network ends the delay for an unreachable server but no other delay`() throws {
    var harness = try Self.started()
    harness.fail("a", .refused)
    harness.give(Self.cell)
    #expect(harness.sent == ["a", "a"])
    var busy = try Self.started()
    busy.fail("a", SyncHarness.http(500))
    busy.give(Self.cell)
    #expect(busy.sent == ["a"])
    busy.pass(.seconds(1))
    #expect(busy.sent == ["a", "a"])
  }

  @Test func `a manual retry causes an unreachable server to be reported again`() throws {
    var harness = try Self.started()
    let notice = SyncModel.Effect.update(.notice(.unreachable(.refused)))
    for _ in 1...3 {
      harness.fail("a", .refused)
      harness.pass(.seconds(2))
    }
    #expect(harness.log.count { $0 == notice } == 1)
    harness.fail("a", .refused)
    harness.give(.again)
    harness.fail("a", .refused)
    #expect(harness.log.count { $0 == notice } == 2)
  }

  @Test func `a retry-after outlasts another upload's success and a manual retry`() throws {
    var harness = try Self.started([
      SyncHarness.batch("a"), SyncHarness.batch("c", SyncHarness.heart, 2),
    ])
    harness.fail("a", SyncHarness.http(429, after: .seconds(30)))
    harness.accept("c")
    harness.give(.again)
    harness.pass(.milliseconds(29_999))
    #expect(harness.sent == ["c", "a"])
    harness.pass(.milliseconds(1))
    #expect(harness.sent == ["c", "a", "a"])
  }

  @Test func `failures before a success do not count for the breaker`() throws {
    var harness = try Self.started(Self.two, [("retry.breaker", "2/10m:5m")])
    harness.fail("a", SyncHarness.http(429, after: .seconds(30)))
    harness.pass(.seconds(30))
    harness.accept("a")
    harness.fail("b", .reset)
    #expect(harness.sent == ["a", "a", "b"])
    harness.pass(.seconds(4))
    #expect(harness.sent == ["a", "a", "b", "b"])
  }

  @Test func `a schedule with one delay continues with that delay`() throws {
    var harness = try Self.started([SyncHarness.batch("a")], [("retry.first", "1s")])
    for count in 1...4 {
      #expect(harness.sent.count == count)
      harness.fail("a", .refused)
      harness.pass(.seconds(1))
    }
    #expect(harness.model.state == .working, "one try is under way")
    harness.fail("a", .refused)
    #expect(harness.model.state == .unreachable(.refused))
  }

  @Test func `the first failure after a success does not exhaust the schedule`() throws {
    var harness = try Self.started(Self.two)
    harness.accept("a")
    harness.fail("b", SyncHarness.http(500))
    #expect(harness.model.state == .working)
  }

  @Test func `a late success counts although the refusal before it could not be stored`() throws {
    var harness = try Self.started()
    harness.fail("a", SyncHarness.http(400))
    let refusal = try #require(harness.model.commits.underWay.keys.first)
    harness.accept("a")
    harness.give(.notCommitted(refusal, .full(detail: "full")))
    harness.finishCommits()
    harness.pass(.seconds(60))
    #expect(harness.sent == ["a"])
    #expect(harness.deleted == ["a"])
  }

  @Test func `parts that could not be stored are deleted, and the whole is sent again`() throws {
    var harness = try Self.started()
    harness.fail("a", SyncHarness.http(413))
    harness.give(.split("a", Self.parts))
    let id = try #require(harness.model.commits.underWay.keys.first)
    harness.give(.notCommitted(id, .full(detail: "full")))
    #expect(harness.deleted == ["x", "y"])
    harness.pass(.seconds(1))
    #expect(harness.sent == ["a", "a"])
  }

  @Test func `a batch without room for its parts before the next batch is quarantined`() throws {
    let batches = [("a", UInt64(5)), ("b", UInt64(6))].map { file, position in
      QueuedBatch(
        file: file, type: SyncHarness.steps, position: position, records: 10, deletions: 1,
        bytes: 100)
    }
    var harness = try Self.started(batches)
    harness.fail("a", SyncHarness.http(413))
    harness.give(.split("a", Self.parts))
    #expect(harness.deleted == ["x", "y"])
    #expect(harness.states(of: "a").last == .quarantined)
  }

  @Test(arguments: [(1, 0), (0, 1)])
  func `a rejected single-record batch is quarantined, and the next waits by the schedule`(
    records: Int, deletions: Int
  ) throws {
    let batches = ["a", "b", "c"].enumerated().map { index, file in
      QueuedBatch(
        file: file, type: SyncHarness.steps, position: UInt64(index + 1) * QueuedBatch.distance,
        records: records, deletions: deletions, bytes: 100)
    }
    var harness = try Self.started(batches + [SyncHarness.batch("d", SyncHarness.heart, 4)])
    let reason = "413: the server does not take it, and it cannot be divided"
    for (file, wait) in [("a", 1), ("b", 2)] {
      let effects = harness.give(
        .uploaded(file, .failed(SyncHarness.http(413)), at: SyncHarness.time(5)))
      #expect(!effects.contains(.split(file)))
      #expect(harness.steps.last == [.quarantine(file: file, reason: reason)])
      harness.finishCommits()
      let sent = harness.sent
      harness.pass(.seconds(wait) - .milliseconds(1))
      #expect(harness.sent == sent)
      harness.pass(.milliseconds(1))
    }
    #expect(harness.sent == ["d", "a", "b", "c"])
    harness.accept("c")
    #expect(harness.model.queues.map(\.failures) == [0, 0])
  }

  @Test func `a late success ends the wait of its type`() throws {
    var harness = try Self.started(Self.two)
    harness.fail("a", SyncHarness.http(500))
    #expect(harness.sent == ["a"])
    harness.accept("a")
    #expect(harness.sent == ["a", "b"])
  }

  @Test func `parts that cannot be written are reported, and the whole batch is sent again`() throws
  {
    let failure = StoreFailure.full(detail: "full")
    var harness = try Self.started()
    harness.fail("a", SyncHarness.http(413))
    let effects = harness.give(.notSplit("a", failure))
    #expect(effects.contains(.update(.notice(.store(failure)))))
    harness.pass(.seconds(1))
    #expect(harness.sent == ["a", "a"])
  }

  @Test func `a network that is lost ends no wait for a source`() throws {
    var harness = SyncHarness()
    let stored = StoredSyncQueue(
      asked: [SyncHarness.steps], types: [], batches: [SyncHarness.batch("a")],
      stamp: SyncHarness.time(0))
    harness.give(.restored(stored, running: [], missing: []))
    harness.fire()
    harness.pass(.milliseconds(100))
    harness.give(.notFetched(try #require(harness.fetches.last), .locked(detail: "locked")))
    harness.fail("a", .refused)
    let asked = harness.fetches.count
    harness.give(.device(.reachability(.unreachable)))
    #expect(harness.fetches.count == asked)
  }
}
