import LinkCore
import LinkStorage
import LinkWire

// What the store says: what was kept, what was new, what it refused.
extension StreamModel {
  mutating func load(_ step: inout Step) {
    phase = .loading
    step.effects.append(.load(limit: settings.memory))
  }

  var loadDeadline: Instant? {
    guard case .broken(_, let retryAt) = phase else { return nil }
    return retryAt
  }

  mutating func loaded(_ snapshot: TimelineSnapshot, _ step: inout Step) {
    guard phase == .loading else { return }
    phase = .open
    if failedLoads > 0 { step.show(.notice(.storeRecovered)) }
    failedLoads = 0
    recovery.cursor = snapshot.cursor
    recovery.isCursorKept = snapshot.cursor.isKnown
    // A server that gave a position knows keys, so nothing is looked for before a retry.
    if snapshot.cursor.position != nil { recovery.hasPositions = true }
    gaps = snapshot.gaps
    outbox.restore(snapshot.outbox, after: snapshot.cursor)
    for message in snapshot.messages { timeline.insert(message) }
    if snapshot.hasOlder { timeline.noteOlder() }
    timeline.trim()
    var screen = Array(timeline.messages.suffix(settings.historyPage))
    if let gap = gaps.last { screen.removeAll { $0.key < gap.before } }
    show(screen, via: .history, &step)
    for gap in gaps { step.show(.gap(gap)) }
    for entry in outbox.entries where outbox.queue.isStored(entry.id) { step.show(.outbox(entry)) }
    drive(.want(wish), &step)
  }

  mutating func loadFailed(_ failure: StoreFailure, _ step: inout Step) {
    guard phase == .loading else { return }
    failedLoads += 1
    var retryAt: Instant?
    switch failure {
    case .locked, .full, .denied, .other:
      retryAt = step.now.advanced(by: Writer.wait(after: failedLoads))
    case .corrupt, .fromTheFuture: break  // looking again alone does not help
    }
    phase = .broken(failure, retryAt: retryAt)
    step.show(.notice(.store(failure)))
  }

  mutating func committed(_ id: CommitID, _ commit: TimelineCommit, _ step: inout Step) {
    let wasRefused = writer.failures > 0
    guard let batch = writer.committed(id) else { return }  // late
    if wasRefused { step.show(.notice(.storeRecovered)) }
    if batch.change.cursor?.isKnown ?? false { recovery.isCursorKept = true }
    for entry in batch.change.outboxPut.compactMap({ outbox.queue.stored($0.id) }) {
      step.show(.outbox(entry))
    }
    showInserted(Set(commit.inserted), of: batch, &step)
    showEdited(Set(commit.edited), of: batch, &step)
    if batch.feedsHistory { historyStored(&step) }
    if recovery.again, recovery.run == nil { catchUpWhileConnected(&step) }
  }

  private mutating func showInserted(
    _ inserted: Set<MessageID>, of batch: Writer.Batch, _ step: inout Step
  ) {
    var shown: [Via: [Message]] = [:]
    for (message, via) in zip(batch.change.messages, batch.ways) {
      guard inserted.contains(message.id), timeline.insert(message) else { continue }
      if history.shows(message.key) { shown[via, default: []].append(message) }
    }
    timeline.trim()
    for via in Via.allCases {
      show((shown[via] ?? []).sorted { $0.key < $1.key }, via: via, &step)
    }
  }

  private mutating func showEdited(
    _ edited: Set<MessageID>, of batch: Writer.Batch, _ step: inout Step
  ) {
    guard !edited.isEmpty else { return }
    let messages = batch.change.messages.filter { edited.contains($0.id) }
    for message in messages { timeline.replace(message) }
    timeline.trim()
    let shown = messages.filter { message in history.oldest.map { $0.key <= message.key } ?? false }
    if !shown.isEmpty { step.show(.edited(shown.sorted { $0.key < $1.key })) }
  }

  mutating func commitFailed(_ id: CommitID, _ failure: StoreFailure, _ step: inout Step) {
    guard writer.refused(id, at: step.now) else { return }  // late
    step.show(.notice(.store(failure)))
  }
}
