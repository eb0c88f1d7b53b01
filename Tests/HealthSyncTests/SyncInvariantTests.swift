import HoldfastTestKit
import LinkCore
import LinkHealth
import LinkStorage
import Testing

@testable import HealthSync

/// The check of a sync, and that of each of its parts, can fail, and allows what may be.
@Suite struct SyncInvariantTests {
  /// One batch on its way, one that waits, one that was accepted.
  private static var sending: SyncModel {
    var bench = SyncBench()
    bench.give(
      SyncBench.waiting([
        SyncBench.batch("a", SyncBench.steps, 1), SyncBench.batch("b", SyncBench.steps, 2),
        SyncBench.batch("c", SyncBench.steps, 3),
      ]))
    bench.accept("a")
    return bench.model
  }

  private static let plants: [PlantedFault<SyncModel>] = [
    ("sync: nothing is done before the queue was read", { $0.stage = .new }),
    ("sync: only what was accepted is stored later", { $0.saveAt = .zero }),
    ("sync: a refused secret is not used", { $0.isSecretRefused = true }),
    ("sync: a server that is given up has failed", { $0.server.exhausted = .refused }),
    ("sync: a type has one run at a time", { $0.lanes[0].run = .full }),
    ("sync: the batches of a type are in order", { $0.lanes[0].batches.reverse() }),
    ("sync: a parked batch is not sent", { $0.lanes[0].batches[1].queued.parked = "x" }),
    ("sync: what the server has is being stored", { $0.commits = [:] }),
    (
      "sync: time waits for runs that have not ended",
      { $0.wakes[WakeID(1)] = SyncWake(needs: ["unknown": 0], until: .zero) }
    ),
    ("gate: it is left only in the background", { $0.gate.leavesAt = .zero }),
    (
      "windows: events are remembered in order",
      {
        $0.server.retry.noteAttempt(at: .second(2))
        $0.server.retry.noteAttempt(at: .second(1))
      }
    ),
  ]

  @Test func `a broken sync is found`() {
    #expect(unnoticed(Self.plants, in: Self.sending) == [])
  }

  @Test func `as many records as may wait are no fault, and one more is`() {
    var model = Self.sending
    let others = model.lanes[0].batches.reduce(0) { $0 + $1.queued.records + $1.queued.deletions }
    model.lanes[0].batches[1].queued.records += 130_000 - others
    #expect(model.brokenInvariants(.thorough) == [])
    model.lanes[0].batches[1].queued.records += 1
    #expect(model.brokenInvariants(.thorough) == ["sync: the batches of a type are bounded"])
  }
}
