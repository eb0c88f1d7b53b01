import LinkCore
import LinkStorage
import Testing

@testable import HealthSync

/// The times of a sync's retries, and the state that it reports meanwhile.
@Suite struct SyncTryTests {
  /// Returns a sync of some batches whose windows allow one retry in a minute.
  private static func narrow(_ batches: [QueuedBatch]) throws -> SyncBench {
    let policy = try SyncBench.plain.setting([("retry.windows", "1/1m")])
    var bench = SyncBench(SyncSettings(policy: policy))
    bench.give(SyncBench.waiting(batches))
    return bench
  }

  @Test func `a retry that exceeds the rate windows is made once they allow it`() throws {
    var bench = try Self.narrow([SyncBench.batch("a")])
    bench.fail("a", .refused)
    bench.pass(.seconds(1))
    #expect(bench.sent == ["a", "a"])
    bench.fail("a", .refused)
    #expect(bench.model.deadline == bench.now.advanced(by: .seconds(60)))
    bench.give(.again)
    #expect(bench.model.deadline == bench.now.advanced(by: .seconds(60)))
    bench.pass(.seconds(60) - .nanoseconds(1))
    #expect(bench.sent == ["a", "a"])
    bench.pass(.nanoseconds(1))
    #expect(bench.sent == ["a", "a", "a"])
  }

  @Test func `a retry-after from a late answer is honored after the current delay ends`() {
    var bench = SyncBench()
    bench.give(
      SyncBench.waiting([SyncBench.batch("a"), SyncBench.batch("c", SyncBench.heart)]))
    let due = bench.now.advanced(by: .seconds(30) + .milliseconds(1))
    bench.pass(.milliseconds(1))
    bench.fail("c", .refused)
    bench.fail("a", SyncBench.http(429, after: .seconds(30)))
    bench.pass(.seconds(1))
    #expect(bench.sent == ["c", "a"])
    #expect(bench.model.deadline == due)
    bench.pass(.seconds(29))
    #expect(bench.sent == ["c", "a", "c"])
  }

  @Test func `a type that waits for the rate windows does not delay other types`() throws {
    var bench = try Self.narrow([
      SyncBench.batch("a"), SyncBench.batch("c", SyncBench.heart),
    ])
    bench.fail("a", SyncBench.http(500))
    bench.fail("c", SyncBench.http(500))
    bench.pass(.seconds(1))
    #expect(bench.sent == ["c", "a", "c"])
    let due = bench.now.advanced(by: .seconds(60))
    #expect(bench.model.queues.map(\.retryAt) == [nil, due])
    #expect(bench.model.server.heldUntil == nil)
    #expect(bench.model.deadline == due)
    bench.accept("c")
    bench.pass(.seconds(59))
    #expect(bench.sent == ["c", "a", "c"])
    bench.pass(.seconds(1))
    #expect(bench.sent == ["c", "a", "c", "a"])
  }

  @Test func `a manual retry does not delay a batch that has nothing to wait for`() throws {
    var bench = try Self.narrow([SyncBench.batch("a"), SyncBench.batch("c", SyncBench.heart)])
    bench.fail("c", SyncBench.http(413))
    bench.fail("a", SyncBench.http(500))
    bench.pass(.seconds(1))
    bench.fail("a", SyncBench.http(500))
    #expect(bench.sent == ["c", "a", "a"])
    bench.give(.again)
    let halves = ["x", "y"].map { PayloadDraft(file: $0, records: 5, deletions: 0, bytes: 50) }
    bench.give(.split("c", halves))
    bench.finishCommits()
    #expect(bench.sent == ["c", "a", "a", "x"])
  }

  @Test func `with an empty retry schedule the first failure makes the server unreachable`() throws
  {
    let policy = try SyncBench.plain.setting([("retry.first", "none")])
    var bench = SyncBench(SyncSettings(policy: policy))
    bench.give(SyncBench.waiting([SyncBench.batch("a")]))
    bench.fail("a", .refused)
    #expect(bench.model.standing == .unreachable(.refused))
    #expect(bench.model.deadline == bench.now.advanced(by: SyncSettings.longestPause))
  }

  @Test func `of several failing types the first in order is reported`() {
    var bench = SyncBench()
    bench.give(
      SyncBench.waiting([SyncBench.batch("a"), SyncBench.batch("c", SyncBench.heart, 2)]))
    for _ in 0..<3 {
      #expect(bench.model.standing == .working)
      bench.fail("a", SyncBench.http(500))
      bench.fail("c", SyncBench.http(501))
      bench.pass(.seconds(2))
    }
    #expect(bench.model.standing == .unreachable(SyncBench.http(501)), "types are in order")
  }
}
