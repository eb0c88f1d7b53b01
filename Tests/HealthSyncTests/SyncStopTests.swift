import HoldfastCore
import HoldfastSyncData
import Testing

@testable import HoldfastHealthSync

/// Tests of the work that a sync completes after it has been stopped.
@Suite struct SyncStopTests {
  @Test func `batches accepted before a stop are stored before the sync ends`() {
    var harness = SyncHarness()
    harness.give(
      SyncHarness.waiting([SyncHarness.batch("a"), SyncHarness.batch("b", SyncHarness.steps, 2)]))
    harness.accept("a")
    harness.accept("b")
    harness.give(.stop)
    #expect(!harness.model.isStopped)
    harness.finishCommits()
    let time = SyncHarness.time(5)
    #expect(harness.steps == [[.accept(file: "a", at: time)], [.accept(file: "b", at: time)]])
    #expect(harness.deleted == ["a", "b"])
    #expect(harness.model.isStopped)
  }
}
