import HealthSync
import LinkCore
import LinkHealth
import LinkWire

// What is read, and what is written of it.
extension SyncTwin {
  mutating func begin(_ queue: KeptSyncQueue, _ running: Set<String>, _ missing: Set<String>) {
    life = .lives
    secret = .good
    if queue.stamp.nanoseconds != .min { stamp = queue.stamp.nanoseconds }
    for type in queue.asked { _ = shelf(type) }
    for type in queue.types {
      let place = shelf(type.type)
      shelves[place].anchor = type.anchor
      shelves[place].synced = type.synced
    }
    for batch in queue.batches {
      let place = shelf(batch.type)
      let flies = batch.parked == nil && running.contains(batch.file)
      shelves[place].bundles.append(Bundle(batch: batch, fate: flies ? .flies(now) : .waits))
      if batch.place + 1_048_576 > nextPlace { nextPlace = batch.place + 1_048_576 }
    }
    for file in missing.sorted() {
      park(file, .words("its file is missing; reset the type to read its last 30 days again"))
    }
    want(queue.asked)
    for shelf in shelves { tell(shelf) }
  }

  private mutating func shelf(_ type: String) -> Int {
    if place(type) == nil { shelves.append(Shelf(type)) }
    return place(type) ?? 0
  }

  mutating func want(_ types: [String]) {
    for type in types { _ = shelf(type) }
    for index in shelves.indices { shelves[index].isWanted = types.contains(shelves[index].type) }
    if !types.isEmpty { effects.append(.observe(types)) }
  }

  mutating func granted(_ types: [String], _ wake: WakeID, _ budget: Duration) {
    guard life == .lives, grants[wake] == nil else {
      return effects.append(.giveBack(wake, .later))
    }
    var grant = Grant(
      runs: [:], until: now.advanced(by: budget - min(.seconds(1), budget / 2)), isShort: false)
    for index in shelves.indices where types.contains(shelves[index].type) {
      guard shelves[index].isWanted else { continue }
      switch shelves[index].work {
      case .none, .pauses: shelves[index].work = .begins(now.advanced(by: .milliseconds(50)))
      case .begins: break
      case .reads, .stores: shelves[index].isDueAgain = true
      case .full: (shelves[index].isDueAgain, grant.isShort) = (true, true)
      }
      if shelves[index].work != .full {
        grant.runs[shelves[index].type] = shelves[index].run + 1
      }
    }
    if grant.runs.isEmpty {
      effects.append(.giveBack(wake, grant.isShort ? .later : .done))
    } else {
      grants[wake] = grant
    }
  }

  /// Lets a type go on with what is due.
  mutating func goOn(_ index: Int) {
    switch shelves[index].work {
    case .begins(let at), .pauses(let at):
      if at <= now, conditions.isUnlocked {
        shelves[index].run += 1
        (shelves[index].isRunning, shelves[index].isDueAgain) = (true, false)
        askIfThereIsRoom(index)
      }
    case .full: if shelves[index].bundles.count < 33 { ask(index) }
    case .none, .reads, .stores: return
    }
  }

  private mutating func askIfThereIsRoom(_ index: Int) {
    guard shelves[index].bundles.count > 63 else { return ask(index) }
    shelves[index].work = .full
    answer(index, isShort: true)
  }

  private mutating func ask(_ index: Int) {
    let id = number()
    shelves[index].work = .reads(id)
    var start = HealthPageStart.last(.seconds(2_592_000))
    if let anchor = shelves[index].anchor { start = .after(anchor) }
    // The next whole second after the newest stamp.
    let second: Int64 = 1_000_000_000
    let least = stamp.map { (SyncSamples.floorDivide($0, second) + 1) * second }
    effects.append(
      .fetch(
        SyncFetchID(id), shelves[index].type, start, limit: 2_000,
        notBefore: Timestamp(nanoseconds: least ?? .min)))
  }

  private func reader(_ id: UInt64) -> Int? { shelves.firstIndex { $0.work == .reads(id) } }

  mutating func read(_ id: UInt64, _ page: FetchedPage) {
    guard life == .lives, let index = reader(id) else {
      return effects.append(.delete(page.drafts.map(\.file)))
    }
    if page.drafts.isEmpty, page.anchor == shelves[index].anchor { return rest(index) }
    if !page.drafts.isEmpty { stamp = max(stamp ?? .min, page.made.nanoseconds) }
    let type = shelves[index].type
    let batches = page.drafts.map { draft in
      defer { nextPlace += 1_048_576 }
      return QueuedBatch(
        file: draft.file, type: type, place: nextPlace, records: draft.records,
        deletions: draft.deletions, bytes: draft.bytes)
    }
    var steps = batches.map { SyncQueueStep.add($0) }
    steps.append(.anchor(type: type, page.anchor))
    steps.append(.stamp(Timestamp(nanoseconds: stamp ?? .min)))
    shelves[index].work = .stores(write(.page(type, batches, page.anchor), steps))
  }

  /// All that there was is read.
  private mutating func rest(_ index: Int) {
    (shelves[index].troubles, shelves[index].trouble) = (0, nil)
    shelves[index].isRunning = false
    shelves[index].work =
      shelves[index].isDueAgain ? .begins(now.advanced(by: .milliseconds(50))) : .none
    answer(index, isShort: false)
  }

  mutating func pause(_ id: SyncFetchID, _ trouble: Shelf.Trouble) {
    if let index = reader(id.number) { pause(index, trouble) }
  }

  private mutating func pause(_ index: Int, _ trouble: Shelf.Trouble) {
    shelves[index].troubles += 1
    shelves[index].trouble = trouble
    (shelves[index].isRunning, shelves[index].isDueAgain) = (false, true)
    shelves[index].work = .pauses(now.advanced(by: Self.pause(shelves[index].troubles)))
    switch trouble {
    case .source(let failure): notice(.source(type: shelves[index].type, failure))
    case .disk(let failure): notice(.store(failure))
    }
    answer(index, isShort: true)
  }

  /// Gives the time back that waits for the present run of a type and for nothing else.
  private mutating func answer(_ index: Int, isShort: Bool) {
    let (type, run) = (shelves[index].type, shelves[index].run)
    for id in grants.keys.sorted() {
      guard var grant = grants[id], let awaited = grant.runs[type], awaited <= run else { continue }
      grant.runs[type] = nil
      grant.isShort = grant.isShort || isShort
      grants[id] = grant.runs.isEmpty ? nil : grant
      if grant.runs.isEmpty { effects.append(.giveBack(id, grant.isShort ? .later : .done)) }
    }
  }

  // Transactions.

  mutating func written(_ id: UInt64) {
    guard let write = writes.removeValue(forKey: id) else { return }
    (diskFailures, diskFailure) = (0, nil)
    switch write {
    case .page(let type, let batches, let anchor): stored(type, batches, anchor)
    case .landed(let all): landed(all)
    case .parts(let file, let parts): replace(file, parts)
    case .aside(let file): if let (shelf, _) = find(file) { tell(shelves[shelf]) }
    case .wish: return
    }
  }

  private mutating func stored(
    _ type: String, _ batches: [QueuedBatch], _ anchor: HealthAnchor
  ) {
    guard let index = place(type) else { return }
    shelves[index].anchor = anchor
    shelves[index].bundles += batches.map { Bundle(batch: $0) }
    (shelves[index].troubles, shelves[index].trouble) = (0, nil)
    for batch in batches { tell(batch, .queued) }
    tell(shelves[index])
    if life == .lives { askIfThereIsRoom(index) }
  }

  private mutating func landed(_ all: [Landed]) {
    var touched: [Int] = []
    for one in all {
      guard let (shelf, index) = find(one.file) else { continue }
      let bundle = shelves[shelf].bundles.remove(at: index)
      shelves[shelf].synced += bundle.batch.records
      touched.append(shelf)
      tell(bundle.batch, .accepted)
    }
    effects.append(.delete(all.map(\.file)))
    for (index, shelf) in shelves.enumerated() where touched.contains(index) { tell(shelf) }
  }

  mutating func unwritten(_ id: UInt64, _ failure: StoreFailure) {
    guard let write = writes.removeValue(forKey: id) else { return }
    diskFailures += 1
    diskFailure = failure
    switch write {
    case .page(let type, let batches, _):
      effects.append(.delete(batches.map(\.file)))
      if let index = place(type) { pause(index, .disk(failure)) }
      return
    case .landed(let all):
      owed.insert(contentsOf: all, at: 0)
      writesAt = now.advanced(by: Self.pause(diskFailures))
    case .parts(let file, let parts):
      effects.append(.delete(parts.map(\.file)))
      putBack(file)
    case .aside(let file):
      guard let (shelf, index) = find(file) else { break }
      if shelves[shelf].bundles[index].batch.parked == nil { break }
      // What is not on the disk is not parked.
      shelves[shelf].bundles[index].batch.parked = nil
      putBack(file)
    case .wish: break
    }
    notice(.store(failure))
  }

  mutating func keepLanded() {
    guard !owed.isEmpty, writesAt ?? now <= now else { return }
    let isBusy = writes.values.contains { if case .landed = $0 { true } else { false } }
    guard !isBusy else { return }
    writesAt = nil
    write(.landed(owed), owed.map { .accept(file: $0.file, at: $0.at) })
    owed = []
  }
}
