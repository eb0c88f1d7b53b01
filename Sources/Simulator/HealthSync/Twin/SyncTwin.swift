import HealthSync
import LinkCore
import LinkHealth
import LinkWire

/// What the sync of a phone must ask for, told a second time.
///
/// It shares nothing with the model but the policy's arithmetic of waits: its numbers are written
/// out, its types are shelves, its answers are whole lists of effects. What the model does is
/// compared with it after every step.
struct SyncTwin: Sendable {
  let policy: LinkPolicy
  let depth: Int
  var chance: Chance
  var life = Life.unborn
  /// What the network and the app's place on the screen allow.
  var gate: Gate
  var conditions = SyncConditions()
  var shelves: [Shelf] = []
  var grants: [WakeID: Grant] = [:]
  /// Transactions under way, by number.
  var writes: [UInt64: Write] = [:]
  /// What the server has, in no transaction.
  var owed: [Landed] = []
  var writesAt: Instant?
  var diskFailures = 0
  var diskFailure: StoreFailure?
  /// The newest stamp in nanoseconds; `nil` before the first one.
  var stamp: Int64?
  var nextPlace: UInt64 = 1_048_576
  var counter: UInt64 = 0
  var secret = Secret.absent
  var isSecretRefused = false
  var secretSince: Instant?
  var backend: Server
  var report = Report.none
  var effects: [SyncModel.Effect] = []
  var now = Instant.zero

  enum Life: Sendable, Equatable { case unborn, lives, leaves(Instant), gone }

  enum Secret: Sendable, Equatable {
    case absent, good
    case asked(until: Instant)
    case refused(until: Instant)
  }

  /// Whether the server is told that all was sent.
  enum Report: Sendable { case none, due, underWay(isStale: Bool) }

  struct Landed: Sendable {
    var file: String
    var at: Timestamp
  }

  struct Grant: Sendable {
    /// The run of each type that it waits for.
    var runs: [String: UInt64]
    var until: Instant
    var isShort: Bool
  }

  enum Write: Sendable {
    case page(String, [QueuedBatch], HealthAnchor)
    case landed([Landed])
    case parts(String, [QueuedBatch])
    case aside(String)
    case wish
  }

  struct Server: Sendable {
    var retry: Retry
    var failures = 0
    var failedAt: Instant?
    var rests: Instant?
    var gaveUp: LinkFailure?
    var wasThere = false
    var lastType: String?
  }

  /// One type.
  struct Shelf: Sendable {
    let type: String
    var isWanted = false
    var anchor: HealthAnchor?
    var synced = 0
    var work = Work.none
    var isDueAgain = false
    var run: UInt64 = 0
    var isRunning = false
    var bundles: [Bundle] = []
    var failures = 0
    var failure: LinkFailure?
    var rests: Instant?
    var gaveUp = false
    var troubles = 0
    var trouble: Trouble?

    init(_ type: String) { self.type = type }

    enum Work: Sendable, Equatable {
      case none, full
      case begins(Instant), pauses(Instant)
      case reads(UInt64), stores(UInt64)
    }

    enum Trouble: Sendable {
      case source(HealthSourceFailure)
      case disk(StoreFailure)
    }
  }

  struct Bundle: Sendable {
    var batch: QueuedBatch
    var fate = Fate.waits

    enum Fate: Sendable, Equatable {
      case waits, landed, splits
      case flies(Instant)
    }

    var isOpen: Bool { batch.parked == nil && fate != .landed }
    var isFlying: Bool { if case .flies = fate { true } else { false } }
    var mayFly: Bool { batch.parked == nil && fate == .waits }
  }

  init(_ policy: LinkPolicy, depth: Int, seed: UInt64) {
    (self.policy, self.depth, chance) = (policy, depth, Chance(seed: seed))
    gate = Gate(policy.gate)
    backend = Server(retry: Retry(policy.retry))
  }

  // Steps.

  /// What must be asked for in a step; time passes in one without an input.
  mutating func step(_ input: SyncModel.Input?, at now: Instant) -> [SyncModel.Effect] {
    self.now = now
    effects = []
    if let input {
      take(input)
    } else {
      guard let due = deadline, due <= now else { return [] }
    }
    work()
    return effects
  }

  private mutating func take(_ input: SyncModel.Input) {
    switch input {
    case .restored(let queue, let running, let missing):
      if life == .unborn { begin(queue, running, missing) }
    case .ask(let types):
      guard life == .lives else { return }
      write(.wish, [.ask(types)])
      want(types)
    case .fired(let types, let wake, let budget): granted(types, wake, budget)
    case .fetched(let id, let page): read(id.number, page)
    case .notFetched(let id, let failure): if life == .lives { pause(id, .source(failure)) }
    case .notWritten(let id, let failure): if life == .lives { pause(id, .disk(failure)) }
    case .committed(let id): written(id.number)
    case .notCommitted(let id, let failure): unwritten(id.number, failure)
    case .uploaded(let file, let outcome, let time): ended(file, outcome, time)
    case .halved(let file, let drafts): split(file, drafts)
    case .notHalved(let file, let failure): unsplit(file, failure)
    case .secret(let isNew): told(isNew)
    case .refreshed(let failure):
      guard case .underWay(let isStale) = report else { return }
      report = isStale ? .due : .none
      if let failure { notice(.notRefreshed(failure)) }
    case .device(let change): changed(change)
    case .conditions(let conditions): self.conditions = conditions
    case .again: hurry()
    case .stop: leave()
    }
  }

  private mutating func leave() {
    switch life {
    case .unborn: life = .gone
    case .lives: life = .leaves(now.advanced(by: .seconds(2)))
    case .leaves, .gone: return
    }
    for id in grants.keys.sorted() { effects.append(.giveBack(id, .later)) }
    grants = [:]
  }

  private mutating func changed(_ change: DeviceChange) {
    switch change {
    case .reachability(let reachability):
      let isNews = gate.obstacle != nil || backend.failures > 0
      gate.reachability = reachability
      if isNews, gate.obstacle == nil { hurry() }
    case .lifecycle(let lifecycle):
      gate.lifecycle = lifecycle
      if lifecycle == .foreground { hurry() }
    case .woke, .again: hurry()
    }
  }

  /// Nothing waits for its time any more but for windows and the server's wishes.
  private mutating func hurry() {
    let soonest = backend.retry.earliest(at: now)
    if backend.rests != nil { backend.rests = soonest }
    backend.gaveUp = nil
    if case .refused = secret { secret = .refused(until: now) }
    if writesAt != nil { writesAt = now }
    for index in shelves.indices {
      shelves[index].gaveUp = false
      if shelves[index].rests != nil { shelves[index].rests = soonest }
      if case .pauses = shelves[index].work { shelves[index].work = .pauses(now) }
    }
  }

  private mutating func work() {
    for id in grants.keys.sorted() where now >= grants[id]?.until ?? now {
      grants[id] = nil
      effects.append(.giveBack(id, .later))
    }
    switch life {
    case .unborn, .gone: return
    case .leaves(let until):
      keepLanded()
      if writes.isEmpty || now >= until { life = .gone }
    case .lives:
      if let rests = backend.rests, rests <= now { backend.rests = nil }
      for index in shelves.indices {
        if let rests = shelves[index].rests, rests <= now { shelves[index].rests = nil }
        goOn(index)
      }
      keepLanded()
      mindSecret()
      send()
      if case .due = report, isEmpty {
        report = .underWay(isStale: false)
        effects.append(.refresh)
      }
    }
  }

  /// When time alone makes something happen.
  var deadline: Instant? {
    var due = grants.values.map(\.until)
    if case .leaves(let until) = life { due.append(until) }
    if life == .lives {
      for shelf in shelves {
        switch shelf.work {
        case .begins(let until), .pauses(let until): if conditions.isUnlocked { due.append(until) }
        case .none, .full, .reads, .stores: break
        }
        if let rests = shelf.rests { due.append(rests) }
      }
      switch secret {
      case .asked(let until), .refused(let until): due.append(until)
      case .absent, .good: break
      }
      if let rests = backend.rests { due.append(rests) }
    }
    let isAtWork = life != .unborn && life != .gone
    if isAtWork, !owed.isEmpty, let writesAt { due.append(writesAt) }
    return due.min()
  }

  // Parts.

  mutating func notice(_ notice: SyncNotice) { effects.append(.update(.notice(notice))) }

  mutating func tell(
    _ batch: QueuedBatch, _ state: SyncBatchReport.State, _ reason: SyncBatchReport.Reason? = nil
  ) {
    let report = SyncBatchReport(
      type: batch.type, file: batch.file, records: batch.records, deletions: batch.deletions,
      state: state, reason: reason)
    effects.append(.update(.batch(report)))
  }

  mutating func tell(_ shelf: Shelf) {
    let report = SyncTypeReport(
      type: shelf.type, pending: shelf.bundles.filter(\.isOpen).count,
      parked: shelf.bundles.filter { $0.batch.parked != nil }.count, synced: shelf.synced,
      anchor: shelf.anchor)
    effects.append(.update(.type(report)))
  }

  mutating func number() -> UInt64 {
    counter += 1
    return counter
  }

  @discardableResult
  mutating func write(_ write: Write, _ steps: [SyncQueueStep]) -> UInt64 {
    let id = number()
    writes[id] = write
    effects.append(.commit(SyncCommitID(id), steps))
    return id
  }

  func place(_ type: String) -> Int? { shelves.firstIndex { $0.type == type } }

  func find(_ file: String) -> (Int, Int)? {
    for (shelf, found) in shelves.enumerated() {
      for (index, bundle) in found.bundles.enumerated() where bundle.batch.file == file {
        return (shelf, index)
      }
    }
    return nil
  }

  static func pause(_ failures: Int) -> Duration {
    switch failures {
    case ...1: .seconds(1)
    case 2...6: .seconds(1 << (failures - 1))
    case _: .seconds(60)
    }
  }
}
