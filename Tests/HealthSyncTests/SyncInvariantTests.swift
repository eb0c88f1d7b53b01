import HoldfastCore
import HoldfastSyncData
import HoldfastTestKit
import Testing

@testable import HoldfastHealthSync

/// Tests that the invariant checks of a sync and its parts detect broken states and accept valid
/// ones.
@Suite struct SyncInvariantTests {
  /// A sync with an accepted batch, a batch that is being sent, and a waiting batch.
  private static var sending: SyncModel {
    var harness = SyncHarness()
    harness.give(
      SyncHarness.waiting([
        SyncHarness.batch("a", SyncHarness.steps, 1), SyncHarness.batch("b", SyncHarness.steps, 2),
        SyncHarness.batch("c", SyncHarness.steps, 3),
      ]))
    harness.accept("a")
    return harness.model
  }

  /// Replaces the queue of steps with a queue that has another run or changed batches.
  private static func replace(
    _ model: inout SyncModel, run: TypeQueue.Run = .idle,
    _ change: (inout [TypeQueue.Batch]) -> Void = { _ in }
  ) {
    var batches = model.queues[0].batches
    change(&batches)
    model.queues[0] = TypeQueue(SyncHarness.steps, batches, run: run)
  }

  private static let plants: [PlantedFault<SyncModel>] = [
    ("sync: nothing is done before the queue was read", { $0.stage = .new }),
    ("sync: a type has one run at a time", { replace(&$0, run: .full) }),
    ("sync: the batches of a type are in order", { replace(&$0) { $0.reverse() } }),
    (
      "sync: a quarantined batch is not sent",
      {
        replace(&$0) {
          $0[1].state = .splitting
          $0[1].queued.quarantined = "x"
        }
      }
    ),
    ("sync: new batches come after all others", { $0.numbers = SyncNumbers() }),
    ("sync: what the server has is being stored", { $0.commits = SyncCommits() }),
    (
      "sync: time waits for runs that have not ended",
      { $0.wakes.add(WakeID(1), needs: ["unknown": 0], until: .zero) }
    ),
    (
      "sync: a grant is held only for runs to come",
      { $0.wakes.add(WakeID(1), needs: [:], until: .zero) }
    ),
    (
      "windows: events are remembered in order",
      {
        _ = $0.server.mayTry(at: .second(2))
        _ = $0.server.mayTry(at: .second(1))
      }
    ),
  ]

  @Test func `the invariants detect every broken sync state`() {
    #expect(unnoticed(Self.plants, in: Self.sending) == [])
  }

  @Test func `the maximum number of pending records breaks no invariant, and one more breaks one`()
  {
    var model = Self.sending
    let others = model.queues[0].batches.reduce(0) { $0 + $1.queued.records + $1.queued.deletions }
    Self.replace(&model) { $0[1].queued.records += 130_000 - others }
    #expect(model.brokenInvariants(.thorough) == [])
    Self.replace(&model) { $0[1].queued.records += 1 }
    #expect(model.brokenInvariants(.thorough) == ["sync: the batches of a type are bounded"])
  }
}
