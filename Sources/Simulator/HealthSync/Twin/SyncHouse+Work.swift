import LinkCore
import LinkServerCore
import LinkWire

// What became of the work that was asked for.
extension SyncHouse {
  mutating func done(_ token: UInt64, _ outcome: SyncOutcome) {
    guard let work = work.removeValue(forKey: token) else { return }
    guard let (name, version, isLast) = work.upload else { return say(outcome, to: work.guest) }
    uploads[name]?.busy = nil
    if isLast {
      finished(work.guest, name, version, outcome)
    } else {
      kept(work.guest, name, version, outcome)
    }
    resume(name)
  }

  private mutating func say(_ outcome: SyncOutcome, to id: RequestID) {
    switch outcome {
    case .stored(let tally):
      count(tally)
      let body =
        #"{"success":true,"inserted":{"records":\#(tally.records),"workouts":\#(tally.workouts)},"#
        + #""skippedDuplicates":\#(tally.skippedDuplicates)}"#
      answer(id, Say(status: 200, body: body))
    case .checked:
      failure = nil
      let took = (guests[id]?.since ?? now).duration(to: now).nanoseconds / 1_000_000
      answer(id, Say(status: 200, body: #"{"success":true,"refreshedIn":\#(took)}"#))
    case .told(let body): answer(id, Say(status: 200, body: String(decoding: body, as: UTF8.self)))
    case .refused(let reason): answer(id, .error(400, "Bad request", reason))
    case .tooLong(let limit):
      answer(
        id, .error(413, "Too large", "A body has at most \(limit) bytes. Split the batch."))
    case .failed(let failure), .unfinished(_, let failure): fail(id, failure)
    case .kept: return
    }
  }

  private mutating func count(_ tally: SyncTally) {
    failure = nil
    sums[0] += 1
    sums[1] += UInt64(tally.records) + UInt64(tally.workouts)
    sums[2] += UInt64(tally.skippedDuplicates)
  }

  private mutating func fail(_ id: RequestID, _ failure: StoreFailure) {
    self.failure = failure
    sums[4] += 1
    answer(id, .error(503, "The store failed", "Nothing was stored.", after: 30))
  }

  private mutating func note(_ name: UUID128, _ offset: Int) {
    uploads[name]?.offset = offset
    uploads[name]?.isStored = true
    uploads[name]?.expires = now.advanced(by: Self.day)
  }

  private mutating func kept(
    _ id: RequestID, _ name: UUID128, _ version: Int, _ outcome: SyncOutcome
  ) {
    let isNew = guests[id]?.path == .sync
    switch outcome {
    case .kept(let offset):
      failure = nil
      if let before = uploads[name]?.offset, offset > before { sums[5] += UInt64(offset - before) }
      note(name, offset)
      var fields = Self.state(version, offset)
      if isNew { fields += [Self.location(name), Self.limit()] }
      answer(id, Say(status: isNew ? 201 : 204, body: "", fields: fields))
    case .failed(let failure), .unfinished(_, let failure):
      if let upload = uploads[name], !upload.isStored, upload.queue.isEmpty { uploads[name] = nil }
      fail(id, failure)
    case .stored, .checked, .told, .refused, .tooLong: return
    }
  }

  private mutating func finished(
    _ id: RequestID, _ name: UUID128, _ version: Int, _ outcome: SyncOutcome
  ) {
    switch outcome {
    case .kept: return
    case .failed(let failure): return fail(id, failure)
    case .unfinished(let offset, let failure):
      note(name, offset)
      return fail(id, failure)
    case .stored(let tally) where version == 0:
      count(tally)
      let fields = Self.state(0, uploads[name]?.length)
      answer(id, Say(status: 204, body: "", fields: fields))
    case .stored, .checked, .told, .refused, .tooLong:
      guests[id]?.ends = version
      say(outcome, to: id)
    }
    forget(name)
  }
}
