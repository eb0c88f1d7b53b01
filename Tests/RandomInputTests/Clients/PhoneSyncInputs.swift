@testable import HealthSync
import LinkCore
import LinkHealth
import LinkWire

/// Random inputs for a sync, with a disk and a network that do what they like.
///
/// They come to types that are full, stores that fail again and again, batches that cannot be
/// divided and answers that are late.
struct PhoneSyncInputs: InputGenerator {
  var run: RandomRun<SyncModel>
  private var wall: Int64 = 1_700_000_000_000_000_000
  // What was asked for and not answered.
  private var reads: [(SyncFetchID, String)] = []
  private var writes: [SyncCommitID] = []
  private var uploads: [String] = []
  private var splits: [String] = []
  private var isAsked = false
  private var isRefreshing = false
  private var anchors: [String: HealthAnchor] = [:]
  private var lastFile = 0
  private var lastWake: UInt64 = 0
  // How this run is.
  private let serverFails: Bool
  private let failingStatus: Int
  private let storeFails: Bool
  private let sourceFails: Bool
  private let pagesAreLarge: Bool
  private let mostlyRefused: Bool
  private let favoured: [Int]
  // What the properties compare with.
  private(set) var books = SyncNotes()

  private static let types = ["a", "b", "c"]

  init(seed: UInt64) {
    var source = RandomPolicies(chance: Chance(seed: seed))
    serverFails = source.oneIn(4)
    failingStatus = source.one([500, 503])
    storeFails = source.oneIn(3)
    sourceFails = source.oneIn(5)
    pagesAreLarge = source.oneIn(2)
    mostlyRefused = source.oneIn(4)
    favoured = source.one([[503, 0, 429], [500, 501, 599], [413, 413, 200], [400, 401, 404]])
    let settings = SyncSettings(policy: .healthSync, depth: source.one([1, 2, 16]))
    run = RandomRun(
      SyncModel(settings, seed: source.chance.next()), seed: seed, chance: source.chance)
  }

  mutating func begin() {
    if oneIn(9) { give(.device(changeOfDevice())) }
    give(beginning())
  }

  mutating func act() {
    if oneIn(serverFails ? 2 : 3) { pass() }
    give(oneIn(900) ? .stop : input())
  }

  mutating func note(_ step: MachineStep<SyncModel>) {
    for effect in step.effects {
      switch effect {
      case .fetch(let id, let type, _, _, let least):
        reads.append((id, type))
        wall = max(wall, least.nanoseconds)
      case .commit(let id, _): writes.append(id)
      case .upload(let all): uploads += all.map(\.file)
      case .halve(let file): splits.append(file)
      case .askSecret: isAsked = true
      case .refresh: isRefreshing = true
      case .observe, .delete, .giveBack, .update: continue
      }
    }
    books.note(step)
  }

  static func request(in effect: SyncModel.Effect) -> String? {
    switch effect {
    case .fetch(let id, _, _, _, _): "fetch \(id)"
    case .commit(let id, _): "commit \(id)"
    case .giveBack(let wake, _): "give back \(wake)"
    case .observe, .delete, .upload, .halve, .askSecret, .refresh, .update: nil
    }
  }
}

extension PhoneSyncInputs {
  private mutating func type() -> String { one(Self.types) }
  private var time: Timestamp { Timestamp(nanoseconds: wall) }

  /// Lets time pass: a moment, up to the next deadline, or beside it.
  private mutating func pass() {
    let beside = [Duration.zero, .zero, .nanoseconds(-1), .nanoseconds(1), .seconds(1)]
    if let due, !oneIn(4) {
      skip(to: due.advanced(by: one(beside)))
    } else {
      skip(to: now.advanced(by: .milliseconds(number(0...70_000))))
    }
    wall += Int64(number(-3_000_000...900_000_000)) * 10
    give(nil)
  }

  private mutating func beginning() -> SyncModel.Input {
    var batches: [QueuedBatch] = []
    for index in 0..<number(0...6) {
      let isParked = oneIn(4)
      batches.append(
        QueuedBatch(
          file: "old-\(index)", type: type(), place: UInt64(number(1...4)) << 20 + UInt64(index),
          records: number(0...9), deletions: number(0...3), bytes: number(1...999),
          parked: isParked ? "400" : nil))
    }
    let types = Self.types.filter { _ in oneIn(2) }.map {
      SyncedType(type: $0, anchor: maybe(HealthAnchor([1])), synced: number(0...9))
    }
    for type in types { anchors[type.type] = type.anchor }
    let stamps = [Int64.min, wall, wall + 999_999_999, -1, -1_000_000_000]
    let files = batches.map(\.file)
    let running = Set(files.filter { _ in oneIn(3) } + ["gone"])
    return .restored(
      KeptSyncQueue(
        asked: oneIn(2) ? ["b", "a"] : [], types: types, batches: batches,
        stamp: Timestamp(nanoseconds: one(stamps))),
      running: running, missing: Set(files.filter { !running.contains($0) && oneIn(6) }))
  }

  private mutating func input() -> SyncModel.Input {
    // A server that goes on failing ends each schedule of tries.
    if serverFails, !uploads.isEmpty, !oneIn(4) {
      let failure = LinkFailure.http(status: failingStatus, retryAfter: nil, detail: "")
      return .uploaded(uploads.removeFirst(), .failed(failure), at: time)
    }
    if let input = answer() { return input }
    switch number(0...15) {
    case 0: return .ask(Self.types.filter { _ in !oneIn(4) })
    case 1...6:
      lastWake += 1
      let types = (0...number(0...2)).map { _ in oneIn(12) ? "d" : type() }
      let budgets = [Duration.seconds(30), .seconds(2), .milliseconds(500), .seconds(1), .zero]
      return .fired(types, WakeID(lastWake), budget: one(budgets))
    case 7: return .again
    case 8:
      return .conditions(
        SyncConditions(
          isConstrained: oneIn(5), isExpensive: oneIn(2), isLowPower: oneIn(5),
          isUnlocked: !oneIn(4)))
    case 9, 10: return .device(changeOfDevice())
    case 11: return late()
    case _:
      lastWake += 1
      return .fired([type()], WakeID(lastWake), budget: .seconds(10))
    }
  }

  private mutating func changeOfDevice() -> DeviceChange {
    switch number(0...6) {
    case 0: .woke
    case 1: .again
    case 2: .lifecycle(.background)
    case 3: .lifecycle(.foreground)
    case 4: .reachability(oneIn(2) ? .unreachable : .captivePortal)
    case _: .reachability(.reachable(path: PathID("path")))
    }
  }

  /// Returns answers to questions that nobody asked, or that were answered before.
  private mutating func late() -> SyncModel.Input {
    let file = oneIn(2) ? "batch-\(number(0...max(1, lastFile)))" : "old-\(number(0...6))"
    switch number(0...11) {
    case 0: return .fetched(SyncFetchID(9_999_999), page(of: "a"))
    case 1: return .notFetched(SyncFetchID(9_999_999), .failed(detail: "late"))
    case 2: return .committed(SyncCommitID(9_999_999))
    case 3: return .notCommitted(SyncCommitID(9_999_999), .full(detail: "late"))
    case 4: return .halved(file, [draft(), draft()])
    case 5: return .notHalved(file, oneIn(2) ? nil : .full(detail: "late"))
    case 6: return .secret(isNew: oneIn(2))
    case 7: return .refreshed(nil)
    case 8: return .notWritten(SyncFetchID(9_999_999), .full(detail: "late"))
    case 9: return .uploaded(file, .unreadable(detail: "late"), at: time)
    case 10: return .uploaded(file, .failed(failure()), at: time)
    case _: return .uploaded(file, .accepted, at: time)
    }
  }
}

// Answers.
extension PhoneSyncInputs {
  private mutating func answer() -> SyncModel.Input? {
    switch number(0...9) {
    case 0...2: return reads.isEmpty ? nil : read(reads.remove(at: number(0...reads.count - 1)))
    case 3...5:
      guard !writes.isEmpty else { return nil }
      let id = writes.remove(at: number(0...writes.count - 1))
      guard oneIn(storeFails ? 2 : 12) else { return .committed(id) }
      return .notCommitted(id, one([.full(detail: "full"), .locked(detail: "locked")]))
    case 6, 7:
      guard !uploads.isEmpty else { return nil }
      return .uploaded(uploads.remove(at: number(0...uploads.count - 1)), outcome(), at: time)
    case 8:
      guard !splits.isEmpty else { return nil }
      return split(splits.remove(at: number(0...splits.count - 1)))
    case _:
      if isRefreshing, oneIn(2) {
        isRefreshing = false
        return .refreshed(oneIn(3) ? .reset : nil)
      }
      guard isAsked else { return nil }
      isAsked = false
      return .secret(isNew: !oneIn(3))
    }
  }

  private mutating func draft() -> PayloadDraft {
    lastFile += 1
    return PayloadDraft(
      file: "batch-\(lastFile)", records: number(0...9), deletions: number(0...2),
      bytes: number(1...999))
  }

  private mutating func page(of type: String) -> FetchedPage {
    let count = oneIn(3) ? 0 : pagesAreLarge ? number(1...40) : number(1...2)
    let drafts = (0..<count).map { _ in draft() }
    if count > 0 || oneIn(4) || anchors[type] == nil {
      anchors[type] = HealthAnchor([UInt8(truncatingIfNeeded: chance.next()), 1, 2])
    }
    return FetchedPage(
      drafts: drafts, anchor: anchors[type] ?? HealthAnchor([]),
      made: Timestamp(nanoseconds: count == 0 && oneIn(2) ? wall + 1 << 40 : wall))
  }

  private mutating func read(_ read: (SyncFetchID, String)) -> SyncModel.Input {
    guard oneIn(sourceFails ? 2 : 9) else { return .fetched(read.0, page(of: read.1)) }
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
    if oneIn(mostlyRefused ? 12 : 2) { return .accepted }
    return oneIn(20) ? .unreadable(detail: "no file") : .failed(failure())
  }

  private mutating func failure() -> LinkFailure {
    let all = [
      199, 300, 399, 400, 401, 403, 407, 408, 409, 413, 425, 429, 431, 499, 500, 501, 502, 503, 504,
      505, 599, 600,
    ]
    let status = one(oneIn(2) ? favoured : all)
    if status == 0 || oneIn(8) { return one([.reset, .timeout(.response), .dns(detail: "dns")]) }
    let wish = oneIn(3) ? Duration.milliseconds(number(0...90_000)) : nil
    return .http(status: status, retryAfter: wish, detail: one(["", "words"]))
  }
}
