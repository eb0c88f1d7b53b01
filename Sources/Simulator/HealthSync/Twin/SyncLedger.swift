import LinkCore
import LinkHealth
import LinkWire

/// What the disk of a phone must hold of a queue, told a second time.
struct SyncLedger {
  private var asked: [String] = []
  private var types: [SyncedType] = []
  private var batches: [QueuedBatch] = []
  private var stamp: Int64 = .min

  mutating func apply(_ step: SyncQueueStep) {
    switch step {
    case .ask(let types): asked = types
    case .anchor(let type, let anchor):
      if let anchor {
        change(type) { $0.anchor = anchor }
      } else {
        types.removeAll { $0.type == type }
      }
    case .add(let batch):
      batches.removeAll { $0.file == batch.file }
      batches.append(batch)
    case .accept(let file, let time):
      for batch in batches where batch.file == file {
        change(batch.type) {
          $0.synced += batch.records
          $0.lastAccepted = time
        }
      }
      batches.removeAll { $0.file == file }
    case .remove(let file): batches.removeAll { $0.file == file }
    case .park(let file, let reason):
      for index in batches.indices where batches[index].file == file {
        batches[index].parked = reason
      }
    case .stamp(let time): if time.nanoseconds > stamp { stamp = time.nanoseconds }
    }
  }

  private mutating func change(_ type: String, _ change: (inout SyncedType) -> Void) {
    var known = types.first { $0.type == type } ?? SyncedType(type: type)
    change(&known)
    types.removeAll { $0.type == type }
    types.append(known)
  }

  /// What differs in a queue; `nil` if nothing does.
  func difference(from queue: KeptSyncQueue) -> String? {
    if queue.asked != asked { return "the queue is for \(queue.asked), not \(asked)" }
    if queue.stamp.nanoseconds != stamp { return "the queue has another stamp" }
    if queue.types != types.sorted(by: { $0.type < $1.type }) {
      return "the queue has read and counted \(queue.types), not \(types)"
    }
    let sorted = batches.sorted {
      ($0.type, $0.place) < ($1.type, $1.place)
        || ($0.type, $0.place) == ($1.type, $1.place) && $0.file < $1.file
    }
    return queue.batches == sorted ? nil : "the queue has other batches, or in another order"
  }
}
