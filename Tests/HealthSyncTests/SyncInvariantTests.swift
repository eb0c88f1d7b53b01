import HoldfastTestKit
import LinkCore
import LinkHealth
import LinkWire
import Testing

@testable import HealthSync

/// Each invariant of a sync can fail.
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
    (
      "sync: time is kept only for runs that come",
      { $0.wakes[WakeID(1)] = SyncWake(needs: [:], until: .zero) }
    ),
    ("sync: only what was accepted is stored later", { $0.saveAt = .zero }),
    ("sync: a refused secret is not used", { $0.isSecretRefused = true }),
    ("sync: a server that is given up has failed", { $0.server.exhausted = .refused }),
    ("sync: a run that is not under way has ended", { $0.lanes[0].begun = 1 }),
    ("sync: a type has one run at a time", { $0.lanes[0].run = .full }),
    (
      "sync: the batches of a type are bounded",
      { $0.lanes[0].batches[1].queued.records = 130_000 }
    ),
    (
      "sync: the batches of a type are bounded",
      { $0.lanes[0].batches[1].queued.deletions = 130_000 }
    ),
    ("sync: the batches of a type are in order", { $0.lanes[0].batches.reverse() }),
    ("sync: new batches come behind all others", { $0.nextPlace = 3 * QueuedBatch.distance }),
    ("gate: it is left only in the background", { $0.gate.leavesAt = .zero }),
    (
      "windows: events are remembered in order",
      {
        $0.server.retry.noteAttempt(at: .second(2))
        $0.server.retry.noteAttempt(at: .second(1))
      }
    ),
    ("sync: a parked batch is not sent", { $0.lanes[0].batches[1].queued.parked = "x" }),
    ("sync: what the server has is being stored", { $0.commits = [:] }),
    (
      "sync: time waits for runs that have not ended",
      { $0.wakes[WakeID(1)] = SyncWake(needs: [SyncBench.steps: 0], until: .zero) }
    ),
    (
      "sync: time waits for runs that have not ended",
      { $0.wakes[WakeID(1)] = SyncWake(needs: ["unknown": 0], until: .zero) }
    ),
  ]

  @Test func `a sync that sends is checked`() {
    #expect(unnoticed(Self.plants, in: Self.sending) == [])
  }

  @Test func `a transaction before the queue was read is a fault`() {
    var model = SyncBench().model
    #expect(model.brokenInvariants(.thorough) == [])
    model.commits[SyncCommitID(1)] = .ask
    #expect(
      model.brokenInvariants(.thorough) == ["sync: nothing is done before the queue was read"])
  }

  @Test func `a type before the queue was read is a fault`() {
    var model = SyncBench().model
    model.lanes = [SyncLane(SyncBench.steps)]
    #expect(
      model.brokenInvariants(.thorough) == ["sync: nothing is done before the queue was read"])
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
