import LinkCore
import LinkStorage

// What is on its way to the store.
extension SessionServer {
  /// Asks the store for changes, after those that waited; what follows them waits.
  mutating func store(_ changes: [SessionChange], then waits: [Wait] = []) {
    let all = delayed + changes
    let again = delayed.map(Wait.delayed)
    delayed = []
    alarms.clear(.acks)
    guard !all.isEmpty else { return }
    lastStore += 1
    let token = StoreToken(lastStore)
    self.waits[token] = again + waits
    effects.append(.store(token, all))
  }

  /// Notes a change that is stored with the next one, or soon.
  ///
  /// If the store fails it, it is made again as far as it still holds.
  mutating func delay(_ change: SessionChange) {
    delayed.append(change)
    guard !alarms.rings(.acks, by: now.advanced(by: policy.ackDelay)) else { return }
    alarms.set(.acks, at: now.advanced(by: policy.ackDelay))
  }

  /// The store answered.
  mutating func stored(_ token: StoreToken, _ failure: StoreFailure?) {
    guard let written = waits.removeValue(forKey: token) else { return }
    storeFailure = failure
    if failure != nil { metrics.storeFailures += 1 }
    for wait in written {
      switch wait {
      case .accepted(let id): accepted(id, failure)
      case .started(let id): started(id, failure)
      case .answered(let id): answered(id, failure)
      case .putOff(let id): if failure != nil { owe(id) }
      case .delayed(let change): delayed(change, failure)
      }
    }
  }

  /// The store made a change that could wait, or failed to.
  private mutating func delayed(_ change: SessionChange, _ failure: StoreFailure?) {
    guard failure != nil, let again = present(change), !delayed.contains(again) else { return }
    delay(again)
  }

  /// What is left to do of a change that the store failed; others were stored meanwhile.
  private func present(_ change: SessionChange) -> SessionChange? {
    switch change {
    case .taken, .endPrompt: return change
    case .client(let client): return clients[client.id].map { .client($0.kept) }
    case .endClient(let id): return clients[id] == nil ? change : nil
    case .prompt(let prompt):
      guard let turn = turns[prompt.id] else { return nil }
      switch turn.stage {
      case .waiting, .starting, .running, .cancelling: return .prompt(turn.kept)
      case .accepting, .finishing, .ended: return nil
      }
    // The places of one that began anew are below.
    case .prune(let id, let below):
      return talks[id].flatMap { $0.first >= below ? change : nil }
    case .endConversation(let id): return talks[id] == nil ? change : nil
    case .started, .answered, .conversation, .entry: return nil
    }
  }

  /// Notes that the mark of a prompt, its end or its answer is not durable.
  mutating func owe(_ id: SessionPromptID) {
    owed.insert(id)
    alarms.set(.store, at: now.advanced(by: policy.storeRetry))
  }

  /// Asks the store again for what it failed to keep.
  mutating func storeOwed() {
    var changes: [SessionChange] = []
    var waits: [Wait] = []
    for id in owed.sorted() {
      switch turns[id]?.stage {
      case .finishing:
        changes += self.changes(finishing: id)
        waits.append(.answered(id))
      case .starting:
        changes.append(.started(id))
        waits.append(.started(id))
      case .waiting:
        guard let kept = turns[id]?.kept else { continue }
        changes.append(.prompt(kept))
        waits.append(.putOff(id))
      case nil, .accepting, .running, .cancelling, .ended: continue
      }
    }
    owed = []
    store(changes, then: waits)
  }
}
