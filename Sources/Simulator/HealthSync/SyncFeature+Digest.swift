import HealthSync
import LinkCore
import LinkHealth
import LinkWire

// What of a sync's steps is part of a run's digest, beside their roles. Sets have no order, and are
// left out.
extension SyncFeature {
  public static func mix(_ fact: Fact, into digest: inout Digest) {
    switch fact {
    case .granted(let phone, let wake, let until):
      digest.mix(1, UInt64(phone), wake.number)
      digest.mix(UInt64(bitPattern: until.nanoseconds))
    case .handedTwice(let phone, let file):
      digest.mix(2, UInt64(phone))
      digest.mix(file)
    case .putBack(let backup):
      switch backup {
      case .server: digest.mix(7)
      case .healthStore(let phone): digest.mix(8, UInt64(phone))
      case .queue(let phone): digest.mix(9, UInt64(phone))
      }
    case .locked(let phone, let id): digest.mix(3, UInt64(phone), id.number)
    case .changed(let phone): digest.mix(4, UInt64(phone))
    case .upload(let phone, let file, let fact):
      digest.mix(5, UInt64(phone))
      digest.mix(file)
      mix(fact, into: &digest)
    case .misshown(let phone, let detail):
      digest.mix(6, UInt64(phone))
      digest.mix(detail)
    case .misanswered(let detail): digest.mix(detail)
    case .damaged(let phone, let detail):
      digest.mix(phone)
      digest.mix(detail)
    case .leftover(let phone, let bytes):
      digest.mix(phone)
      digest.mix(UInt64(bytes))
    }
  }

  private static func mix(_ fact: SyncUploadFact, into digest: inout Digest) {
    switch fact {
    case .begins(let isGzip): digest.mix(isGzip)
    case .kept(let place, _): digest.mix(place)
    case .appends(let place, let from, let count):
      digest.mix(place)
      digest.mix(UInt64(from), UInt64(count))
    case .told(_, let status, let offset, let isComplete):
      digest.mix(UInt64(status), UInt64(offset ?? 0))
      digest.mix(isComplete)
    }
  }

  public static func mix(_ input: Input, into digest: inout Digest) {
    switch input {
    case .restored(let queue, let running, let missing):
      digest.mix(1, UInt64(queue.batches.count), UInt64(running.count))
      digest.mix(UInt64(missing.count))
    case .ask(let types): digest.mix(2, UInt64(types.count))
    case .fired(let types, let wake, let budget):
      digest.mix(3, wake.number, UInt64(types.count))
      digest.mix(budget)
    case .fetched(let id, let page):
      digest.mix(4, id.number, UInt64(page.drafts.count))
      digest.mix(page.made)
    case .notFetched(let id, _): digest.mix(5, id.number)
    case .notWritten(let id, _): digest.mix(6, id.number)
    case .committed(let id): digest.mix(7, id.number)
    case .notCommitted(let id, _): digest.mix(8, id.number)
    case .uploaded(let file, let outcome, let wall):
      digest.mix(file)
      digest.mix(wall)
      mix(outcome, into: &digest)
    case .halved(let file, let drafts):
      digest.mix(file)
      digest.mix(UInt64(drafts.count))
    case .notHalved(let file, _): digest.mix(file)
    case .identified(let identity):
      digest.mix(identity.owner.epoch ?? "")
      if let stamp = identity.stamp { digest.mix(stamp) }
    case .notIdentified: digest.mix(9)
    case .epoch(let epoch): digest.mix(epoch)
    case .secret(let isNew): digest.mix(isNew)
    case .refreshed(let failure): digest.mix(failure == nil)
    case .conditions(let conditions):
      digest.mix(conditions.isUnlocked)
      digest.mix(conditions.isConstrained || conditions.isLowPower)
    case .device, .again, .stop: return
    }
  }

  private static func mix(_ outcome: UploadOutcome, into digest: inout Digest) {
    switch outcome {
    case .accepted: digest.mix(1)
    case .failed(.http(let status, _, _)): digest.mix(2, UInt64(status))
    case .failed: digest.mix(3)
    case .unreadable: digest.mix(4)
    }
  }

  public static func mix(_ effect: Effect, into digest: inout Digest) {
    switch effect {
    case .observe(let types): digest.mix(1, UInt64(types.count))
    case .fetch(let id, let type, _, _, let stamp):
      digest.mix(2, id.number)
      digest.mix(type)
      digest.mix(stamp)
    case .commit(let id, let steps): digest.mix(3, id.number, UInt64(steps.count))
    case .delete(let files): digest.mix(4, UInt64(files.count))
    case .upload(let all): for upload in all { digest.mix(upload.file) }
    case .halve(let file): digest.mix(file)
    case .identify: digest.mix(10)
    case .askSecret: digest.mix(5)
    case .refresh: digest.mix(6)
    case .giveBack(let wake, let result):
      digest.mix(7, wake.number)
      digest.mix(result == .done)
    case .update(let update): mix(update, into: &digest)
    }
  }

  private static func mix(_ update: SyncUpdate, into digest: inout Digest) {
    switch update {
    case .batch(let report):
      digest.mix(report.file)
      digest.mix(report.state.rawValue)
    case .type(let report): digest.mix(8, UInt64(report.pending), UInt64(report.synced))
    case .notice: digest.mix(9)
    }
  }
}
