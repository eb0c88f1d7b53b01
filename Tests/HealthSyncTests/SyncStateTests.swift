import HoldfastCore
import HoldfastSyncData
import Testing

@testable import HoldfastHealthSync

/// Tests of the state of a sync whose sources are not being read.
@Suite struct SyncStateTests {
  /// Returns a sync that has stopped reading because it has 64 batches.
  ///
  /// All batches except the last `waiting` ones are quarantined.
  private static func full(waiting: Int) -> SyncHarness {
    let batches = (1...64).map { number in
      var batch = SyncHarness.batch("b\(number)", SyncHarness.steps, UInt64(number))
      if number <= 64 - waiting { batch.quarantined = "400" }
      return batch
    }
    var harness = SyncHarness()
    harness.give(
      .restored(
        StoredSyncQueue(
          asked: [SyncHarness.steps], types: [], batches: batches, stamp: SyncHarness.time(0)),
        running: [], missing: []))
    harness.fire()
    harness.pass(.seconds(1))
    #expect(harness.model.queues.map(\.run) == [.full])
    return harness
  }

  @Test func `a full type whose batches are all quarantined is done`() {
    let harness = Self.full(waiting: 0)
    #expect(harness.model.state == .done(quarantined: 64))
    #expect(!harness.model.canWork)
  }

  @Test func `a sync that has nothing to send is done without a network, too`() {
    var harness = Self.full(waiting: 0)
    harness.give(.device(.reachability(.unreachable)))
    #expect(harness.model.state == .done(quarantined: 64))
  }

  @Test func `a full type with one batch being sent is still working`() {
    let harness = Self.full(waiting: 1)
    #expect(harness.sent == ["b64"])
    #expect(harness.model.state == .working)
    #expect(harness.model.canWork)
  }

  @Test func `a locked source of a type that is no longer requested does not delay completion`()
    throws
  {
    var harness = SyncHarness.fetching()
    harness.give(.notFetched(try #require(harness.fetches.last), .locked(detail: "locked")))
    #expect(harness.model.state == .working)
    harness.give(.ask([]))
    harness.finishCommits()
    #expect(harness.model.state == .done(quarantined: 0))
  }
}
