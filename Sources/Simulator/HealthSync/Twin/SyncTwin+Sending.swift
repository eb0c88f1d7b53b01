import HealthSync
import LinkCore
import LinkWire

// What is sent, and what follows from answers.
extension SyncTwin {
  var isSendingAllowed: Bool {
    guard life != .unborn, secret == .good, gate.obstacle == nil else { return false }
    return gate.lifecycle == .foreground || !(conditions.isConstrained || conditions.isLowPower)
  }

  var hasWaiting: Bool {
    shelves.contains { shelf in shelf.bundles.contains(where: \.mayFly) }
  }

  /// Whether all batches are accepted or parked, and that is stored.
  var isEmpty: Bool {
    owed.isEmpty && writes.isEmpty && shelves.allSatisfy { !$0.bundles.contains(where: \.isOpen) }
  }

  mutating func send() {
    guard isSendingAllowed, hasWaiting, backend.rests == nil else { return }
    var uploads: [FileUpload] = []
    if backend.failures == 0 {
      for index in shelves.indices { uploads += sendAll(index) }
    } else if !shelves.contains(where: { $0.bundles.contains(where: \.isFlying) }) {
      uploads = sendOne()
    }
    if !uploads.isEmpty { effects.append(.upload(uploads)) }
  }

  private mutating func sendAll(_ index: Int) -> [FileUpload] {
    let next = next(index, most: shelves[index].failures > 0 ? 1 : depth)
    guard !next.isEmpty else { return [] }
    if shelves[index].failures > 0 {
      let soonest = backend.retry.earliest(at: now)
      guard soonest <= now else {
        shelves[index].rests = soonest
        return []
      }
      backend.retry.noteAttempt(at: now)
    }
    return next.map { fly(index, $0) }
  }

  /// One batch tells whether the server is back: of the types in turn.
  private mutating func sendOne() -> [FileUpload] {
    let last = backend.lastType.flatMap { place($0) } ?? shelves.count - 1
    let turns = Array(shelves.indices[(last + 1)...]) + Array(shelves.indices[...last])
    guard let index = turns.first(where: { !next($0, most: 1).isEmpty }) else { return [] }
    let soonest = backend.retry.earliest(at: now)
    guard soonest <= now else {
      backend.rests = soonest
      return []
    }
    backend.retry.noteAttempt(at: now)
    backend.lastType = shelves[index].type
    return next(index, most: 1).map { fly(index, $0) }
  }

  /// The places of the batches that may be sent with those that are on their way.
  private func next(_ index: Int, most: Int) -> [Int] {
    let shelf = shelves[index]
    if let rests = shelf.rests, rests > now { return [] }
    let room = most - shelf.bundles.filter(\.isFlying).count
    let bar = shelf.bundles.firstIndex { $0.fate == .splits } ?? shelf.bundles.count
    return Array((0..<bar).filter { shelf.bundles[$0].mayFly }.prefix(max(0, room)))
  }

  private mutating func fly(_ shelf: Int, _ index: Int) -> FileUpload {
    shelves[shelf].bundles[index].fate = .flies(now)
    shelves[shelf].rests = nil
    let batch = shelves[shelf].bundles[index].batch
    tell(batch, .sending)
    return FileUpload(file: batch.file, type: batch.type, bytes: batch.bytes)
  }

  // Answers.

  mutating func ended(_ file: String, _ outcome: UploadOutcome, _ time: Timestamp) {
    guard let (shelf, index) = find(file) else { return }
    let fate = shelves[shelf].bundles[index].fate
    switch outcome {
    case .accepted:
      if fate != .landed, fate != .splits { land(shelf, index, time) }
    case .failed(let failure):
      if case .flies(let since) = fate { failed(shelf, index, failure, since) }
    case .unreadable(let detail): if case .flies = fate { park(file, .words(detail)) }
    }
  }

  private mutating func land(_ shelf: Int, _ index: Int, _ time: Timestamp) {
    shelves[shelf].bundles[index].fate = .landed
    shelves[shelf].bundles[index].batch.parked = nil
    owed.append(Landed(file: shelves[shelf].bundles[index].batch.file, at: time))
    shelves[shelf].failures = 0
    shelves[shelf].failure = nil
    shelves[shelf].rests = nil
    shelves[shelf].gaveUp = false
    backend.wasThere = true
    isThere()
    if backend.rests == nil { backend.retry.noteStable() }
    if case .underWay = report { report = .underWay(isStale: true) } else { report = .due }
  }

  /// The server answers; what it wished still counts.
  private mutating func isThere() {
    backend.failures = 0
    backend.gaveUp = nil
    backend.rests = nil
    if let wish = backend.retry.notBefore, wish > now { backend.rests = wish }
  }

  private mutating func failed(
    _ shelf: Int, _ index: Int, _ failure: LinkFailure, _ since: Instant
  ) {
    let batch = shelves[shelf].bundles[index].batch
    var status = 0
    if case .http(let code, _, _) = failure { status = code }
    if status == 413 {
      // One record or one deletion has no halves: aside with it, and a wait for those behind it.
      if batch.records + batch.deletions < 2 {
        park(batch.file, Self.cannotSplit)
        return rest(shelf, failure)
      }
      shelves[shelf].bundles[index].fate = .splits
      return effects.append(.halve(batch.file))
    }
    if 400...499 ~= status, ![401, 408, 425, 429].contains(status) {
      return park(batch.file, .failure(failure))
    }
    shelves[shelf].bundles[index].fate = .waits
    tell(batch, .retrying, .failure(failure))
    if status == 401 {
      refuseSecret(since)
    } else if 500...599 ~= status, ![502, 503, 504].contains(status) {
      rest(shelf, failure)
    } else {
      isAway(failure, since)
    }
  }

  /// The server is there, and this type waits.
  private mutating func rest(_ shelf: Int, _ failure: LinkFailure) {
    isThere()
    backend.retry.noteFailure(at: now, wish: failure.serverWish)
    shelves[shelf].failures += 1
    shelves[shelf].failure = failure
    let (due, isLast) = nextTry(shelves[shelf].failures, failure)
    shelves[shelf].rests = due
    if isLast, !shelves[shelf].gaveUp { notice(.unreachable(failure)) }
    if isLast { shelves[shelf].gaveUp = true }
  }

  private mutating func isAway(_ failure: LinkFailure, _ since: Instant) {
    backend.retry.noteFailure(at: now, wish: failure.serverWish)
    // Uploads that began before the failure was known share it.
    if backend.failures > 0, let failedAt = backend.failedAt, failedAt > since { return }
    backend.failures += 1
    backend.failedAt = now
    let (due, isLast) = nextTry(backend.failures, failure)
    backend.rests = due
    guard isLast, backend.gaveUp == nil else { return }
    backend.gaveUp = failure
    notice(.unreachable(failure))
  }

  /// When a try comes after so many failures, and whether the schedule has no wait for it.
  private mutating func nextTry(_ failures: Int, _ failure: LinkFailure) -> (Instant, Bool) {
    let schedule = backend.wasThere ? policy.retry.reconnect : policy.retry.first
    var spread: Duration?
    if policy.verdict(on: failure) == .retrySpread { spread = policy.retry.serverSpread }
    let count = schedule.attempts ?? .max
    let isLast = failures > count
    let due = backend.retry.plan(
      schedule, before: isLast ? count - 1 : failures - 1, spread: spread, at: now,
      chance: &chance)
    let late = backend.retry.earliest(at: now.advanced(by: .seconds(900)))
    return (due ?? late, isLast)
  }

  mutating func park(_ file: String, _ reason: SyncBatchReport.Reason) {
    guard let (shelf, index) = find(file) else { return }
    let words =
      switch reason {
      case .words(let words): words
      case .failure(.http(let status, _, let detail)):
        ["\(status)", detail].filter { !$0.isEmpty }.joined(separator: ": ")
      case .failure(let failure): failure.failureClass.rawValue
      }
    shelves[shelf].bundles[index].fate = .waits
    shelves[shelf].bundles[index].batch.parked = words
    tell(shelves[shelf].bundles[index].batch, .parked, reason)
    write(.aside(file), [.park(file: file, reason: words)])
  }

  // Batches that are too large.

  private func isSplitting(_ file: String) -> Bool {
    find(file).map { shelves[$0.0].bundles[$0.1].fate == .splits } ?? false
  }

  private static let cannotSplit = SyncBatchReport.Reason.words(
    "413: the server does not take it, and it cannot be divided")

  mutating func split(_ file: String, _ drafts: [PayloadDraft]) {
    guard isSplitting(file), let (shelf, index) = find(file) else {
      return effects.append(.delete(drafts.map(\.file)))
    }
    let bundles = shelves[shelf].bundles
    let type = shelves[shelf].type
    var next = nextPlace
    for case .page(type, let batches, _) in writes.values {
      next = min(next, batches.first?.place ?? next)
    }
    if index + 1 < bundles.count { next = bundles[index + 1].batch.place }
    let first = bundles[index].batch.place
    let middle = (first + next) / 2
    guard drafts.count == 2, middle != first else {
      effects.append(.delete(drafts.map(\.file)))
      return park(file, Self.cannotSplit)
    }
    let parts = zip(drafts, [first, middle]).map { draft, place in
      QueuedBatch(
        file: draft.file, type: type, place: place, records: draft.records,
        deletions: draft.deletions, bytes: draft.bytes)
    }
    write(
      .parts(file, parts), [.remove(file: file), .add(parts[0]), .add(parts[1])])
  }

  mutating func replace(_ file: String, _ parts: [QueuedBatch]) {
    guard let (shelf, index) = find(file) else { return }
    shelves[shelf].bundles.remove(at: index)
    shelves[shelf].bundles.insert(contentsOf: parts.map { Bundle(batch: $0) }, at: index)
    effects.append(.delete([file]))
    notice(.divided(file: file))
    for part in parts { tell(part, .queued) }
    tell(shelves[shelf])
  }

  mutating func unsplit(_ file: String, _ failure: StoreFailure?) {
    guard isSplitting(file) else { return }
    guard let failure else { return park(file, Self.cannotSplit) }
    notice(.store(failure))
    putBack(file)
  }

  mutating func putBack(_ file: String) {
    guard let (shelf, index) = find(file) else { return }
    shelves[shelf].bundles[index].fate = .waits
    shelves[shelf].rests = now.advanced(by: Self.pause(diskFailures))
  }

  // The secret.

  private mutating func refuseSecret(_ since: Instant) {
    guard secret == .good, secretSince ?? since <= since else { return }
    askForSecret()
  }

  private mutating func askForSecret() {
    secret = .asked(until: now.advanced(by: policy.gate.refreshTimeout))
    effects.append(.askSecret)
  }

  mutating func told(_ isNew: Bool) {
    guard case .asked = secret else { return }
    guard isNew else { return noSecret() }
    (secret, secretSince) = (.good, now)
    if isSecretRefused { notice(.secretRenewed) }
    isSecretRefused = false
  }

  private mutating func noSecret() {
    secret = .refused(until: now.advanced(by: .seconds(60)))
    if !isSecretRefused { notice(.secretRefused) }
    isSecretRefused = true
  }

  mutating func mindSecret() {
    if case .asked(let until) = secret, until <= now { noSecret() }
    if case .refused(let until) = secret, until <= now { askForSecret() }
  }
}
