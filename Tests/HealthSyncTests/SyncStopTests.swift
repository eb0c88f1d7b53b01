import LinkCore
import LinkStorage
import Testing

@testable import HealthSync

/// The work that a sync completes after it was stopped.
@Suite struct SyncStopTests {
  @Test func `batches accepted before a stop are stored before the sync ends`() {
    var bench = SyncBench()
    bench.give(
      SyncBench.waiting([SyncBench.batch("a"), SyncBench.batch("b", SyncBench.steps, 2)]))
    bench.accept("a")
    bench.accept("b")
    bench.give(.stop)
    #expect(!bench.model.isStopped)
    bench.finishCommits()
    let time = SyncBench.time(5)
    #expect(bench.steps == [[.accept(file: "a", at: time)], [.accept(file: "b", at: time)]])
    #expect(bench.deleted == ["a", "b"])
    #expect(bench.model.isStopped)
  }
}
