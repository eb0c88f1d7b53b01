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

  @Test func `a try that the windows do not allow comes once they do`() throws {
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

  @Test func `a wish that came with a late answer is obeyed at the end of the wait`() {
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

  @Test func `a type that waits for the windows holds up no other one`() throws {
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

  @Test func `trying at once holds up no batch that waits for nothing`() throws {
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

  @Test func `without waits between tries the first failure says that there is no server`() throws {
    let policy = try SyncBench.plain.setting([("retry.first", "none")])
    var bench = SyncBench(SyncSettings(policy: policy))
    bench.give(SyncBench.waiting([SyncBench.batch("a")]))
    bench.fail("a", .refused)
    #expect(bench.model.standing == .unreachable(.refused))
    #expect(bench.model.deadline == bench.now.advanced(by: SyncSettings.longestPause))
  }

  @Test func `of several types that fail the first one is told`() {
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
