import LinkCore
import LinkHealth
import LinkStorage
import LinkWire

/// One type: how far its source was read, and the batches that wait.
///
///     idle ─▶ gathering ─▶ fetching ⇄ committing ─▶ idle      the anchor did not change any more
///                 ▲            │           │
///                 │            ▼           ▼
///                 └──────── resting       full ─▶ fetching    half of the batches were accepted
///
/// One run is under way at a time. What fires meanwhile causes one more run behind it.
struct SyncLane: Sendable, Hashable {
  let type: String
  /// Whether its source is to be read; batches of earlier launches are sent in any case.
  var isAsked = false
  var anchor: HealthAnchor?
  /// The earliest start of a sample that was read, from where it is read again.
  var earliest: Timestamp?
  var synced = 0
  var run = Run.idle
  /// Whether something fired during the run.
  var isAgain = false
  /// How many runs began, the one under way included, and how many ended.
  var (begun, ended): (UInt64, UInt64) = (0, 0)
  /// In the order of their places.
  var batches: [Batch] = []
  /// Failures of this type's own in a row, of batches that the server could not handle.
  var failures = 0
  var lastFailure: LinkFailure?
  var retryAt: Instant?
  var isExhausted = false
  /// Failures of the source or the files in a row.
  var sourceFailures = 0
  var sourceFailure: SyncSourceTrouble?

  init(_ type: String) { self.type = type }

  enum Run: Sendable, Hashable {
    case idle
    case gathering(until: Instant)
    case fetching(SyncFetchID)
    case committing(SyncCommitID)
    /// As many batches wait as may.
    case full
    /// It failed, and is tried again.
    case resting(until: Instant)
  }

  struct Batch: Sendable, Hashable {
    var queued: QueuedBatch
    var state = State.waiting
  }

  enum State: Sendable, Hashable {
    case waiting
    /// Handed over.
    case sending(since: Instant)
    /// The server has it; that is not stored yet.
    case acknowledged
    /// It is being divided.
    case halving
  }

  /// Batches that are neither parked nor acknowledged.
  var pending: Int {
    batches.count { $0.queued.parked == nil && $0.state != .acknowledged }
  }

  var parked: Int { batches.count { $0.queued.parked != nil } }

  var sending: Int {
    batches.count { if case .sending = $0.state { true } else { false } }
  }

  var report: SyncTypeReport {
    SyncTypeReport(type: type, pending: pending, parked: parked, synced: synced, anchor: anchor)
  }

  /// Whether all that fired was read.
  var isRead: Bool { !isAsked || (run == .idle && !isAgain && ended > 0) }

  func place(of file: String) -> Int? { batches.firstIndex { $0.queued.file == file } }

  /// The next batches that may be handed over, in order; none during a wait.
  func ready(depth: Int) -> [Int] {
    guard retryAt == nil else { return [] }
    let room = (failures > 0 ? 1 : depth) - sending
    guard room > 0 else { return [] }
    var found: [Int] = []
    for (index, batch) in batches.enumerated() where batch.queued.parked == nil {
      switch batch.state {
      case .waiting: found.append(index)
      case .sending, .acknowledged: continue
      // Its parts come first.
      case .halving: return found
      }
      if found.count == room { return found }
    }
    return found
  }
}

/// Why a run was put off.
enum SyncSourceTrouble: Sendable, Hashable {
  case source(HealthSourceFailure)
  case store(StoreFailure)
}
