import HealthSync
import LinkCore
import LinkHealth
import LinkServerCore
import LinkStorage
import LinkWire

extension SyncFeature {
  /// A deliberate defect of a sync, on a phone or on the server.
  public enum Defect: String, DeliberateDefect {
    /// There is one kind of server.
    public typealias Server = OneServer

    // Those of the original app and its plan.
    /// Stores the anchor of a page before its batches.
    case anchorsEarly
    /// Keeps what is to be sent in memory only.
    case forgetsQueue
    /// Registers no observers, since it may not write.
    case observesNothing
    /// Gives granted time back before the work is done.
    case completesEarly
    /// Takes every answer for a success.
    case ignoresStatus
    /// Deletes files that are being uploaded.
    case deletesEarly
    /// Sends samples without their UUIDs.
    case omitsUUIDs
    /// The server ignores deletions.
    case ignoresDeletions
    /// Reads a type while it is being read.
    case readsTwice

    // Phones.
    /// Keeps granted time.
    case neverCompletes
    case completesTwice
    /// Takes a locked device for an empty one.
    case lockedIsEmpty
    /// Does not store what the server accepted.
    case forgetsAnswers
    /// Puts batches aside when the server fails.
    case parksFailures
    /// Sends a later batch first.
    case overtakes
    /// Stamps batches with a clock that goes back.
    case trustsClock
    /// Begins uploads again that still run.
    case adoptsNothing
    /// Uses a refused secret again.
    case keepsSecret
    /// Sends whatever the network costs.
    case ignoresConditions

    /// Does not heed the epoch of the server.
    case ignoresEpoch
    /// Does not heed the newest stamp that the server has of it.
    case ignoresStamp
    /// Takes the number of a change for the same change in a health store that was put back.
    case believesNumbers
    /// Takes a status of success for a success, whatever the answer says.
    case believesStatus

    /// Sends the bytes again that the server has.
    case resumesBlindly
    /// Begins each upload anew.
    case losesTickets

    // The server.
    /// Keeps the files of uploads that are complete.
    case keepsUploads
    /// Knows no uploads of earlier processes.
    case forgetsUploads
    /// Counts overlapping sources twice.
    case countsTwice
    /// Names the same epoch after it was put back to an earlier state.
    case keepsEpoch
    /// Does not say when a request may come again.
    case hidesWish
    /// Answers before the batch is durable.
    case answersEarly
    /// Does not count the bytes of an upload that a broken write has left, and writes behind them.
    case appendsBehind
    /// Shows what was stored when its process began.
    case readsStale

    /// Sends more batches at once than it may.
    case hastens
    /// The server wants failed requests to come again sooner than it must.
    case hurriesBack

    case timersStopAsleep
    case ignoresWish

    public var kinds: [Finding.Kind] {
      switch self {
      case .anchorsEarly: [.ahead]
      case .forgetsQueue, .answersEarly: [.lost]
      case .ignoresEpoch, .keepsEpoch, .believesNumbers, .ignoresStamp, .believesStatus:
        [.lost, .undeleted]
      case .observesNothing: [.lost, .unhealed]
      case .completesEarly: [.unread]
      case .ignoresStatus: [.lost, .undeleted]
      case .deletesEarly: [.hasty]
      case .omitsUUIDs, .ignoresDeletions: [.undeleted]
      case .readsTwice, .completesTwice: [.doubled]
      case .neverCompletes: [.overdue]
      case .lockedIsEmpty: [.unread]
      case .forgetsAnswers: [.hasty]
      case .parksFailures: [.parked]
      case .overtakes, .trustsClock, .hastens: [.reordered]
      case .adoptsNothing, .resumesBlindly, .losesTickets: [.resent]
      case .countsTwice, .readsStale: [.misshown]
      case .hidesWish, .hurriesBack: [.misanswered]
      case .appendsBehind: [.damaged]
      case .keepsUploads, .forgetsUploads: [.leftover]
      case .keepsSecret: [.storm]
      case .ignoresConditions: [.needless]
      case .timersStopAsleep, .ignoresWish: link?.kinds ?? []
      }
    }

    /// A write is broken in few runs, and in few of them does it matter that data were put back.
    public var seeds: Int {
      [.appendsBehind, .believesNumbers, .believesStatus].contains(self) ? 2_000 : 100
    }
  }
}

/// The seam between the world and its machines: clean, or as a defect would have it.
struct SyncSeam {
  let defect: SyncFeature.Defect?
  private var phones: [Memory]

  /// What the mistaken app remembers.
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
    case .fired(_, let wake, _): phones[phone].wakes.append(wake)
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
    case .update(.batch(let report)) where defect == .parksFailures && report.state == .retrying:
      return [effect] + [commit([.park(file: report.file, reason: "failed")], phone)]
    case .delete, .split, .identify, .askSecret, .refresh, .update: return [effect]
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

  /// How many batches of a type a phone really sends at once.
  func depth(_ depth: Int) -> Int { defect == .hastens ? depth + 1 : depth }

  /// The server's rules, as they really are.
  static func server(
    _ defect: SyncFeature.Defect?, epoch: String, at now: Instant
  ) -> SyncServer {
    var policy = SyncServerPolicy()
    if defect == .hurriesBack { policy.storeRetry = .seconds(29) }
    return SyncServer(policy: policy, epoch: epoch, at: now)
  }

  /// What the server really stores of a batch.
  func atServer(_ delivery: SyncDelivery) -> SyncDelivery {
    var changed = delivery
    if defect == .ignoresDeletions { changed.deleted = [] }
    if defect == .omitsUUIDs {
      for index in changed.samples.indices { changed.samples[index].uuid = nil }
    }
    return changed
  }
}
