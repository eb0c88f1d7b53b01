import LinkCore
import LinkStorage
import LinkWire

/// How well the server answers, for all types together.
struct SyncServerState: Sendable, Hashable {
  /// Windows and the server's wishes; every try that follows a failure counts.
  var retry: Retry
  /// Failures in a row that concern all types.
  var failures = 0
  /// Nothing is sent before.
  var heldUntil: Instant?
  /// When the last of the failures was noted; what was sent before says nothing new.
  var failedAt: Instant?
  /// The failure that ended the schedule of tries.
  var exhausted: LinkFailure?
  /// Whether a batch was accepted in this process.
  var wasReached = false
  /// The type of the last try while the server fails, so that the next one is of another.
  var lastTried: String?

  init(_ policy: RetryPolicy) { retry = Retry(policy) }

  /// The server is there. What it asked for before, in the answer to another upload, still counts.
  mutating func answered(at now: Instant) {
    (failures, exhausted) = (0, nil)
    heldUntil = retry.notBefore.flatMap { $0 > now ? $0 : nil }
  }
}

/// What follows from an answer that is no success.
private enum Consequence {
  case retryAll, retryType, newSecret, halve, park

  init(_ failure: LinkFailure) {
    guard case .http(let status, _, _) = failure else {
      self = .retryAll
      return
    }
    self =
      switch status {
      case 401: .newSecret
      case 413: .halve
      // Too early, too slow, too often: the same batch may be accepted later.
      case 408, 425, 429: .retryAll
      case 400..<500: .park
      // Gateways and overload concern all batches, other faults of a server perhaps one; so does an
      // answer of success that says that the batch was not stored.
      case 200..<300: .retryType
      case 502, 503, 504: .retryAll
      case 500..<600: .retryType
      case _: .retryAll
      }
  }
}

extension SyncModel {
  /// Whether a batch waits to be sent.
  var hasWaiting: Bool {
    lanes.contains { lane in
      lane.batches.contains { $0.queued.parked == nil && $0.state == .waiting }
    }
  }

  /// Whether everything that was queued is accepted or parked, and that is stored.
  var isSent: Bool { lanes.allSatisfy { $0.pending == 0 } && unsaved.isEmpty && commits.isEmpty }

  var isSendingAllowed: Bool {
    gate.isOpen && (gate.lifecycle == .foreground || conditions.allowsBackground)
  }

  /// Forgets waits that are over.
  mutating func endWaits(at now: Instant) {
    if let held = server.heldUntil, now >= held { server.heldUntil = nil }
    for place in lanes.indices {
      if let retryAt = lanes[place].retryAt, now >= retryAt { lanes[place].retryAt = nil }
    }
  }

  /// Hands over what may be sent now, all at once.
  mutating func send(at now: Instant, _ effects: inout [Effect]) {
    guard introduction == .known, change == nil, isSendingAllowed, hasWaiting,
      server.heldUntil == nil
    else { return }
    var uploads: [FileUpload] = []
    if server.failures > 0 {
      // One try shows whether the server is back.
      guard lanes.allSatisfy({ $0.sending == 0 }), let place = nextToTry else { return }
      guard mayTry(at: now) else { return }
      server.lastTried = lanes[place].type
      if let index = lanes[place].ready(depth: 1).first {
        uploads.append(hand(over: index, of: place, at: now, &effects))
      }
    } else {
      for place in lanes.indices {
        let ready = lanes[place].ready(depth: settings.depth)
        guard !ready.isEmpty else { continue }
        if lanes[place].failures > 0, !mayTry(at: now) {
          lanes[place].retryAt = server.retry.earliest(at: now)
          continue
        }
        uploads += ready.map { hand(over: $0, of: place, at: now, &effects) }
      }
    }
    if !uploads.isEmpty { effects.append(.upload(uploads)) }
  }

  /// Counts a try after a failure, if the windows allow one.
  mutating func mayTry(at now: Instant) -> Bool {
    let earliest = server.retry.earliest(at: now)
    guard earliest <= now else {
      if server.failures > 0 { server.heldUntil = earliest }
      return false
    }
    server.retry.noteAttempt(at: now)
    return true
  }

  /// The type after the one that was tried last that has something to send.
  private var nextToTry: Int? {
    let last = server.lastTried.flatMap { lane($0) } ?? lanes.count - 1
    return (1...lanes.count).lazy.map { (last + $0) % lanes.count }
      .first { !lanes[$0].ready(depth: 1).isEmpty }
  }

  private mutating func hand(
    over index: Int, of place: Int, at now: Instant, _ effects: inout [Effect]
  ) -> FileUpload {
    lanes[place].batches[index].state = .sending(since: now)
    lanes[place].retryAt = nil
    let batch = lanes[place].batches[index].queued
    effects.append(.update(.batch(SyncBatchReport(batch, .sending))))
    return FileUpload(file: batch.file, type: batch.type, bytes: batch.bytes)
  }

  // MARK: Answers

  mutating func uploaded(
    _ file: String, _ outcome: UploadOutcome, _ time: Timestamp, at now: Instant,
    _ effects: inout [Effect]
  ) {
    guard let (place, index) = find(file) else { return }
    let batch = lanes[place].batches[index]
    switch (outcome, batch.state) {
    // It may be the late answer of an earlier upload: the server has the batch.
    case (.accepted, .waiting), (.accepted, .sending): accepted(place, index, time, at: now)
    case (.failed(let failure), .sending(let since)):
      failed(place, index, failure, since: since, at: now, &effects)
    case (.unreadable(let detail), .sending): park(file, .words(detail), &effects)
    case (.accepted, .acknowledged), (.accepted, .halving), (.failed, .waiting),
      (.failed, .acknowledged), (.failed, .halving), (.unreadable, .waiting),
      (.unreadable, .acknowledged), (.unreadable, .halving):
      return  // late
    }
  }

  private mutating func accepted(
    _ place: Int, _ index: Int, _ time: Timestamp, at now: Instant
  ) {
    lanes[place].batches[index].queued.parked = nil
    lanes[place].batches[index].state = .acknowledged
    unsaved.append(Accepted(file: lanes[place].batches[index].queued.file, at: time))
    (lanes[place].failures, lanes[place].isExhausted) = (0, false)
    (lanes[place].lastFailure, lanes[place].retryAt) = (nil, nil)
    server.wasReached = true
    server.answered(at: now)
    if server.heldUntil == nil { server.retry.noteStable() }
    switch refresh {
    case .none, .owed: refresh = .owed
    case .running, .runningAndOwed: refresh = .runningAndOwed
    }
  }

  private mutating func failed(
    _ place: Int, _ index: Int, _ failure: LinkFailure, since: Instant, at now: Instant,
    _ effects: inout [Effect]
  ) {
    let file = lanes[place].batches[index].queued.file
    let consequence = Consequence(failure)
    switch consequence {
    case .park: return park(file, .failure(failure), &effects)
    case .halve:
      let batch = lanes[place].batches[index].queued
      guard batch.records + batch.deletions <= 1 else { return halve(place, index, &effects) }
      park(file, Self.tooLarge, &effects)
      // A server that takes not even one may take none: the next batch waits.
      return hold(place, failure, at: now, &effects)
    case .retryAll, .retryType, .newSecret: break
    }
    lanes[place].batches[index].state = .waiting
    let batch = lanes[place].batches[index].queued
    effects.append(.update(.batch(SyncBatchReport(batch, .retrying, .failure(failure)))))
    switch consequence {
    case .newSecret: refuseSecret(since: since, at: now, &effects)
    case .retryAll: holdAll(failure, since: since, at: now, &effects)
    case .retryType: hold(place, failure, at: now, &effects)
    case .park, .halve: return
    }
  }

  /// Waits with all types.
  mutating func holdAll(
    _ failure: LinkFailure, since: Instant, at now: Instant, _ effects: inout [Effect]
  ) {
    server.retry.noteFailure(at: now, wish: failure.serverWish)
    // Uploads that began before the failure was known share it.
    if let failedAt = server.failedAt, since < failedAt, server.failures > 0 { return }
    server.failures += 1
    server.failedAt = now
    let (due, isLast) = next(after: server.failures, failure, at: now)
    server.heldUntil = due
    if isLast, server.exhausted == nil {
      server.exhausted = failure
      effects.append(.update(.notice(.unreachable(failure))))
    }
  }

  /// Waits with one type.
  private mutating func hold(
    _ place: Int, _ failure: LinkFailure, at now: Instant, _ effects: inout [Effect]
  ) {
    // An answer, even this one, shows that the server is there.
    server.answered(at: now)
    server.retry.noteFailure(at: now, wish: failure.serverWish)
    lanes[place].failures += 1
    lanes[place].lastFailure = failure
    let (due, isLast) = next(after: lanes[place].failures, failure, at: now)
    lanes[place].retryAt = due
    if isLast, !lanes[place].isExhausted {
      lanes[place].isExhausted = true
      effects.append(.update(.notice(.unreachable(failure))))
    }
  }

  /// Returns when to try again after so many failures, and whether the schedule has ended.
  private mutating func next(
    after failures: Int, _ failure: LinkFailure, at now: Instant
  ) -> (due: Instant, isLast: Bool) {
    let policy = settings.policy.retry
    let schedule = server.wasReached ? policy.reconnect : policy.first
    let spread =
      settings.policy.verdict(on: failure) == .retrySpread ? policy.serverSpread : nil
    func plan(_ index: Int) -> Instant? {
      server.retry.plan(schedule, before: index, spread: spread, at: now, chance: &chance)
    }
    if let due = plan(failures - 1) { return (due, false) }
    let last = schedule.attempts.flatMap { $0 > 0 ? plan($0 - 1) : nil }
    return (
      last ?? server.retry.earliest(at: now.advanced(by: SyncSettings.longestPause)), true
    )
  }

  mutating func refreshed(_ failure: LinkFailure?, _ effects: inout [Effect]) {
    switch refresh {
    case .none, .owed: return
    case .running: refresh = .none
    case .runningAndOwed: refresh = .owed
    }
    if let failure { effects.append(.update(.notice(.notRefreshed(failure)))) }
  }
}
