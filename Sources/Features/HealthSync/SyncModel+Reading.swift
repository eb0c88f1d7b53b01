import LinkCore
import LinkHealth
import LinkStorage
import LinkWire

// What is kept, what fires, and the runs that read sources.
extension SyncModel {
  mutating func restore(
    _ queue: StoredSyncQueue, running: Set<String>, missing: Set<String>, at now: Instant,
    _ effects: inout [Effect]
  ) {
    guard stage == .new else { return }
    stage = .running
    gate.wish = .live
    gate.credentials.renewed(expiresIn: nil, at: now)
    (stamp, owner) = (queue.stamp, queue.owner)
    for type in queue.asked where lane(type) == nil { lanes.append(SyncLane(type)) }
    for kept in queue.types {
      let place = laneOrNew(kept.type)
      (lanes[place].anchor, lanes[place].synced) = (kept.anchor, kept.synced)
      lanes[place].earliest = kept.earliest
    }
    for batch in queue.batches {
      let isRunning = running.contains(batch.file) && batch.parked == nil
      lanes[laneOrNew(batch.type)].batches.append(
        SyncLane.Batch(queued: batch, state: isRunning ? .sending(since: now) : .waiting))
      nextPlace = max(nextPlace, batch.place + QueuedBatch.distance)
    }
    for file in missing.sorted() { park(file, Self.missingFile, &effects) }
    observe(queue.asked, &effects)
    for place in lanes.indices { report(place, &effects) }
  }

  private static let missingFile =
    SyncBatchReport.Reason.words(
      "its file is missing; reset the type to read its last 30 days again")

  private mutating func laneOrNew(_ type: String) -> Int {
    if let place = lane(type) { return place }
    lanes.append(SyncLane(type))
    return lanes.count - 1
  }

  mutating func ask(_ types: [String], _ effects: inout [Effect]) {
    guard stage == .running else { return }
    commit(.ask, [.ask(types)], &effects)
    observe(types, &effects)
  }

  private mutating func observe(_ types: [String], _ effects: inout [Effect]) {
    for place in lanes.indices { lanes[place].isAsked = types.contains(lanes[place].type) }
    for type in types { lanes[laneOrNew(type)].isAsked = true }
    if !types.isEmpty { effects.append(.observe(types)) }
  }

  mutating func fired(
    _ types: [String], _ wake: WakeID, _ budget: Duration, at now: Instant,
    _ effects: inout [Effect]
  ) {
    guard stage == .running, wakes[wake] == nil else {
      return effects.append(.giveBack(wake, .later))
    }
    var needs: [String: UInt64] = [:]
    var isPutOff = false
    for type in types {
      guard let place = lane(type), lanes[place].isAsked else { continue }
      switch lanes[place].run {
      case .idle, .resting: lanes[place].run = .gathering(until: now.advanced(by: Self.gathering))
      case .gathering: break
      case .fetching, .committing: lanes[place].isAgain = true
      case .full:
        // What changed is read once there is room; the time that was granted is too short for that.
        lanes[place].isAgain = true
        isPutOff = true
        continue
      }
      needs[type] = lanes[place].begun + 1
    }
    guard !needs.isEmpty else { return effects.append(.giveBack(wake, isPutOff ? .later : .done)) }
    let until = now.advanced(by: budget - SyncSettings.margin(of: budget))
    wakes[wake] = SyncWake(needs: needs, until: until, result: isPutOff ? .later : .done)
  }

  private static var gathering: Duration { SyncSettings.gathering }

  /// Begins or goes on with what is due of a type.
  mutating func advance(_ place: Int, at now: Instant, _ effects: inout [Effect]) {
    guard mayRead else { return }
    switch lanes[place].run {
    case .gathering(let until), .resting(let until):
      guard now >= until, conditions.isUnlocked else { return }
      lanes[place].begun += 1
      lanes[place].isAgain = false
      // Batches that an earlier process left count, too.
      if isFull(place) { fill(place, &effects) } else { fetch(place, &effects) }
    case .full:
      guard lanes[place].batches.count <= SyncSettings.mostBatches / 2 else { return }
      fetch(place, &effects)
    case .idle, .fetching, .committing: return
    }
  }

  private mutating func fetch(_ place: Int, _ effects: inout [Effect]) {
    let id = SyncFetchID(newNumber())
    lanes[place].run = .fetching(id)
    effects.append(
      .fetch(
        id, lanes[place].type, start(of: lanes[place]), limit: SyncSettings.pageLimit,
        notBefore: nextStamp))
  }

  private func start(of lane: SyncLane) -> HealthPageStart {
    if let anchor = lane.anchor { return .after(anchor) }
    return lane.earliest.map { .since($0, orLast: SyncSettings.firstSpan) }
      ?? .last(SyncSettings.firstSpan)
  }

  /// The least stamp of the next page: a whole second after the newest one, since stamps are sent
  /// in whole seconds and tell servers which of two batches is the later one.
  private var nextStamp: Timestamp {
    guard stamp.nanoseconds != .min else { return stamp }
    return SyncTime(stamp).instant.advanced(by: .seconds(1))
  }

  private func reading(_ id: SyncFetchID) -> Int? {
    lanes.firstIndex { $0.run == .fetching(id) }
  }

  mutating func fetched(
    _ id: SyncFetchID, _ page: FetchedPage, at now: Instant, _ effects: inout [Effect]
  ) {
    guard stage == .running, let place = reading(id) else {  // late
      return effects.append(.delete(page.drafts.map(\.file)))
    }
    guard change == nil else {
      effects.append(.delete(page.drafts.map(\.file)))
      return begin(anew: place, at: now, &effects)
    }
    guard page.anchor != lanes[place].anchor || !page.drafts.isEmpty else {
      return endRun(place, at: now, &effects)
    }
    if !page.drafts.isEmpty { stamp = max(stamp, page.made) }
    var batches: [QueuedBatch] = []
    for draft in page.drafts {
      batches.append(draft.queued(lanes[place].type, at: nextPlace))
      nextPlace += QueuedBatch.distance
    }
    let type = lanes[place].type
    var steps =
      batches.map { SyncQueueStep.add($0) } + [.anchor(type: type, page.anchor), .stamp(stamp)]
    if let earliest = page.earliest, lanes[place].earliest.map({ earliest < $0 }) ?? true {
      steps.append(.earliest(type: type, earliest))
    }
    let commit = commit(.page(type: type, batches, page), steps, &effects)
    lanes[place].run = .committing(commit)
  }

  /// Goes on behind a page that is stored.
  mutating func stored(
    _ type: String, _ batches: [QueuedBatch], _ page: FetchedPage, at now: Instant,
    _ effects: inout [Effect]
  ) {
    guard let place = lane(type) else { return }
    lanes[place].anchor = page.anchor
    if let earliest = page.earliest {
      lanes[place].earliest = min(lanes[place].earliest ?? earliest, earliest)
    }
    lanes[place].batches += batches.map { SyncLane.Batch(queued: $0) }
    (lanes[place].sourceFailures, lanes[place].sourceFailure) = (0, nil)
    for batch in batches { effects.append(.update(.batch(SyncBatchReport(batch, .queued)))) }
    report(place, &effects)
    guard stage == .running, change == nil else { return }
    if isFull(place) { fill(place, &effects) } else { fetch(place, &effects) }
  }

  private func isFull(_ place: Int) -> Bool {
    lanes[place].batches.count >= SyncSettings.mostBatches
  }

  /// Interrupts a run: what is stored is safe, and the rest lies behind the anchor.
  private mutating func fill(_ place: Int, _ effects: inout [Effect]) {
    lanes[place].run = .full
    conclude(place, .later, &effects)
  }

  private mutating func endRun(_ place: Int, at now: Instant, _ effects: inout [Effect]) {
    (lanes[place].sourceFailures, lanes[place].sourceFailure) = (0, nil)
    lanes[place].ended = lanes[place].begun
    lanes[place].run =
      lanes[place].isAgain ? .gathering(until: now.advanced(by: Self.gathering)) : .idle
    conclude(place, .done, &effects)
  }

  /// Puts a run off: it is tried again later, and was not empty.
  mutating func put(
    off id: SyncFetchID, _ trouble: SyncSourceTrouble, at now: Instant, _ effects: inout [Effect]
  ) {
    guard stage == .running, let place = reading(id) else { return }  // late
    rest(place, trouble, at: now, &effects)
  }

  mutating func rest(
    _ place: Int, _ trouble: SyncSourceTrouble, at now: Instant, _ effects: inout [Effect]
  ) {
    lanes[place].sourceFailures += 1
    lanes[place].sourceFailure = trouble
    lanes[place].ended = lanes[place].begun
    lanes[place].isAgain = true
    let pause = SyncSettings.pause(after: lanes[place].sourceFailures)
    lanes[place].run = .resting(until: now.advanced(by: pause))
    switch trouble {
    case .source(let failure):
      effects.append(.update(.notice(.source(type: lanes[place].type, failure))))
    case .store(let failure): effects.append(.update(.notice(.store(failure))))
    }
    conclude(place, .later, &effects)
  }

  /// Ends a run whose pages are of no use, so that another one begins.
  mutating func begin(anew place: Int, at now: Instant, _ effects: inout [Effect]) {
    lanes[place].ended = lanes[place].begun
    lanes[place].run = .gathering(until: now)
    conclude(place, .later, &effects)
  }

  /// Gives back the time of wakes that waited for the present run of a type and no other.
  private mutating func conclude(
    _ place: Int, _ result: WakeResult, _ effects: inout [Effect]
  ) {
    let (type, run) = (lanes[place].type, lanes[place].begun)
    for (id, wake) in wakes.sorted(by: { $0.key < $1.key }) {
      guard let need = wake.needs[type], need <= run else { continue }
      wakes[id]?.needs[type] = nil
      if result == .later { wakes[id]?.result = .later }
      guard let left = wakes[id], left.needs.isEmpty else { continue }
      wakes[id] = nil
      effects.append(.giveBack(id, left.result))
    }
  }

  mutating func giveBackExpired(at now: Instant, _ effects: inout [Effect]) {
    giveBack(wakes.filter { now >= $0.value.until }.keys.sorted(), &effects)
  }

  mutating func giveBack(_ ids: [WakeID], _ effects: inout [Effect]) {
    for id in ids {
      wakes[id] = nil
      effects.append(.giveBack(id, .later))
    }
  }
}
