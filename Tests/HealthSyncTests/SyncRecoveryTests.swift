import LinkCore
import LinkHealth
import LinkStorage
import LinkWire
import Testing

@testable import HealthSync

/// The recovery of a sync after failures of the network, the server and the store.
@Suite struct SyncRecoveryTests {
  private static let cell = SyncModel.Input.device(
    .reachability(.reachable(path: PathID("cell0"))))

  private static func started(
    _ batches: [QueuedBatch] = [SyncBench.batch("a")],
    _ changes: [(key: String, value: String)] = []
  ) throws -> SyncBench {
    let policy = try SyncBench.plain.setting(changes)
    var bench = SyncBench(SyncSettings(policy: policy))
    bench.give(SyncBench.waiting(batches))
    return bench
  }

  private static let two = [
    SyncBench.batch("a"), SyncBench.batch("b", SyncBench.steps, 2),
  ]

  private static let parts = ["x", "y"].map {
    PayloadDraft(file: $0, records: 5, deletions: 0, bytes: 50)
  }

  @Test func `a new network ends the delay for an unreachable server but no other delay`() throws {
    var bench = try Self.started()
    bench.fail("a", .refused)
    bench.give(Self.cell)
    #expect(bench.sent == ["a", "a"])
    var busy = try Self.started()
    busy.fail("a", SyncBench.http(500))
    busy.give(Self.cell)
    #expect(busy.sent == ["a"])
    busy.pass(.seconds(1))
    #expect(busy.sent == ["a", "a"])
  }

  @Test func `a manual retry causes an unreachable server to be reported again`() throws {
    var bench = try Self.started()
    let notice = SyncModel.Effect.update(.notice(.unreachable(.refused)))
    for _ in 1...3 {
      bench.fail("a", .refused)
      bench.pass(.seconds(2))
    }
    #expect(bench.log.count { $0 == notice } == 1)
    bench.fail("a", .refused)
    bench.give(.again)
    bench.fail("a", .refused)
    #expect(bench.log.count { $0 == notice } == 2)
  }

  @Test func `a retry-after outlasts another upload's success and a manual retry`() throws {
    var bench = try Self.started([
      SyncBench.batch("a"), SyncBench.batch("c", SyncBench.heart, 2),
    ])
    bench.fail("a", SyncBench.http(429, after: .seconds(30)))
    bench.accept("c")
    bench.give(.again)
    bench.pass(.milliseconds(29_999))
    #expect(bench.sent == ["c", "a"])
    bench.pass(.milliseconds(1))
    #expect(bench.sent == ["c", "a", "a"])
  }

  @Test func `failures before a success do not count for the breaker`() throws {
    var bench = try Self.started(Self.two, [("retry.breaker", "2/10m:5m")])
    bench.fail("a", SyncBench.http(429, after: .seconds(30)))
    bench.pass(.seconds(30))
    bench.accept("a")
    bench.fail("b", .reset)
    #expect(bench.sent == ["a", "a", "b"])
    bench.pass(.seconds(4))
    #expect(bench.sent == ["a", "a", "b", "b"])
  }

  @Test func `a schedule with one delay continues with that delay`() throws {
    var bench = try Self.started([SyncBench.batch("a")], [("retry.first", "1s")])
    for count in 1...4 {
      #expect(bench.sent.count == count)
      bench.fail("a", .refused)
      bench.pass(.seconds(1))
    }
    #expect(bench.model.standing == .working, "one try is under way")
    bench.fail("a", .refused)
    #expect(bench.model.standing == .unreachable(.refused))
  }

  @Test func `the first failure after a success does not exhaust the schedule`() throws {
    var bench = try Self.started(Self.two)
    bench.accept("a")
    bench.fail("b", SyncBench.http(500))
    #expect(bench.model.standing == .working)
  }

  @Test func `a late success counts although the refusal before it could not be stored`() throws {
    var bench = try Self.started()
    bench.fail("a", SyncBench.http(400))
    let refusal = try #require(bench.model.commits.underWay.keys.first)
    bench.accept("a")
    bench.give(.notCommitted(refusal, .full(detail: "full")))
    bench.finishCommits()
    bench.pass(.seconds(60))
    #expect(bench.sent == ["a"])
    #expect(bench.deleted == ["a"])
  }

  @Test func `parts that could not be stored are deleted, and the whole is sent again`() throws {
    var bench = try Self.started()
    bench.fail("a", SyncBench.http(413))
    bench.give(.split("a", Self.parts))
    let id = try #require(bench.model.commits.underWay.keys.first)
    bench.give(.notCommitted(id, .full(detail: "full")))
    #expect(bench.deleted == ["x", "y"])
    bench.pass(.seconds(1))
    #expect(bench.sent == ["a", "a"])
  }

  @Test func `a batch without room for its parts before the next batch is quarantined`() throws {
    let batches = [("a", UInt64(5)), ("b", UInt64(6))].map { file, place in
      QueuedBatch(
        file: file, type: SyncBench.steps, place: place, records: 10, deletions: 1, bytes: 100)
    }
    var bench = try Self.started(batches)
    bench.fail("a", SyncBench.http(413))
    bench.give(.split("a", Self.parts))
    #expect(bench.deleted == ["x", "y"])
    #expect(bench.states(of: "a").last == .quarantined)
  }

  @Test(arguments: [(1, 0), (0, 1)])
  func `a rejected single-record batch is quarantined, and the next waits by the schedule`(
    records: Int, deletions: Int
  ) throws {
    let batches = ["a", "b", "c"].enumerated().map { place, file in
      QueuedBatch(
        file: file, type: SyncBench.steps, place: UInt64(place + 1) * QueuedBatch.distance,
        records: records, deletions: deletions, bytes: 100)
    }
    var bench = try Self.started(batches + [SyncBench.batch("d", SyncBench.heart, 4)])
    let words = "413: the server does not take it, and it cannot be divided"
    for (file, wait) in [("a", 1), ("b", 2)] {
      let effects = bench.give(
        .uploaded(file, .failed(SyncBench.http(413)), at: SyncBench.time(5)))
      #expect(!effects.contains(.split(file)))
      #expect(bench.steps.last == [.quarantine(file: file, reason: words)])
      bench.finishCommits()
      let sent = bench.sent
      bench.pass(.seconds(wait) - .milliseconds(1))
      #expect(bench.sent == sent)
      bench.pass(.milliseconds(1))
    }
    #expect(bench.sent == ["d", "a", "b", "c"])
    bench.accept("c")
    #expect(bench.model.queues.map(\.failures) == [0, 0])
  }

  @Test func `a late success ends the wait of its type`() throws {
    var bench = try Self.started(Self.two)
    bench.fail("a", SyncBench.http(500))
    #expect(bench.sent == ["a"])
    bench.accept("a")
    #expect(bench.sent == ["a", "b"])
  }

  @Test func `parts that cannot be written are reported, and the whole batch is sent again`() throws
  {
    let failure = StoreFailure.full(detail: "full")
    var bench = try Self.started()
    bench.fail("a", SyncBench.http(413))
    let effects = bench.give(.notSplit("a", failure))
    #expect(effects.contains(.update(.notice(.store(failure)))))
    bench.pass(.seconds(1))
    #expect(bench.sent == ["a", "a"])
  }

  @Test func `a network that is lost ends no wait for a source`() throws {
    var bench = SyncBench()
    let kept = StoredSyncQueue(
      asked: [SyncBench.steps], types: [], batches: [SyncBench.batch("a")],
      stamp: SyncBench.time(0))
    bench.give(.restored(kept, running: [], missing: []))
    bench.fire()
    bench.pass(.milliseconds(100))
    bench.give(.notFetched(try #require(bench.fetches.last), .locked(detail: "locked")))
    bench.fail("a", .refused)
    let asked = bench.fetches.count
    bench.give(.device(.reachability(.unreachable)))
    #expect(bench.fetches.count == asked)
  }
}
