import LinkCore
import LinkWire
import MessageStream

// What the store says to the twin.
extension StreamPhoneTwin {
  mutating func load() {
    mode = .loading
    out.append(.load(limit: settings.memory))
  }

  mutating func loaded(_ snapshot: TimelineSnapshot) {
    guard mode == .loading else { return }
    mode = .open
    if failedLoads > 0 { notice(.storeRecovered) }
    failedLoads = 0
    mend.cursor = snapshot.cursor
    mend.isCursorKept = snapshot.cursor.isKnown
    if snapshot.cursor.position != nil { mend.hasPositions = true }
    gaps = snapshot.gaps
    queue.restore(snapshot.outbox)
    for entry in snapshot.outbox {
      floors = floors.filter { $0.entry != entry.id }
      floors.append((entry.id, floor(of: entry, after: snapshot.cursor)))
    }
    for message in snapshot.messages where known(message.id) == nil { keep(message) }
    trim()
    let edge = gaps.last?.before
    let screen = kept.suffix(settings.historyPage).filter { $0.key >= edge ?? $0.key }
    showMessages(screen, .history)
    for gap in gaps { show(.gap(gap)) }
    for entry in queue.items where queue.isStored(entry.id) { show(.outbox(entry)) }
    drive(.want(wish))
  }

  mutating func loadFailed(_ failure: StoreFailure) {
    guard mode == .loading else { return }
    failedLoads += 1
    let due = now.advanced(by: StreamPhonePen.pause(failedLoads))
    switch failure {
    case .corrupt, .fromTheFuture: mode = .broken(retryAt: nil)
    case .full, .locked, .denied, .other: mode = .broken(retryAt: due)
    }
    notice(.store(failure))
  }

  mutating func committed(_ id: CommitID, _ commit: TimelineCommit) {
    let wasRefused = pen.refusals > 0
    guard let sheet = pen.kept(id) else { return }
    if wasRefused { notice(.storeRecovered) }
    if let cursor = sheet.change.cursor, cursor.isKnown { mend.isCursorKept = true }
    for put in sheet.change.outboxPut {
      if let entry = queue.stored(put.id) { show(.outbox(entry)) }
    }
    showNew(sheet, commit.inserted)
    showEdits(sheet.change.messages.filter { commit.edited.contains($0.id) })
    if sheet.servesReader { readBack() }
    if mend.again, mend.run == nil { catchUpAgain() }
  }

  private mutating func showNew(_ sheet: StreamPhonePen.Sheet, _ ids: [MessageID]) {
    var shown: [(message: Message, via: Via)] = []
    for (message, via) in zip(sheet.change.messages, sheet.ways) where ids.contains(message.id) {
      if known(message.id) != nil { continue }
      keep(message)
      // What lies above the top of the screen comes when the reader scrolls there.
      if !past.hasMore || past.top.map({ $0.key <= message.key }) ?? true {
        shown.append((message, via))
      }
    }
    trim()
    for via in [Via.live, .catchUp, .poll, .history] {
      let messages = shown.filter { $0.via == via }.map(\.message)
      showMessages(messages.sorted { $0.key < $1.key }, via)
    }
  }

  private mutating func showEdits(_ edits: [Message]) {
    for message in edits {
      guard let place = kept.lastIndex(where: { $0.id == message.id }) else { continue }
      kept.remove(at: place)
      keep(message)
    }
    guard let top = past.top else { return }
    let shown = edits.filter { $0.key >= top.key }.sorted { $0.key < $1.key }
    if !shown.isEmpty { show(.edited(shown)) }
  }
}
