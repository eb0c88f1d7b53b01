import LinkCore
import LinkHealth
import LinkStorage
import LinkWire
import Testing

@testable import HealthSync

/// The state of a sync whose sources are not being read.
@Suite struct SyncStandingTests {
  /// Returns a sync that reads no further because it has 64 batches.
  ///
  /// All batches but the last `waiting` are quarantined.
  private static func full(waiting: Int) -> SyncBench {
    let batches = (1...64).map { number in
      var batch = SyncBench.batch("b\(number)", SyncBench.steps, UInt64(number))
      if number <= 64 - waiting { batch.quarantined = "400" }
      return batch
    }
    var bench = SyncBench()
    bench.give(
      .restored(
        StoredSyncQueue(
          asked: [SyncBench.steps], types: [], batches: batches, stamp: SyncBench.time(0)),
        running: [], missing: []))
    bench.fire()
    bench.pass(.seconds(1))
    #expect(bench.model.queues.map(\.run) == [.full])
    return bench
  }

  @Test func `a full type whose batches are all quarantined is done`() {
    let bench = Self.full(waiting: 0)
    #expect(bench.model.standing == .done(quarantined: 64))
    #expect(!bench.model.canWork)
  }

  @Test func `a sync that has nothing to send is done without a network, too`() {
    var bench = Self.full(waiting: 0)
    bench.give(.device(.reachability(.unreachable)))
    #expect(bench.model.standing == .done(quarantined: 64))
  }

  @Test func `a full type with one batch being sent is still working`() {
    let bench = Self.full(waiting: 1)
    #expect(bench.sent == ["b64"])
    #expect(bench.model.standing == .working)
    #expect(bench.model.canWork)
  }

  @Test func `a locked source of a type that is no longer requested does not delay completion`()
    throws
  {
    var bench = SyncBench.fetching()
    bench.give(.notFetched(try #require(bench.fetches.last), .locked(detail: "locked")))
    #expect(bench.model.standing == .working)
    bench.give(.ask([]))
    bench.finishCommits()
    #expect(bench.model.standing == .done(quarantined: 0))
  }
}
