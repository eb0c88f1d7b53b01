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
      if number <= 64 - waiting { batch.parked = "400" }
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

  @Test func `a type whose batches are all parked has come as far as it can`() {
    let bench = Self.full(waiting: 0)
    #expect(bench.model.standing == .done(parked: 64))
    #expect(!bench.model.canWork)
  }

  @Test func `a sync that has nothing to send is done without a network, too`() {
    var bench = Self.full(waiting: 0)
    bench.give(.device(.reachability(.unreachable)))
    #expect(bench.model.standing == .done(parked: 64))
  }

  @Test func `a type with one batch on its way goes on`() {
    let bench = Self.full(waiting: 1)
    #expect(bench.sent == ["b64"])
    #expect(bench.model.standing == .working)
    #expect(bench.model.canWork)
  }

  @Test func `the source of a type that is asked for no more keeps nobody waiting`() throws {
    var bench = SyncBench.fetching()
    bench.give(.notFetched(try #require(bench.fetches.last), .locked(detail: "locked")))
    #expect(bench.model.standing == .working)
    bench.give(.ask([]))
    bench.finishCommits()
    #expect(bench.model.standing == .done(parked: 0))
  }
}
