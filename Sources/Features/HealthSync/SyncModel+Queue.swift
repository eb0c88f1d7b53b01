import LinkCore
import LinkStorage

// The transactions of the queue.
extension SyncModel {
  @discardableResult
  mutating func commit(
    _ commit: Commit, _ steps: [SyncQueueStep], _ effects: inout [Effect]
  ) -> SyncCommitID {
    let id = SyncCommitID(newNumber())
    commits[id] = commit
    effects.append(.commit(id, steps))
    return id
  }

  /// Stores what the server has, one transaction at a time; what comes meanwhile goes together.
  mutating func save(at now: Instant, _ effects: inout [Effect]) {
    guard !unsaved.isEmpty, saveAt.map({ now >= $0 }) ?? true else { return }
    for case .accepted in commits.values { return }
    saveAt = nil
    commit(
      .accepted(unsaved), unsaved.map { .accept(file: $0.file, at: $0.at) }, &effects)
    unsaved = []
  }

  mutating func committed(_ id: SyncCommitID, at now: Instant, _ effects: inout [Effect]) {
    guard let commit = commits.removeValue(forKey: id) else { return }
    (storeFailures, storeFailure) = (0, nil)
    switch commit {
    case .page(let type, let batches, let page): stored(type, batches, page, at: now, &effects)
    case .accepted(let all): saved(all, &effects)
    case .halves(let file, let batches): replaced(file, by: batches, &effects)
    case .park(let file):
      guard let (place, _) = find(file) else { return }
      report(place, &effects)
    case .own: owned()
    case .ask: return
    }
  }

  /// Lets go of batches that the server has, and of their files.
  private mutating func saved(_ all: [Accepted], _ effects: inout [Effect]) {
    var places: Set<Int> = []
    for accepted in all {
      guard let (place, index) = find(accepted.file) else { continue }
      let batch = lanes[place].batches.remove(at: index).queued
      lanes[place].synced += batch.records
      places.insert(place)
      effects.append(.update(.batch(SyncBatchReport(batch, .accepted))))
    }
    effects.append(.delete(all.map(\.file)))
    for place in places.sorted() { report(place, &effects) }
  }

  mutating func notCommitted(
    _ id: SyncCommitID, _ failure: StoreFailure, at now: Instant, _ effects: inout [Effect]
  ) {
    guard let commit = commits.removeValue(forKey: id) else { return }
    storeFailures += 1
    storeFailure = failure
    switch commit {
    case .page(let type, let batches, _):
      effects.append(.delete(batches.map(\.file)))
      guard let place = lane(type) else { return }
      return rest(place, .store(failure), at: now, &effects)
    case .accepted(let all):
      unsaved = all + unsaved
      saveAt = now.advanced(by: SyncSettings.pause(after: storeFailures))
    case .halves(let file, let batches):
      effects.append(.delete(batches.map(\.file)))
      putBack(file, at: now)
    case .park(let file): sendAgain(file, at: now)
    case .own(let owner, let again): notOwned(owner, again: again, at: now)
    case .ask: break
    }
    effects.append(.update(.notice(.store(failure))))
  }

  /// Puts a batch aside, visibly.
  mutating func park(
    _ file: String, _ reason: SyncBatchReport.Reason, _ effects: inout [Effect]
  ) {
    guard let (place, index) = find(file) else { return }
    let words = reason.words
    lanes[place].batches[index].queued.parked = words
    lanes[place].batches[index].state = .waiting
    effects.append(
      .update(.batch(SyncBatchReport(lanes[place].batches[index].queued, .parked, reason))))
    commit(.park(file), [.park(file: file, reason: words)], &effects)
  }

  // MARK: Batches that are larger than the server takes

  mutating func halve(_ place: Int, _ index: Int, _ effects: inout [Effect]) {
    lanes[place].batches[index].state = .halving
    effects.append(.halve(lanes[place].batches[index].queued.file))
  }

  mutating func halved(
    _ file: String, _ drafts: [PayloadDraft], at now: Instant, _ effects: inout [Effect]
  ) {
    guard let (place, index) = find(file), lanes[place].batches[index].state == .halving else {
      return effects.append(.delete(drafts.map(\.file)))
    }
    let batches = lanes[place].batches
    let first = batches[index].queued.place
    let type = lanes[place].type
    let next =
      index + 1 < batches.count
      ? batches[index + 1].queued.place : placeUnderWay(of: type) ?? nextPlace
    let middle = first + (next - first) / 2
    guard middle > first, drafts.count == 2 else {
      effects.append(.delete(drafts.map(\.file)))
      return park(file, Self.tooLarge, &effects)
    }
    let halves = [drafts[0].queued(type, at: first), drafts[1].queued(type, at: middle)]
    commit(
      .halves(of: file, halves), [.remove(file: file)] + halves.map { .add($0) }, &effects)
  }

  /// The first place of a page that is being stored.
  private func placeUnderWay(of type: String) -> UInt64? {
    commits.values.compactMap { commit in
      guard case .page(type, let batches, _) = commit else { return nil }
      return batches.first?.place
    }.min()
  }

  private mutating func replaced(
    _ file: String, by batches: [QueuedBatch], _ effects: inout [Effect]
  ) {
    guard let (place, index) = find(file) else { return }
    lanes[place].batches.replaceSubrange(
      index...index, with: batches.map { SyncLane.Batch(queued: $0) })
    effects += [.delete([file]), .update(.notice(.divided(file: file)))]
    for batch in batches { effects.append(.update(.batch(SyncBatchReport(batch, .queued)))) }
    report(place, &effects)
  }

  mutating func notHalved(
    _ file: String, _ failure: StoreFailure?, at now: Instant, _ effects: inout [Effect]
  ) {
    guard let (place, index) = find(file), lanes[place].batches[index].state == .halving else {
      return
    }
    guard let failure else { return park(file, Self.tooLarge, &effects) }
    effects.append(.update(.notice(.store(failure))))
    putBack(file, at: now)
  }

  static let tooLarge = SyncBatchReport.Reason.words(
    "413: the server does not take it, and it cannot be divided")

  /// Lets a batch wait again whose refusal could not be stored: no other process would
  /// see that it is parked, or could have it sent again.
  private mutating func sendAgain(_ file: String, at now: Instant) {
    guard let (place, index) = find(file), lanes[place].batches[index].queued.parked != nil
    else { return }
    lanes[place].batches[index].queued.parked = nil
    putBack(file, at: now)
  }

  private mutating func putBack(_ file: String, at now: Instant) {
    guard let (place, index) = find(file) else { return }
    lanes[place].batches[index].state = .waiting
    lanes[place].retryAt = now.advanced(by: SyncSettings.pause(after: max(1, storeFailures)))
  }
}

extension SyncBatchReport.Reason {
  /// The reason as it is kept, for people.
  var words: String {
    switch self {
    case .words(let words): words
    case .failure(.http(let status, _, let detail)):
      detail.isEmpty ? "\(status)" : "\(status): \(detail)"
    case .failure(let failure): failure.failureClass.rawValue
    }
  }
}
