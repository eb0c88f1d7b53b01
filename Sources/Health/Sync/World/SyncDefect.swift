import HoldfastCore
import HoldfastHealthSync
public import HoldfastLinkChecks
public import HoldfastSyncChecks
import HoldfastSyncData
import HoldfastSyncServer
import HoldfastUploads
public import HoldfastWorldKernel

extension SyncFeature {
  /// A deliberate defect of HealthSync, in the app or on the server.
  public enum Defect: String, DeliberateDefect {
    /// The servers of this world. There is only one.
    public typealias Server = OneServer

    // Defects of the original app and of its plan.
    /// The app stores the anchor of a page before its batches.
    case anchorsEarly
    /// The app keeps its queue only in memory.
    case forgetsQueue
    /// The app registers no observers, because it has no write permission.
    case observesNothing
    /// The app gives back granted time before its work is done.
    case completesEarly
    /// The app treats every answer as a success.
    case ignoresStatus
    /// The app deletes files that are being uploaded.
    case deletesEarly
    /// The app sends samples without their UUIDs.
    case omitsUUIDs
    /// The server ignores deletions.
    case ignoresDeletions
    /// The app starts to read a type while another read of the type is in progress.
    case readsTwice

    // Defects of phones.
    /// The app never gives back granted time.
    case neverCompletes
    case completesTwice
    /// The app treats a locked device as one without data.
    case lockedIsEmpty
    /// The app does not store which batches the server accepted.
    case forgetsAnswers
    /// The app quarantines batches when the server fails.
    case quarantinesFailures
    /// The app sends a later batch of a type first.
    case overtakes
    /// The app stamps batches with a clock that may go backwards.
    case trustsClock
    /// The app starts uploads again that are still running.
    case adoptsNothing
    /// The app keeps using a refused secret.
    case keepsSecret
    /// The app uploads in the background even if the user saves data or power.
    case ignoresConditions

    /// The app ignores the server's epoch.
    case ignoresEpoch
    /// The app ignores the newest stamp that the server has for the phone.
    case ignoresStamp
    /// The app assumes that a change number still denotes the same change after the health store
    /// was restored.
    case believesNumbers
    /// The app treats a success status as a success, whatever the body states.
    case believesStatus

    /// The app sends bytes again that the server already has.
    case resumesBlindly
    /// The app starts each upload from the beginning.
    case losesTickets

    // Defects of the server.
    /// The server keeps the files of completed uploads.
    case keepsUploads
    /// The server ignores the uploads of earlier processes.
    case forgetsUploads
    /// The server counts samples twice if two sources overlap.
    case countsTwice
    /// The server keeps its epoch after its data was restored to an earlier state.
    case keepsEpoch
    /// The server omits the retry-after from its answers.
    case hidesRetryAfter
    /// The server answers before the batch is durable.
    case answersEarly
    /// The server ignores bytes that a failed write left in an upload's file, and appends after
    /// them.
    case appendsBehind
    /// The server answers from the data that was stored when its process started.
    case readsStale

    /// The app sends more batches at once than permitted.
    case hastens
    /// The server sends a retry-after of 29 s instead of 30 s while the store fails.
    case hurriesBack

    case timersStopAsleep
    case ignoresRetryAfter

    public var kinds: [Finding.Kind] {
      switch self {
      case .anchorsEarly: [.ahead]
      case .forgetsQueue, .answersEarly: [.lost]
      case .ignoresEpoch, .keepsEpoch, .believesNumbers, .ignoresStamp, .believesStatus:
        [.lost, .undeleted]
      case .observesNothing: [.lost, .unhealed]
      case .completesEarly: [.unread]
      case .ignoresStatus: [.lost, .undeleted]
      case .deletesEarly: [.deletedEarly]
      case .omitsUUIDs, .ignoresDeletions: [.undeleted]
      case .readsTwice, .completesTwice: [.doubled]
      case .neverCompletes: [.overdue]
      case .lockedIsEmpty: [.unread]
      case .forgetsAnswers: [.deletedEarly]
      case .quarantinesFailures: [.quarantined]
      case .overtakes, .trustsClock, .hastens: [.reordered]
      case .adoptsNothing, .resumesBlindly, .losesTickets: [.resent]
      case .countsTwice, .readsStale: [.displayMismatch]
      case .hidesRetryAfter, .hurriesBack: [.invalidResponse]
      case .appendsBehind: [.damaged]
      case .keepsUploads, .forgetsUploads: [.leftover]
      case .keepsSecret: [.storm]
      case .ignoresConditions: [.needless]
      case .timersStopAsleep, .ignoresRetryAfter: link?.kinds ?? []
      }
    }

    /// The number of seeds within which the defect is detected.
    ///
    /// Three defects need more seeds, because only few runs have a failed write or are affected by
    /// restored data.
    public var seeds: Int {
      [.appendsBehind, .believesNumbers, .believesStatus].contains(self) ? 2_000 : 100
    }
  }
}

/// The seam between the world and its state machines. It applies a defect, if there is one.
struct SyncSeam {
  let defect: SyncFeature.Defect?
  private var phones: [Memory]

  /// The state that a defective app keeps.
  private struct Memory {
    var wakes: [WakeID] = []
    var starts: [SyncFetchID: HealthPageStart] = [:]
    var queued: [QueuedBatch] = []
    var commits: UInt64 = 1 << 40
  }

  init(_ defect: SyncFeature.Defect?, phones: Int) {
    self.defect = defect
    self.phones = Array(repeating: Memory(), count: phones)
  }

  mutating func toPhone(_ input: SyncModel.Input, _ phone: Int) -> [SyncModel.Input] {
    switch input {
    case .restored(let queue, let running, let missing):
      phones[phone] = Memory()
      phones[phone].queued = queue.batches
      return [restored(queue, running, missing)]
    case .fired(_, let wake, _), .woken(let wake, _, _): phones[phone].wakes.append(wake)
    case .notFetched(let id, .locked) where defect == .lockedIsEmpty:
      guard case .after(let anchor)? = phones[phone].starts[id] else { return [input] }
      let made = Timestamp(nanoseconds: .min)
      return [.fetched(id, FetchedPage(drafts: [], anchor: anchor, made: made))]
    case .uploaded(let file, .failed(.http), let wall) where defect == .ignoresStatus:
      return [.uploaded(file, .accepted, at: wall)]
    case .uploaded(let file, .failed(.http(let status, _, _)), let wall)
    where defect == .believesStatus && 200..<300 ~= status:
      return [.uploaded(file, .accepted, at: wall)]
    case .epoch where defect == .ignoresEpoch: return []
    case .identified(var identity):
      if defect == .ignoresEpoch { identity.owner.epoch = nil }
      if defect == .ignoresStamp { identity.stamp = nil }
      return [.identified(identity)]
    case .secret where defect == .keepsSecret: return [.secret(isNew: true)]
    case .conditions(var conditions) where defect == .lockedIsEmpty:
      conditions.isUnlocked = true
      return [.conditions(conditions)]
    case .conditions(var conditions) where defect == .ignoresConditions:
      (conditions.isConstrained, conditions.isLowPower) = (false, false)
      return [.conditions(conditions)]
    case .ask, .fetched, .notFetched, .notWritten, .committed, .notCommitted, .uploaded, .split,
      .notSplit, .notIdentified, .epoch, .secret, .refreshed, .device, .conditions, .again,
      .stop:
      break
    }
    return [input]
  }

  private func restored(
    _ queue: StoredSyncQueue, _ running: Set<String>, _ missing: Set<String>
  ) -> SyncModel.Input {
    if defect == .forgetsQueue {
      let rest = StoredSyncQueue(
        asked: queue.asked, types: queue.types, batches: [], stamp: queue.stamp,
        owner: queue.owner)
      return .restored(rest, running: [], missing: [])
    }
    return .restored(queue, running: defect == .adoptsNothing ? [] : running, missing: missing)
  }

  mutating func fromPhone(_ effect: SyncModel.Effect, _ phone: Int) -> [SyncModel.Effect] {
    switch effect {
    case .observe: return defect == .observesNothing ? [] : [effect]
    case .fetch(let id, let type, let start, let limit, _):
      phones[phone].starts[id] = start
      if defect == .completesEarly {
        defer { phones[phone].wakes = [] }
        return phones[phone].wakes.map { .giveBack($0, .done) } + [effect]
      }
      if defect == .readsTwice { return [effect, effect] }
      let stamp = Timestamp(nanoseconds: .min)
      return defect == .trustsClock
        ? [.fetch(id, type, start, limit: limit, notBefore: stamp)] : [effect]
    case .giveBack:
      if defect == .neverCompletes || defect == .completesEarly { return [] }
      return defect == .completesTwice ? [effect, effect] : [effect]
    case .commit(let id, let steps): return commit(id, steps, phone)
    case .upload(let all): return upload(all, phone)
    case .update(.batch(let report))
    where defect == .quarantinesFailures && report.state == .retrying:
      return [effect] + [commit([.quarantine(file: report.file, reason: "failed")], phone)]
    case .delete, .split, .identify, .requestSecret, .refresh, .update: return [effect]
    }
  }

  private mutating func commit(_ steps: [SyncQueueStep], _ phone: Int) -> SyncModel.Effect {
    phones[phone].commits += 1
    return .commit(SyncCommitID(phones[phone].commits), steps)
  }

  private mutating func commit(
    _ id: SyncCommitID, _ steps: [SyncQueueStep], _ phone: Int
  ) -> [SyncModel.Effect] {
    for case .add(let batch) in steps { phones[phone].queued.append(batch) }
    if defect == .anchorsEarly {
      let anchors = steps.filter { if case .anchor = $0 { true } else { false } }
      guard !anchors.isEmpty else { return [.commit(id, steps)] }
      return [
        commit(anchors, phone),
        .commit(id, steps.filter { if case .anchor = $0 { false } else { true } }),
      ]
    }
    guard defect == .forgetsAnswers else { return [.commit(id, steps)] }
    return [.commit(id, steps.filter { if case .accept = $0 { false } else { true } })]
  }

  private mutating func upload(_ all: [FileUpload], _ phone: Int) -> [SyncModel.Effect] {
    if defect == .deletesEarly { return [.upload(all), .delete(all.map(\.file))] }
    guard defect == .overtakes else { return [.upload(all)] }
    let later = all.map { upload in
      let last = phones[phone].queued.last { $0.type == upload.type }
      return FileUpload(
        file: last?.file ?? upload.file, type: upload.type, bytes: upload.bytes)
    }
    return [.upload(later)]
  }

  /// Returns the number of batches of a type that a phone sends at once, with the defect applied.
  func depth(_ depth: Int) -> Int { defect == .hastens ? depth + 1 : depth }

  /// Returns the server's rules, with the defect applied.
  static func server(
    _ defect: SyncFeature.Defect?, epoch: String, at now: Instant
  ) -> SyncServer {
    var policy = SyncServerPolicy()
    if defect == .hurriesBack { policy.storeRetry = .seconds(29) }
    return SyncServer(policy: policy, epoch: epoch, at: now)
  }

  /// Returns the part of a batch that the server stores, with the defect applied.
  func atServer(_ delivery: SyncDelivery) -> SyncDelivery {
    var changed = delivery
    if defect == .ignoresDeletions { changed.deleted = [] }
    if defect == .omitsUUIDs {
      for index in changed.samples.indices { changed.samples[index].uuid = nil }
    }
    return changed
  }
}
