public import LinkCore
import LinkStorage

// What always holds between the fields of a sync.
extension SyncModel {
  public func check(_ check: inout InvariantCheck) {
    check.require(
      stage != .new || (lanes.isEmpty && commits.isEmpty),
      "sync: nothing is done before the queue was read")
    check.require(
      wakes.values.allSatisfy { !$0.needs.isEmpty }, "sync: time is kept only for runs that come")
    check.require(
      change == nil || stage != .new, "sync: nothing is read again before it was read")
    check.require(
      saveAt == nil || !unsaved.isEmpty, "sync: only what was accepted is stored later")
    check.require(
      !isSecretRefused || gate.credentials.state == .missing,
      "sync: a refused secret is not used")
    check.require(
      server.exhausted == nil || server.failures > 0,
      "sync: a server that is given up has failed")
    for lane in lanes { checkLane(lane, &check) }
    if check.isThorough { checkBatches(&check) }
    gate.check(&check)
    server.retry.check(&check)
  }

  private func checkLane(_ lane: SyncLane, _ check: inout InvariantCheck) {
    switch lane.run {
    case .idle, .resting, .gathering:
      check.require(lane.begun == lane.ended, "sync: a run that is not under way has ended")
    case .fetching, .committing, .full:
      check.require(lane.begun == lane.ended + 1, "sync: a type has one run at a time")
    }
  }

  /// As many batches as may wait, and one page, each batch with all the records and deletions it
  /// may have. Divided batches hold no more than before.
  private static let mostHeld =
    (SyncSettings.mostBatches * 2 + 2) * SyncPacking.mostRecords

  private func checkBatches(_ check: inout InvariantCheck) {
    var acknowledged: Set<String> = []
    for lane in lanes {
      let places = lane.batches.map(\.queued.place)
      check.require(
        lane.batches.reduce(0) { $0 + $1.queued.records + $1.queued.deletions } <= Self.mostHeld,
        "sync: the batches of a type are bounded")
      check.require(
        zip(places, places.dropFirst()).allSatisfy { $0 <= $1 },
        "sync: the batches of a type are in order")
      check.require(
        places.allSatisfy { $0 < nextPlace }, "sync: new batches come behind all others")
      check.require(
        lane.batches.allSatisfy { $0.queued.parked == nil || $0.state == .waiting },
        "sync: a parked batch is not sent")
      for batch in lane.batches where batch.state == .acknowledged {
        acknowledged.insert(batch.queued.file)
      }
    }
    var saving = unsaved.map(\.file)
    for case .accepted(let all) in commits.values { saving += all.map(\.file) }
    check.require(
      acknowledged == Set(saving), "sync: what the server has is being stored")
    for (_, wake) in wakes {
      check.require(
        wake.needs.allSatisfy { type, run in lane(type).map { lanes[$0].ended < run } ?? false },
        "sync: time waits for runs that have not ended")
    }
  }
}
