import HealthSync
import LinkCore
import LinkHealth
import LinkWire

/// A phone that anything happens to, in any order: its model beside its twin, and a disk and a
/// network that do what they like.
///
/// It comes to bounds that days of a world do not reach: types that are full, stores that fail
/// again and again, batches that cannot be divided, answers that are late.
struct SyncPhoneWalk: TwinWalk {
  var model: SyncModel
  private var twin: SyncTwin
  var chance: Chance
  private var now = Instant.zero
  private var wall: Int64 = 1_700_000_000_000_000_000
  /// What was asked for and not answered.
  private var reads: [(SyncFetchID, String)] = []
  private var writes: [SyncCommitID] = []
  private var uploads: [String] = []
  private var splits: [String] = []
  private var isAsked = false
  private var isTelling = false
  private var anchors: [String: HealthAnchor] = [:]
  private var lastFile = 0
  private var lastWake: UInt64 = 0
  /// How this one is: its server is away, its disk is full, its batches are large.
  private let mood: UInt64
  var stray: String?

  private static let types = ["a", "b", "c"]

  init(_ chance: Chance) {
    self.chance = chance
    mood = self.chance.next()
    let depth = [1, 2, 16][Int(mood >> 8 % 3)]
    let seed = self.chance.next()
    model = SyncModel(SyncSettings(policy: .healthSync, depth: depth), seed: seed)
    twin = SyncTwin(.healthSync, depth: depth, seed: seed)
  }

  /// Walks so many steps; returns what the model did otherwise than its twin.
  mutating func walk(_ steps: Int) -> String? {
    if happens(9) { give(change()) }
    give(beginning())
    for step in 0..<steps where stray == nil {
      if happens(mood >> 20 % 4 == 0 ? 2 : 3) { pass() }
      give(step * 12 > steps * 11 && happens(20) ? .stop : input())
      let broken = model.brokenInvariants(.thorough)
      if let name = broken.first { stray = stray ?? "the invariant \(name) does not hold" }
    }
    return stray
  }

  private mutating func type() -> String { Self.types[number(0...2)] }

  // Steps.

  mutating func give(_ input: SyncModel.Input?) {
    guard stray == nil else { return }
    let effects =
      input.map { model.handle($0, at: now) } ?? model.tick(at: now)
    stray = twin.stray(of: model, after: input, effects, at: now)
    for effect in effects { note(effect) }
  }

  /// Lets time pass: a moment, up to the next deadline, or beside it.
  private mutating func pass() {
    let beside = [Duration.zero, .zero, .nanoseconds(-1), .nanoseconds(1), .seconds(1)]
    if let due = model.deadline, !happens(4) {
      now = max(now, due.advanced(by: beside[number(0...4)]))
    } else {
      now = now.advanced(by: .milliseconds(number(0...70_000)))
    }
    wall += Int64(number(-3_000_000...900_000_000)) * 10
    give(nil)
  }

  private mutating func note(_ effect: SyncModel.Effect) {
    switch effect {
    case .fetch(let id, let type, _, _, let least):
      reads.append((id, type))
      wall = max(wall, least.nanoseconds)
    case .commit(let id, _): writes.append(id)
    case .upload(let all): uploads += all.map(\.file)
    case .halve(let file): splits.append(file)
    case .askSecret: isAsked = true
    case .refresh: isTelling = true
    case .observe, .delete, .giveBack, .update: return
    }
  }

  private mutating func beginning() -> SyncModel.Input {
    var batches: [QueuedBatch] = []
    for index in 0..<number(0...6) {
      let isParked = happens(4)
      batches.append(
        QueuedBatch(
          file: "old-\(index)", type: type(), place: UInt64(number(1...4)) << 20 + UInt64(index),
          records: number(0...9), deletions: number(0...3), bytes: number(1...999),
          parked: isParked ? "400" : nil))
    }
    let types = Self.types.filter { _ in happens(2) }.map {
      SyncedType(type: $0, anchor: happens(2) ? HealthAnchor([1]) : nil, synced: number(0...9))
    }
    for type in types { anchors[type.type] = type.anchor }
    let stamps = [Int64.min, wall, wall + 999_999_999, -1, -1_000_000_000]
    let files = batches.map(\.file)
    return .restored(
      KeptSyncQueue(
        asked: happens(2) ? ["b", "a"] : [], types: types, batches: batches,
        stamp: Timestamp(nanoseconds: stamps[number(0...4)])),
      running: Set(files.filter { _ in happens(3) } + ["gone"]),
      missing: Set(files.filter { _ in happens(6) }))
  }

  private mutating func input() -> SyncModel.Input {
    // A server that goes on failing ends each schedule of tries.
    if mood >> 20 % 4 == 0, !uploads.isEmpty, !happens(4) {
      let status = mood >> 24 % 2 == 0 ? 500 : 503
      let failure = LinkFailure.http(status: status, retryAfter: nil, detail: "")
      return .uploaded(uploads.removeFirst(), .failed(failure), at: time)
    }
    if let input = answer() { return input }
    switch number(0...15) {
    case 0: return .ask(Self.types.filter { _ in !happens(4) })
    case 1...6:
      lastWake += happens(9) ? 0 : 1
      let types = (0...number(0...2)).map { _ in happens(12) ? "d" : type() }
      let budgets = [Duration.seconds(30), .seconds(2), .milliseconds(500), .seconds(1), .zero]
      return .fired(types, WakeID(lastWake), budget: budgets[number(0...4)])
    case 7: return .again
    case 8:
      return .conditions(
        SyncConditions(
          isConstrained: happens(5), isExpensive: happens(2), isLowPower: happens(5),
          isUnlocked: !happens(4)))
    case 9, 10: return change()
    case 11: return late()
    case _: return .fired([type()], WakeID(lastWake &+ 1_000_000), budget: .seconds(10))
    }
  }

  private mutating func change() -> SyncModel.Input {
    switch number(0...6) {
    case 0: .device(.woke)
    case 1: .device(.again)
    case 2: .device(.lifecycle(.background))
    case 3: .device(.lifecycle(.foreground))
    case 4: .device(.reachability(happens(2) ? .unreachable : .captivePortal))
    case _: .device(.reachability(.reachable(path: PathID("path"))))
    }
  }

  /// Answers to questions that nobody asked, or that were answered before.
  private mutating func late() -> SyncModel.Input {
    let file = happens(2) ? "batch-\(number(0...max(1, lastFile)))" : "old-\(number(0...6))"
    switch number(0...11) {
    case 0: return .fetched(SyncFetchID(9_999), page(of: "a"))
    case 1: return .notFetched(SyncFetchID(9_999), .failed(detail: "late"))
    case 2: return .committed(SyncCommitID(9_999))
    case 3: return .notCommitted(SyncCommitID(9_999), .full(detail: "late"))
    case 4: return .halved(file, [draft(), draft()])
    case 5: return .notHalved(file, happens(2) ? nil : .full(detail: "late"))
    case 6: return .secret(isNew: happens(2))
    case 7: return .refreshed(nil)
    case 8: return .notWritten(SyncFetchID(9_999), .full(detail: "late"))
    case 9: return .uploaded(file, .unreadable(detail: "late"), at: time)
    case 10: return .uploaded(file, .failed(failure()), at: time)
    case _: return .uploaded(file, .accepted, at: time)
    }
  }

  // Answers.

  private var time: Timestamp { Timestamp(nanoseconds: wall) }

  private mutating func answer() -> SyncModel.Input? {
    switch number(0...9) {
    case 0...2: return reads.isEmpty ? nil : read(reads.remove(at: number(0...reads.count - 1)))
    case 3...5:
      guard !writes.isEmpty else { return nil }
      let id = writes.remove(at: number(0...writes.count - 1))
      let failures = [StoreFailure.full(detail: "full"), .locked(detail: "locked")]
      return happens(mood % 3 == 0 ? 2 : 12)
        ? .notCommitted(id, failures[number(0...1)]) : .committed(id)
    case 6, 7:
      guard !uploads.isEmpty else { return nil }
      return .uploaded(uploads.remove(at: number(0...uploads.count - 1)), outcome(), at: time)
    case 8:
      guard !splits.isEmpty else { return nil }
      return split(splits.remove(at: number(0...splits.count - 1)))
    case _:
      if isTelling, happens(2) {
        isTelling = false
        return .refreshed(happens(3) ? .reset : nil)
      }
      guard isAsked else { return nil }
      isAsked = false
      return .secret(isNew: !happens(3))
    }
  }

  private mutating func draft() -> PayloadDraft {
    lastFile += 1
    return PayloadDraft(
      file: "batch-\(lastFile)", records: number(0...9), deletions: number(0...2),
      bytes: number(1...999))
  }

  private mutating func page(of type: String) -> FetchedPage {
    let isLarge = mood >> 4 % 2 == 0
    let count = happens(3) ? 0 : isLarge ? number(1...40) : number(1...2)
    let drafts = (0..<count).map { _ in draft() }
    if count > 0 || happens(4) || anchors[type] == nil {
      anchors[type] = HealthAnchor([UInt8(truncatingIfNeeded: chance.next()), 1, 2])
    }
    return FetchedPage(
      drafts: drafts, anchor: anchors[type] ?? HealthAnchor([]),
      made: Timestamp(nanoseconds: count == 0 && happens(2) ? wall + 1 << 40 : wall))
  }

  private mutating func read(_ read: (SyncFetchID, String)) -> SyncModel.Input {
    let isBad = happens(mood % 5 == 0 ? 2 : 9)
    guard isBad else { return .fetched(read.0, page(of: read.1)) }
    switch number(0...2) {
    case 0: return .notFetched(read.0, .locked(detail: "locked"))
    case 1: return .notFetched(read.0, .failed(detail: "failed"))
    case _: return .notWritten(read.0, .full(detail: "full"))
    }
  }

  private mutating func split(_ file: String) -> SyncModel.Input {
    switch number(0...7) {
    case 0: .notHalved(file, nil)
    case 1: .notHalved(file, .full(detail: "full"))
    case 2: .halved(file, (0..<number(0...3)).map { _ in draft() })
    case _: .halved(file, [draft(), draft()])
    }
  }

  private mutating func outcome() -> UploadOutcome {
    let isWell = mood >> 12 % 4 != 0
    if happens(isWell ? 2 : 12) { return .accepted }
    return happens(20) ? .unreadable(detail: "no file") : .failed(failure())
  }

  private mutating func failure() -> LinkFailure {
    let favoured = [[503, 0, 429], [500, 501, 599], [413, 413, 200], [400, 401, 404]]
    let all = [
      199, 300, 399, 400, 401, 403, 407, 408, 409, 413, 425, 429, 431, 499, 500, 501, 502, 503, 504,
      505, 599, 600,
    ]
    let mine = favoured[Int(mood >> 16 % 4)]
    let status = happens(2) ? mine[number(0...2)] : all[number(0...all.count - 1)]
    if status == 0 || happens(8) {
      return [LinkFailure.reset, .timeout(.response), .dns(detail: "dns")][number(0...2)]
    }
    let wish = happens(3) ? Duration.milliseconds(number(0...90_000)) : nil
    return .http(status: status, retryAfter: wish, detail: happens(2) ? "" : "words")
  }
}
