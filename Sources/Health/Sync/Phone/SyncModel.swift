public import HoldfastCore
import HoldfastSyncData
import HoldfastUploads

/// A sync of health samples from a phone to a server. It reads sources, queues batches and sends
/// them.
///
///     source ─▶ fetch ─▶ files ─▶ commit: anchor and batches ─▶ upload ─▶ stored ─▶ commit: accepted
///                                   │                            │  ▲
///                                   ▼                            ▼  │
///                              the wake ends           retry, split, quarantine, ask for a secret
///
/// A `TypeQueue` reads each type. An anchor moves in the transaction that stores the batches up to
/// it. If the process is killed at any point, work is repeated but no data is lost. A batch leaves
/// the queue when the server reports it as stored. A batch is quarantined only if the server
/// refuses it. Nothing is sent until the server has identified the account that owns the stored
/// progress.
///
/// Sample values never enter this machine: the shell packs pages into files and reports their
/// counts.
public struct SyncModel: Machine {
  let settings: SyncSettings
  var stage = Stage.new
  var numbers = SyncNumbers()
  var gate: SyncGate
  /// One queue for each type, in the order in which the types were requested.
  var queues: [TypeQueue] = []
  var wakes = SyncWakes()
  var server: SyncServerState
  var commits = SyncCommits()
  var ownership = SyncOwnership()

  /// Creates a sync that waits for the stored queue.
  public init(_ settings: SyncSettings, seed: UInt64) {
    self.settings = settings
    gate = SyncGate(settings.policy.gate)
    server = SyncServerState(settings.policy, seed: seed)
  }

  enum Stage: Sendable, Hashable {
    case new
    case running
    case stopping(until: Instant)
    case stopped
  }

  /// Handles one input.
  public mutating func handle(_ input: Input, at now: Instant) -> [Effect] {
    var effects: [Effect] = []
    take(input, at: now, &effects)
    performDue(at: now, &effects)
    return effects
  }

  /// Handles the deadlines that have passed by `now`.
  public mutating func tick(at now: Instant) -> [Effect] {
    guard let deadline, now >= deadline else { return [] }
    var effects: [Effect] = []
    performDue(at: now, &effects)
    return effects
  }

  private mutating func take(_ input: Input, at now: Instant, _ effects: inout [Effect]) {
    switch input {
    case .restored(let queue, let running, let missing):
      restore(queue, running: running, missing: missing, at: now, &effects)
    case .ask(let types): ask(types, &effects)
    case .fired(let types, let wake, let budget):
      fired(types, wake, budget, at: now, &effects)
    case .woken(let wake, let budget, let reads):
      woken(wake, budget, reads: reads, at: now, &effects)
    case .fetched(let id, let page): fetched(id, page, at: now, &effects)
    case .notFetched(let id, let failure):
      postpone(id, .source(failure), at: now, &effects)
    case .notWritten(let id, let failure): postpone(id, .store(failure), at: now, &effects)
    case .committed(let id): committed(id, at: now, &effects)
    case .notCommitted(let id, let failure): notCommitted(id, failure, at: now, &effects)
    case .uploaded(let file, let outcome, let time):
      uploaded(file, outcome, time, at: now, &effects)
    case .split(let file, let drafts): wasSplit(file, drafts, at: now, &effects)
    case .notSplit(let file, let failure): notSplit(file, failure, at: now, &effects)
    case .identified(let identity): identified(identity, at: now, &effects)
    case .notIdentified(let failure): notIdentified(failure, at: now, &effects)
    case .epoch(let epoch): received(epoch: epoch, at: now, &effects)
    case .secret(let isNew):
      // The new secret may belong to another person.
      if gate.renew(isNew: isNew, at: now, &effects) { ownership.forgetIdentification() }
    case .refreshed(let failure): refreshed(failure, &effects)
    case .device(let change):
      if gate.note(change, isFailing: server.isFailing) { tryNow(at: now) }
    case .conditions(let conditions): gate.note(conditions)
    case .again:
      // A person who retries may have restored the server. While the server is failing, a single
      // attempt is enough.
      if ownership.identification == .known, !server.isFailing { ownership.verifyAgain() }
      tryNow(at: now)
    case .stop: stop(at: now, &effects)
    }
  }

  /// Performs everything that is due. The function is idempotent.
  private mutating func performDue(at now: Instant, _ effects: inout [Effect]) {
    wakes.expire(at: now, &effects)
    switch stage {
    case .new, .stopped: return
    case .stopping(let until):
      save(at: now, &effects)
      if commits.underWay.isEmpty || now >= until { stage = .stopped }
    case .running:
      server.endWait(at: now)
      for index in queues.indices { queues[index].endWait(at: now) }
      readAgain(at: now, &effects)
      for index in queues.indices { advance(index, at: now, &effects) }
      save(at: now, &effects)
      gate.watchSecret(at: now, &effects)
      identify(at: now, &effects)
      send(at: now, &effects)
      if isSent, server.beginReport() { effects.append(.refresh) }
      if !isBusy { wakes.rest(isDone: !hasPostponed, &effects) }
    }
  }

  /// The next instant at which `tick` must be called.
  public var deadline: Instant? {
    var due = [wakes.deadline, commits.deadline]
    switch stage {
    case .new, .stopped: return nil
    case .stopping(let until): due.append(until)
    case .running:
      for queue in queues {
        switch queue.run {
        case .gathering(let until), .backingOff(let until):
          if gate.conditions.isUnlocked, ownership.allowsReading { due.append(until) }
        case .idle, .fetching, .committing, .full: break
        }
        due.append(queue.retryAt)
      }
      due += gate.deadlines + [ownership.deadline, server.heldUntil]
    }
    return due.lazy.compactMap(\.self).min()
  }

  private mutating func stop(at now: Instant, _ effects: inout [Effect]) {
    switch stage {
    case .new: stage = .stopped
    case .running: stage = .stopping(until: now.advanced(by: SyncSettings.flushTimeout))
    case .stopping, .stopped: return
    }
    wakes.giveBackAll(&effects)
  }

  /// Ends all waits, except rate-limit windows and the server's retry-after.
  mutating func tryNow(at now: Instant) {
    server.tryNow(at: now)
    gate.tryNow(at: now)
    commits.tryNow(at: now)
    ownership.tryNow(at: now)
    let earliest = server.earliest(at: now)
    for index in queues.indices { queues[index].tryNow(at: now, earliest: earliest) }
  }

  /// Returns the index of a batch's queue, and the index of the batch in that queue.
  private func find(_ file: String) -> (queue: Int, batch: Int)? {
    for (index, queue) in queues.enumerated() {
      if let batch = queue.index(of: file) { return (index, batch) }
    }
    return nil
  }

  func queue(of type: String) -> Int? { queues.firstIndex { $0.type == type } }

  private func report(_ index: Int, _ effects: inout [Effect]) {
    effects.append(.update(.type(queues[index].report)))
  }
}

// Stored data, changes of sources, and the runs that read sources.
extension SyncModel {
  private mutating func restore(
    _ stored: StoredSyncQueue, running: Set<String>, missing: Set<String>, at now: Instant,
    _ effects: inout [Effect]
  ) {
    guard stage == .new else { return }
    stage = .running
    gate.open(at: now)
    numbers.note(stamp: stored.stamp)
    ownership.restore(stored.owner)
    for type in stored.asked where queue(of: type) == nil { queues.append(TypeQueue(type)) }
    for type in stored.types { queues[queueOrNew(of: type.type)].restore(type) }
    for batch in stored.batches {
      let isRunning = running.contains(batch.file) && batch.quarantined == nil
      queues[queueOrNew(of: batch.type)].restore(
        batch, isRunning ? .sending(since: now) : .waiting)
      numbers.note(position: batch.position)
    }
    for file in missing.sorted() { quarantine(file, Self.missingFile, &effects) }
    observe(stored.asked, &effects)
    for index in queues.indices { report(index, &effects) }
  }

  private static let missingFile =
    SyncBatchReport.Reason.text(
      "its file is missing; reset the type to read its last 30 days again")

  private mutating func queueOrNew(of type: String) -> Int {
    if let index = queue(of: type) { return index }
    queues.append(TypeQueue(type))
    return queues.count - 1
  }

  private mutating func ask(_ types: [String], _ effects: inout [Effect]) {
    guard stage == .running else { return }
    commit(.ask, [.ask(types)], &effects)
    observe(types, &effects)
  }

  private mutating func observe(_ types: [String], _ effects: inout [Effect]) {
    for index in queues.indices { queues[index].setReadsSource(types.contains(queues[index].type)) }
    for type in types { queues[queueOrNew(of: type)].setReadsSource(true) }
    if !types.isEmpty { effects.append(.observe(types)) }
  }

  /// Begins or continues the run of a type if it is due.
  private mutating func advance(_ index: Int, at now: Instant, _ effects: inout [Effect]) {
    guard ownership.allowsReading,
      let turn = queues[index].advance(at: now, isUnlocked: gate.conditions.isUnlocked)
    else { return }
    take(turn, index, &effects)
  }

  private mutating func take(
    _ turn: TypeQueue.NextAction, _ index: Int, _ effects: inout [Effect]
  ) {
    switch turn {
    case .fetch:
      let id = SyncFetchID(numbers.next())
      let start = queues[index].fetch(id)
      effects.append(
        .fetch(
          id, queues[index].type, start, limit: SyncSettings.pageLimit,
          notBefore: numbers.nextStamp))
    case .full: conclude(index, .later, &effects)
    }
  }

  private func reading(_ id: SyncFetchID) -> Int? {
    queues.firstIndex { $0.run == .fetching(id) }
  }

  private mutating func fetched(
    _ id: SyncFetchID, _ page: FetchedPage, at now: Instant, _ effects: inout [Effect]
  ) {
    guard stage == .running, let index = reading(id) else {  // a late event
      return effects.append(.delete(page.drafts.map(\.file)))
    }
    guard !ownership.isChanging else {
      effects.append(.delete(page.drafts.map(\.file)))
      return restart(index, at: now, &effects)
    }
    guard !queues[index].isEnd(page) else {
      queues[index].endRun(at: now)
      return conclude(index, .done, &effects)
    }
    if !page.drafts.isEmpty { numbers.note(stamp: page.made) }
    let type = queues[index].type
    let batches = page.drafts.map { $0.queued(type, at: numbers.takePosition()) }
    var steps =
      batches.map { SyncQueueStep.add($0) }
      + [.anchor(type: type, page.anchor), .stamp(numbers.stamp)]
    if let earliest = page.earliest, queues[index].isEarlier(earliest) {
      steps.append(.earliest(type: type, earliest))
    }
    let id = commit(.page(type: type, batches, page), steps, &effects)
    queues[index].commit(id)
  }

  /// Continues after a page was stored.
  private mutating func stored(
    _ type: String, _ batches: [QueuedBatch], _ page: FetchedPage, _ effects: inout [Effect]
  ) {
    guard let index = queue(of: type) else { return }
    queues[index].store(page, batches)
    for batch in batches { effects.append(.update(.batch(SyncBatchReport(batch, .queued)))) }
    report(index, &effects)
    guard stage == .running, !ownership.isChanging else { return }
    take(queues[index].proceed(), index, &effects)
  }

  /// Postpones a run after a failure.
  private mutating func postpone(
    _ id: SyncFetchID, _ trouble: SyncSourceTrouble, at now: Instant, _ effects: inout [Effect]
  ) {
    guard stage == .running, let index = reading(id) else { return }  // a late event
    rest(index, trouble, at: now, &effects)
  }

  private mutating func rest(
    _ index: Int, _ trouble: SyncSourceTrouble, at now: Instant, _ effects: inout [Effect]
  ) {
    queues[index].rest(trouble, at: now)
    switch trouble {
    case .source(let failure):
      effects.append(.update(.notice(.source(type: queues[index].type, failure))))
    case .store(let failure): effects.append(.update(.notice(.store(failure))))
    }
    conclude(index, .later, &effects)
  }

  /// Ends a run whose pages cannot be used, so that another run begins.
  private mutating func restart(_ index: Int, at now: Instant, _ effects: inout [Effect]) {
    queues[index].beginAnew(at: now)
    conclude(index, .later, &effects)
  }

  /// Ends the wakes that wait only for the current run of a type.
  private mutating func conclude(
    _ index: Int, _ result: WakeResult, _ effects: inout [Effect]
  ) {
    wakes.conclude(queues[index].type, queues[index].currentRun, result, &effects)
  }
}

// The owner of the progress.
extension SyncModel {
  /// Whether the server is needed: a batch waits, or the owner is not yet identified.
  var needsServer: Bool {
    hasWaiting || (ownership.identification != .known && !queues.isEmpty)
  }

  /// Requests the identity of the server and of the secret's owner.
  private mutating func identify(at now: Instant, _ effects: inout [Effect]) {
    guard ownership.identification == .unknown, needsServer, gate.allowsSending,
      server.heldUntil == nil
    else { return }
    if server.isFailing, !server.mayTry(at: now) { return }
    ownership.ask(at: now)
    effects.append(.identify)
  }

  private mutating func identified(
    _ identity: SyncIdentity, at now: Instant, _ effects: inout [Effect]
  ) {
    guard let since = ownership.answered(isKnown: true) else { return }  // a late event
    server.answered(at: now)
    // The request used an earlier secret, which may belong to another person.
    if gate.isOfEarlierSecret(since: since) { return ownership.verifyAgain() }
    // The server has a newer timestamp than the queue, so the queue was restored to an earlier
    // state. Later batches need timestamps after all earlier ones.
    let isRolledBack = identity.stamp.map { $0 > numbers.stamp } ?? false
    if let newest = identity.stamp { numbers.note(stamp: newest) }
    adopt(identity.owner, isRolledBack: isRolledBack, at: now, &effects)
  }

  /// Handles the epoch in a response.
  private mutating func received(epoch: String, at now: Instant, _ effects: inout [Effect]) {
    guard let owner = ownership.owner(epoch: epoch) else { return }
    adopt(owner, isRolledBack: false, at: now, &effects)
  }

  private mutating func adopt(
    _ reported: SyncOwner, isRolledBack: Bool, at now: Instant, _ effects: inout [Effect]
  ) {
    if let first = ownership.adopt(reported, isRolledBack: isRolledBack, at: now, &effects) {
      own(first, again: false, &effects)
    }
  }

  private mutating func own(_ owner: SyncOwner, again: Bool, _ effects: inout [Effect]) {
    ownership.store(owner)
    commit(.own(owner, again: again), [.own(owner, again: again)], &effects)
  }

  private mutating func notIdentified(
    _ failure: LinkFailure, at now: Instant, _ effects: inout [Effect]
  ) {
    guard let since = ownership.answered(isKnown: false) else { return }  // a late event
    if case .http(401, _, _) = failure {
      gate.refuseSecret(since: since, at: now, &effects)
    } else {
      holdAll(failure, since: since, at: now, &effects)
    }
  }

  /// Resets the progress in the transaction that stores the new owner.
  ///
  /// The reset waits until nothing is being read or stored, since data in progress belongs to the
  /// previous owner.
  private mutating func readAgain(at now: Instant, _ effects: inout [Effect]) {
    guard ownership.isChangeDue(at: now), !commits.isStoringBatches else { return }
    for queue in queues { if case .fetching = queue.run { return } }
    guard let owner = ownership.takeChange() else { return }
    for index in queues.indices {
      if queues[index].forgetProgress(at: now) { restart(index, at: now, &effects) }
      report(index, &effects)
    }
    own(owner, again: true, &effects)
  }
}

// The transactions of the queue.
extension SyncModel {
  @discardableResult
  private mutating func commit(
    _ commit: SyncCommits.Commit, _ steps: [SyncQueueStep], _ effects: inout [Effect]
  ) -> SyncCommitID {
    let id = SyncCommitID(numbers.next())
    commits.begin(commit, id)
    effects.append(.commit(id, steps))
    return id
  }

  /// Stores accepted batches in one transaction at a time. Batches that are accepted during a
  /// transaction share the next one.
  private mutating func save(at now: Instant, _ effects: inout [Effect]) {
    guard let all = commits.takeUnsaved(at: now) else { return }
    commit(.accepted(all), all.map { .accept(file: $0.file, at: $0.at) }, &effects)
  }

  private mutating func committed(
    _ id: SyncCommitID, at now: Instant, _ effects: inout [Effect]
  ) {
    switch commits.committed(id) {
    case .page(let type, let batches, let page)?: stored(type, batches, page, &effects)
    case .accepted(let all)?: saved(all, &effects)
    case .parts(let file, let batches)?: replaced(file, by: batches, &effects)
    case .quarantine(let file)?:
      guard let (index, _) = find(file) else { return }
      report(index, &effects)
    case .own?: ownership.stored()
    case .ask?, nil: return
    }
  }

  /// Removes accepted batches and their files.
  private mutating func saved(_ all: [SyncCommits.Accepted], _ effects: inout [Effect]) {
    var changed: Set<Int> = []
    for accepted in all {
      guard let (index, batch) = find(accepted.file) else { continue }
      let removed = queues[index].remove(batch)
      changed.insert(index)
      effects.append(.update(.batch(SyncBatchReport(removed, .accepted))))
    }
    effects.append(.delete(all.map(\.file)))
    for index in changed.sorted() { report(index, &effects) }
  }

  private mutating func notCommitted(
    _ id: SyncCommitID, _ failure: StoreFailure, at now: Instant, _ effects: inout [Effect]
  ) {
    switch commits.failed(id, failure) {
    case .page(let type, let batches, _)?:
      effects.append(.delete(batches.map(\.file)))
      guard let index = queue(of: type) else { return }
      return rest(index, .store(failure), at: now, &effects)
    case .accepted(let all)?: commits.requeue(all, at: now)
    case .parts(let file, let batches)?:
      effects.append(.delete(batches.map(\.file)))
      requeue(file, at: now)
    case .quarantine(let file)?: sendAgain(file, at: now)
    case .own(let owner, let again)?:
      let retryAt = now.advanced(by: commits.pause)
      if ownership.notStored(owner, again: again, retryAt: retryAt) { server.hold(until: retryAt) }
    case .ask?: break
    case nil: return
    }
    effects.append(.update(.notice(.store(failure))))
  }

  /// Quarantines a batch and reports the quarantine.
  private mutating func quarantine(
    _ file: String, _ reason: SyncBatchReport.Reason, _ effects: inout [Effect]
  ) {
    guard let (index, batch) = find(file) else { return }
    let text = reason.description
    queues[index].quarantine(batch, text)
    let queued = queues[index].batches[batch].queued
    effects.append(.update(.batch(SyncBatchReport(queued, .quarantined, reason))))
    commit(.quarantine(file), [.quarantine(file: file, reason: text)], &effects)
  }

  /// Returns a batch to the queue because its quarantine could not be stored. Other processes could
  /// neither see nor end such a quarantine.
  private mutating func sendAgain(_ file: String, at now: Instant) {
    guard let (index, batch) = find(file), queues[index].batches[batch].queued.quarantined != nil
    else { return }
    queues[index].quarantine(batch, nil)
    requeue(file, at: now)
  }

  private mutating func requeue(_ file: String, at now: Instant) {
    guard let (index, batch) = find(file) else { return }
    queues[index].requeue(batch, until: now.advanced(by: commits.pause))
  }

  // MARK: Batches that exceed the server's size limit

  private mutating func wasSplit(
    _ file: String, _ drafts: [PayloadDraft], at now: Instant, _ effects: inout [Effect]
  ) {
    guard let (index, batch) = find(file), queues[index].batches[batch].state == .splitting else {
      return effects.append(.delete(drafts.map(\.file)))
    }
    let batches = queues[index].batches
    let first = batches[batch].queued.position
    let type = queues[index].type
    let next =
      batch + 1 < batches.count
      ? batches[batch + 1].queued.position : commits.firstPosition(of: type) ?? numbers.nextPosition
    let middle = first + (next - first) / 2
    guard middle > first, drafts.count == 2 else {
      effects.append(.delete(drafts.map(\.file)))
      return quarantine(file, Self.tooLarge, &effects)
    }
    let parts = [drafts[0].queued(type, at: first), drafts[1].queued(type, at: middle)]
    commit(.parts(of: file, parts), [.remove(file: file)] + parts.map { .add($0) }, &effects)
  }

  private mutating func replaced(
    _ file: String, by parts: [QueuedBatch], _ effects: inout [Effect]
  ) {
    guard let (index, batch) = find(file) else { return }
    queues[index].replace(batch, by: parts)
    effects += [.delete([file]), .update(.notice(.divided(file: file)))]
    for part in parts { effects.append(.update(.batch(SyncBatchReport(part, .queued)))) }
    report(index, &effects)
  }

  private mutating func notSplit(
    _ file: String, _ failure: StoreFailure?, at now: Instant, _ effects: inout [Effect]
  ) {
    guard let (index, batch) = find(file), queues[index].batches[batch].state == .splitting else {
      return
    }
    guard let failure else { return quarantine(file, Self.tooLarge, &effects) }
    effects.append(.update(.notice(.store(failure))))
    requeue(file, at: now)
  }

  private static let tooLarge = SyncBatchReport.Reason.text(
    "413: the server does not take it, and it cannot be divided")
}

// Uploads and their results.
extension SyncModel {
  /// Whether a batch waits to be sent.
  private var hasWaiting: Bool { queues.contains(where: \.hasWaiting) }

  /// Whether every queued batch is accepted or quarantined, and all of these changes are stored.
  private var isSent: Bool { queues.allSatisfy { $0.pending == 0 } && commits.isDone }

  /// Hands over all batches that may be sent now.
  private mutating func send(at now: Instant, _ effects: inout [Effect]) {
    guard ownership.allowsSending, gate.allowsSending, hasWaiting, server.heldUntil == nil else {
      return
    }
    var uploads: [FileUpload] = []
    if server.isFailing {
      // One attempt shows whether the server works again.
      guard queues.allSatisfy(\.sending.isEmpty), let index = nextToTry else { return }
      guard server.mayTry(at: now) else { return }
      server.tries(queues[index].type)
      if let batch = queues[index].ready(depth: 1).first {
        uploads.append(handOver(batch, of: index, at: now, &effects))
      }
    } else {
      for index in queues.indices {
        let ready = queues[index].ready(depth: settings.depth)
        guard !ready.isEmpty else { continue }
        if queues[index].failures > 0, !server.mayTry(at: now) {
          queues[index].wait(until: server.earliest(at: now))
          continue
        }
        uploads += ready.map { handOver($0, of: index, at: now, &effects) }
      }
    }
    if !uploads.isEmpty { effects.append(.upload(uploads)) }
  }

  /// The next type with a batch to send, after the type of the last attempt.
  private var nextToTry: Int? {
    let last = server.lastTried.flatMap { queue(of: $0) } ?? queues.count - 1
    return (1...queues.count).lazy.map { (last + $0) % queues.count }
      .first { !queues[$0].ready(depth: 1).isEmpty }
  }

  private mutating func handOver(
    _ batch: Int, of index: Int, at now: Instant, _ effects: inout [Effect]
  ) -> FileUpload {
    let queued = queues[index].handOver(batch, at: now)
    effects.append(.update(.batch(SyncBatchReport(queued, .sending))))
    return FileUpload(file: queued.file, type: queued.type, bytes: queued.bytes)
  }

  private mutating func uploaded(
    _ file: String, _ outcome: UploadOutcome, _ time: Timestamp, at now: Instant,
    _ effects: inout [Effect]
  ) {
    guard let (index, batch) = find(file) else { return }
    switch (outcome, queues[index].batches[batch].state) {
    // This may be the late response to an earlier upload. In either case, the server has the batch.
    case (.accepted, .waiting), (.accepted, .sending):
      queues[index].acknowledge(batch)
      commits.add(file, at: time)
      server.accepted(at: now)
    case (.failed(let failure), .sending(let since)):
      failed(index, batch, failure, since: since, at: now, &effects)
    case (.unreadable(let detail), .sending): quarantine(file, .text(detail), &effects)
    case (.accepted, .acknowledged), (.accepted, .splitting), (.failed, .waiting),
      (.failed, .acknowledged), (.failed, .splitting), (.unreadable, .waiting),
      (.unreadable, .acknowledged), (.unreadable, .splitting):
      return  // a late event
    }
  }

  private mutating func failed(
    _ index: Int, _ batch: Int, _ failure: LinkFailure, since: Instant, at now: Instant,
    _ effects: inout [Effect]
  ) {
    let queued = queues[index].batches[batch].queued
    switch UploadConsequence(failure) {
    case .quarantine: quarantine(queued.file, .failure(failure), &effects)
    case .split:
      guard queued.records + queued.deletions <= 1 else {
        return effects.append(.split(queues[index].split(batch)))
      }
      quarantine(queued.file, Self.tooLarge, &effects)
      // A server that rejects a single record may reject all of them, so the next batch waits.
      hold(index, failure, at: now, &effects)
    case .newSecret:
      retry(index, batch, failure, &effects)
      gate.refuseSecret(since: since, at: now, &effects)
    case .retryAll:
      retry(index, batch, failure, &effects)
      holdAll(failure, since: since, at: now, &effects)
    case .retryType:
      retry(index, batch, failure, &effects)
      hold(index, failure, at: now, &effects)
    }
  }

  private mutating func retry(
    _ index: Int, _ batch: Int, _ failure: LinkFailure, _ effects: inout [Effect]
  ) {
    let queued = queues[index].retry(batch)
    effects.append(.update(.batch(SyncBatchReport(queued, .retrying, .failure(failure)))))
  }

  /// Delays all types.
  private mutating func holdAll(
    _ failure: LinkFailure, since: Instant, at now: Instant, _ effects: inout [Effect]
  ) {
    if server.failed(failure, since: since, at: now) {
      effects.append(.update(.notice(.unreachable(failure))))
    }
  }

  /// Delays one type.
  private mutating func hold(
    _ index: Int, _ failure: LinkFailure, at now: Instant, _ effects: inout [Effect]
  ) {
    server.failedOneType(failure, at: now)
    let (due, isLast) = server.next(after: queues[index].note(failure), failure, at: now)
    queues[index].wait(until: due)
    if isLast, queues[index].exhaust() {
      effects.append(.update(.notice(.unreachable(failure))))
    }
  }

  private mutating func refreshed(_ failure: LinkFailure?, _ effects: inout [Effect]) {
    guard server.endReport(), let failure else { return }
    effects.append(.update(.notice(.notRefreshed(failure))))
  }
}

// The progress of a sync.
extension SyncModel {
  /// Whether the sync has stopped permanently.
  public var isStopped: Bool { stage == .stopped }

  /// The policy of the sync.
  public var policy: LinkPolicy { settings.policy }

  /// The maximum number of uploads of one type that are handed over at once.
  package var depth: Int { settings.depth }

  /// The progress of the sync, for a user who is waiting for it to finish.
  public var state: SyncState {
    guard stage != .new else { return .working }
    if gate.isSecretRefused, needsServer { return .secretRefused }
    if let exhausted = server.exhausted, needsServer { return .unreachable(exhausted) }
    if commits.isFailing, let failure = commits.failure { return .unwritable(failure) }
    for queue in queues where !queue.isRead && !queue.isStuck { return .working }
    if needsServer, let blockedReason = gate.blockedReason {
      return .unreachable(blockedReason.failure)
    }
    let pending = queues.filter { $0.pending > 0 }
    if let failures = pending.first?.failureStreak, pending.allSatisfy(\.isExhausted) {
      return .unreachable(failures.last)
    }
    guard isSent, server.isReported, !needsServer, !ownership.isChanging else { return .working }
    for queue in queues where queue.isStuck {
      switch queue.sourceFailure {
      case .source(let failure): return .unreadable(failure)
      case .store(let failure): return .unwritable(failure)
      case nil: continue
      }
    }
    return .done(quarantined: quarantined)
  }

  /// Whether every change was read, all batches are accepted or quarantined, and the server
  /// received a report of this.
  package var isComplete: Bool {
    stage == .running && server.isReported && isSent && queues.allSatisfy(\.isRead)
      && !needsServer && !ownership.isChanging
  }

  /// Whether there is work that no external condition blocks.
  package var canWork: Bool {
    guard stage == .running else { return false }
    if needsServer, gate.allowsSending { return true }
    if commits.hasUnsaved || ownership.isChanging { return true }
    return queues.contains { $0.canRead(isUnlocked: gate.conditions.isUnlocked) }
  }

  /// The files of the batches that are handed over.
  package var sending: [String] { queues.flatMap(\.sending) }

  /// The number of batches of all types that wait or are in transit.
  package var pending: Int { queues.reduce(0) { $0 + $1.pending } }

  /// The number of quarantined batches of all types.
  package var quarantined: Int { queues.reduce(0) { $0 + $1.quarantined } }

  /// Reports each violated invariant.
  public func check(_ check: inout InvariantCheck) {
    check.require(
      stage != .new || (queues.isEmpty && commits.underWay.isEmpty),
      "sync: nothing is done before the queue was read")
    check.require(
      !ownership.isChanging || stage != .new, "sync: nothing is read again before it was read")
    for queue in queues { queue.check(&check, before: numbers.nextPosition) }
    commits.check(&check) {
      Set(
        queues.flatMap { queue in
          queue.batches.lazy.filter { $0.state == .acknowledged }.map(\.queued.file)
        })
    }
    wakes.check(&check, isBusy: isBusy) { type, run in
      queue(of: type).map { !queues[$0].hasEnded(run) } ?? false
    }
    gate.check(&check)
    server.check(&check)
  }
}

extension BlockedReason {
  /// The failure with which an attempt would end.
  fileprivate var failure: LinkFailure {
    switch self {
    case .unreachable: .unreachable(detail: "this device is offline")
    case .captivePortal: .captivePortal
    case .background: .local(detail: "the app is in the background")
    }
  }
}

extension SyncModel: Journaled {
  public static var journalName: String { "health-sync" }
}
