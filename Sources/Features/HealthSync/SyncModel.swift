public import LinkCore
import LinkStorage
import LinkWire

/// A phone that syncs health samples to a server: reads sources, queues batches, sends them.
///
///     source ─▶ fetch ─▶ files ─▶ commit: anchor and batches ─▶ upload ─▶ stored ─▶ commit: accepted
///                                   │                            │  ▲
///                                   ▼                            ▼  │
///                           the wake is given back        retry, divide, park, ask for a secret
///
/// The reading of each type is in `SyncLane`. An anchor moves in the transaction that stores the
/// batches up to it, so that a kill at any moment repeats work and loses nothing. A batch leaves
/// the queue when the server says that it has stored it, and by no other failure than a refusal is
/// it put aside. Nothing is sent before the server has said whose progress this is.
///
/// Values of samples never come here: the shell packs pages into files, and reports their counts.
public struct SyncModel: Machine {
  let settings: SyncSettings
  var chance: Chance
  var stage = Stage.new
  var gate: Gate
  var conditions = SyncConditions()
  /// By type, in the order in which they were asked for.
  var lanes: [SyncLane] = []
  var wakes: [WakeID: SyncWake] = [:]
  var server: SyncServerState
  var commits: [SyncCommitID: Commit] = [:]
  /// Batches that the server has, in no commit yet.
  var unsaved: [Accepted] = []
  var saveAt: Instant?
  var storeFailures = 0
  var storeFailure: StoreFailure?
  /// The newest stamp of a batch.
  var stamp = Timestamp(nanoseconds: .min)
  var nextPlace = QueuedBatch.distance
  var lastNumber: UInt64 = 0
  /// When a refused secret is read again.
  var askAt: Instant?
  var isSecretRefused = false
  /// When the secret was replaced last.
  var renewedAt: Instant?
  var refresh = Refresh.none
  /// Whose progress it is; `nil` before a server said so for the first time.
  var owner: SyncOwner?
  var introduction = SyncIntroduction.unknown
  /// The next owner, with whom all is read again.
  var change: SyncChange?
  /// The number of changes of the owner in this process.
  var changes = 0

  /// A sync that was not told yet what is kept.
  public init(_ settings: SyncSettings, seed: UInt64) {
    self.settings = settings
    chance = Chance(seed: seed)
    gate = Gate(settings.policy.gate)
    server = SyncServerState(settings.policy.retry)
  }

  enum Stage: Sendable, Hashable {
    case new
    case running
    case stopping(until: Instant)
    case stopped
  }

  /// What a transaction will have done.
  enum Commit: Sendable, Hashable {
    case page(type: String, [QueuedBatch], FetchedPage)
    case accepted([Accepted])
    case halves(of: String, [QueuedBatch])
    case park(String)
    case ask
    case own(SyncOwner, again: Bool)
  }

  struct Accepted: Sendable, Hashable {
    var file: String
    var at: Timestamp
  }

  /// Telling the server that all was sent.
  enum Refresh: Sendable, Hashable {
    case none
    /// Something was accepted since the last time.
    case owed
    case running
    /// Something was accepted while the server was told.
    case runningAndOwed
  }

  /// Takes one input.
  public mutating func handle(_ input: Input, at now: Instant) -> [Effect] {
    var effects: [Effect] = []
    take(input, at: now, &effects)
    settle(at: now, &effects)
    return effects
  }

  /// Lets time pass.
  public mutating func tick(at now: Instant) -> [Effect] {
    guard let deadline, now >= deadline else { return [] }
    var effects: [Effect] = []
    settle(at: now, &effects)
    return effects
  }

  private mutating func take(_ input: Input, at now: Instant, _ effects: inout [Effect]) {
    switch input {
    case .restored(let queue, let running, let missing):
      restore(queue, running: running, missing: missing, at: now, &effects)
    case .ask(let types): ask(types, &effects)
    case .fired(let types, let wake, let budget):
      fired(types, wake, budget, at: now, &effects)
    case .fetched(let id, let page): fetched(id, page, at: now, &effects)
    case .notFetched(let id, let failure):
      put(off: id, .source(failure), at: now, &effects)
    case .notWritten(let id, let failure): put(off: id, .store(failure), at: now, &effects)
    case .committed(let id): committed(id, at: now, &effects)
    case .notCommitted(let id, let failure): notCommitted(id, failure, at: now, &effects)
    case .uploaded(let file, let outcome, let time):
      uploaded(file, outcome, time, at: now, &effects)
    case .halved(let file, let drafts): halved(file, drafts, at: now, &effects)
    case .notHalved(let file, let failure): notHalved(file, failure, at: now, &effects)
    case .identified(let identity): identified(identity, at: now, &effects)
    case .notIdentified(let failure): notIdentified(failure, at: now, &effects)
    case .epoch(let epoch): told(epoch: epoch, at: now, &effects)
    case .secret(let isNew): secret(isNew: isNew, at: now, &effects)
    case .refreshed(let failure): refreshed(failure, &effects)
    case .device(let change): device(change, at: now)
    case .conditions(let conditions): changed(conditions, at: now)
    case .again:
      // A person may know that the server was put back. While it fails, one try is enough.
      if introduction == .known, server.failures == 0 { introduction = .unknown }
      tryNow(at: now)
    case .stop: stop(at: now, &effects)
    }
  }

  /// Does all that is due. Done twice, the second time changes nothing.
  private mutating func settle(at now: Instant, _ effects: inout [Effect]) {
    giveBackExpired(at: now, &effects)
    switch stage {
    case .new, .stopped: return
    case .stopping(let until):
      save(at: now, &effects)
      if commits.isEmpty || now >= until { stage = .stopped }
    case .running:
      endWaits(at: now)
      readAgain(at: now, &effects)
      for place in lanes.indices { advance(place, at: now, &effects) }
      save(at: now, &effects)
      watchSecret(at: now, &effects)
      introduce(at: now, &effects)
      send(at: now, &effects)
      if refresh == .owed, isSent {
        refresh = .running
        effects.append(.refresh)
      }
    }
  }

  /// The next instant at which something is due.
  public var deadline: Instant? {
    var due = wakes.values.map(\.until)
    switch stage {
    case .new, .stopped: return nil
    case .stopping(let until): due.append(until)
    case .running:
      for lane in lanes {
        switch lane.run {
        case .gathering(let until), .resting(let until):
          if conditions.isUnlocked, mayRead { due.append(until) }
        case .idle, .fetching, .committing, .full: break
        }
        if let retryAt = lane.retryAt { due.append(retryAt) }
      }
      due += [gate.credentials.deadline, askAt, change?.notBefore].compactMap(\.self)
      if let held = server.heldUntil { due.append(held) }
    }
    if let saveAt { due.append(saveAt) }
    return due.min()
  }

  /// Whether nothing follows any more.
  public var isStopped: Bool { stage == .stopped }

  mutating func newNumber() -> UInt64 {
    lastNumber += 1
    return lastNumber
  }

  func lane(_ type: String) -> Int? { lanes.firstIndex { $0.type == type } }

  /// Returns the place of a batch: its lane, and where it is there.
  func find(_ file: String) -> (lane: Int, batch: Int)? {
    for (place, lane) in lanes.enumerated() {
      if let batch = lane.place(of: file) { return (place, batch) }
    }
    return nil
  }

  mutating func report(_ place: Int, _ effects: inout [Effect]) {
    effects.append(.update(.type(lanes[place].report)))
  }
}

/// Names one reading of a source.
public struct SyncFetchID: NumberedID {
  /// Counted from the start.
  public let number: UInt64

  /// The name that stands for a number.
  public init(_ number: UInt64) { self.number = number }
}

/// Names one transaction of the queue.
public struct SyncCommitID: NumberedID {
  /// Counted from the start.
  public let number: UInt64

  /// The name that stands for a number.
  public init(_ number: UInt64) { self.number = number }
}

/// Names one grant of time.
public struct WakeID: NumberedID {
  /// Counted by the shell.
  public let number: UInt64

  /// The name that stands for a number.
  public init(_ number: UInt64) { self.number = number }
}

/// Time that was granted, and the runs that it waits for.
struct SyncWake: Sendable, Hashable {
  /// The number of the run of each type whose end is awaited.
  var needs: [String: UInt64]
  var until: Instant
  var result = WakeResult.done
}

extension SyncModel: Journaled {
  public static var journalName: String { "health-sync" }
}
