import HoldfastCore
import HoldfastSyncData
import Testing

@testable import HoldfastHealthSync

/// Tests of the times of a sync's retries, and of the state that it reports between them.
@Suite struct SyncTryTests {
  /// Returns a sync with the given batches. Its policy allows one retry per minute.
  private static func narrow(_ batches: [QueuedBatch]) throws -> SyncHarness {
    let policy = try SyncHarness.plain.setting([("retry.windows", "1/1m")])
    var harness = SyncHarness(SyncSettings(policy: policy))
    harness.give(SyncHarness.waiting(batches))
    return harness
  }

  @Test func `a retry that exceeds the rate windows is made once they allow it`() throws {
    var harness = try Self.narrow([SyncHarness.batch("a")])
    harness.fail("a", .refused)
    harness.pass(.seconds(1))
    #expect(harness.sent == ["a", "a"])
    harness.fail("a", .refused)
    #expect(harness.model.deadline == harness.now.advanced(by: .seconds(60)))
    harness.give(.again)
    #expect(harness.model.deadline == harness.now.advanced(by: .seconds(60)))
    harness.pass(.seconds(60) - .nanoseconds(1))
    #expect(harness.sent == ["a", "a"])
    harness.pass(.nanoseconds(1))
    #expect(harness.sent == ["a", "a", "a"])
  }

  @Test func `a retry-after from a late answer is honored after the current delay ends`() {
    var harness = SyncHarness()
    harness.give(
      SyncHarness.waiting([SyncHarness.batch("a"), SyncHarness.batch("c", SyncHarness.heart)]))
    let due = harness.now.advanced(by: .seconds(30) + .milliseconds(1))
    harness.pass(.milliseconds(1))
    harness.fail("c", .refused)
    harness.fail("a", SyncHarness.http(429, after: .seconds(30)))
    harness.pass(.seconds(1))
    #expect(harness.sent == ["c", "a"])
    #expect(harness.model.deadline == due)
    harness.pass(.seconds(29))
    #expect(harness.sent == ["c", "a", "c"])
  }

  @Test func `a type that waits for the rate windows does not delay other types`() throws {
    var harness = try Self.narrow([
      SyncHarness.batch("a"), SyncHarness.batch("c", SyncHarness.heart),
    ])
    harness.fail("a", SyncHarness.http(500))
    harness.fail("c", SyncHarness.http(500))
    harness.pass(.seconds(1))
    #expect(harness.sent == ["c", "a", "c"])
    let due = harness.now.advanced(by: .seconds(60))
    #expect(harness.model.queues.map(\.retryAt) == [nil, due])
    #expect(harness.model.server.heldUntil == nil)
    #expect(harness.model.deadline == due)
    harness.accept("c")
    harness.pass(.seconds(59))
    #expect(harness.sent == ["c", "a", "c"])
    harness.pass(.seconds(1))
    #expect(harness.sent == ["c", "a", "c", "a"])
  }

  @Test func `a manual retry does not delay a batch that has nothing to wait for`() throws {
    var harness = try Self.narrow([
      SyncHarness.batch("a"), SyncHarness.batch("c", SyncHarness.heart),
    ])
    harness.fail("c", SyncHarness.http(413))
    harness.fail("a", SyncHarness.http(500))
    harness.pass(.seconds(1))
    harness.fail("a", SyncHarness.http(500))
    #expect(harness.sent == ["c", "a", "a"])
    harness.give(.again)
    let halves = ["x", "y"].map { PayloadDraft(file: $0, records: 5, deletions: 0, bytes: 50) }
    harness.give(.split("c", halves))
    harness.finishCommits()
    #expect(harness.sent == ["c", "a", "a", "x"])
  }

  @Test func `with an empty retry schedule the first failure makes the server unreachable`() throws
  {
    let policy = try SyncHarness.plain.setting([("retry.first", "none")])
    var harness = SyncHarness(SyncSettings(policy: policy))
    harness.give(SyncHarness.waiting([SyncHarness.batch("a")]))
    harness.fail("a", .refused)
    #expect(harness.model.state == .unreachable(.refused))
    #expect(harness.model.deadline == harness.now.advanced(by: SyncSettings.longestPause))
  }

  @Test func `of several failing types the first in order is reported`() {
    var harness = SyncHarness()
    harness.give(
      SyncHarness.waiting([SyncHarness.batch("a"), SyncHarness.batch("c", SyncHarness.heart, 2)]))
    for _ in 0..<3 {
      #expect(harness.model.state == .working)
      harness.fail("a", SyncHarness.http(500))
      harness.fail("c", SyncHarness.http(501))
      harness.pass(.seconds(2))
    }
    #expect(harness.model.state == .unreachable(SyncHarness.http(501)), "types are in order")
  }
}
