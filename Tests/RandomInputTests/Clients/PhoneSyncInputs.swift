import HoldfastCore
import HoldfastHealthSamples
import HoldfastSyncData
import HoldfastUploads

@testable import HoldfastHealthSync

/// Random inputs for a sync. Its disk and its network fail at random.
struct PhoneSyncInputs: InputGenerator {
  var run: RandomRun<SyncModel>
  // MARK: Requests that have not been answered
  private var reads: [(id: SyncFetchID, type: String, least: Timestamp)] = []
  private var writes: [SyncCommitID] = []
  private var uploads: [String] = []
  private var splits: [String] = []
  private var isAsked = false
  private var isRefreshing = false
  private var isIdentifying = false
  private var anchors: [String: HealthAnchor] = [:]
  private var lastFile = 0
  private var lastWake: UInt64 = 0
  // MARK: Characteristics of the run
  private let serverFails: Bool
  private let storeFails: Bool
  private let sourceFails: Bool
  private let pagesAreLarge: Bool
  private let favoured: [Int]
  /// The uploads that have not ended, for use in properties.
  private var uploading: Set<String> = []

  private static let types = ["a", "b", "c"]

  init(seed: UInt64) {
    var source = RandomPolicies(generator: RandomSource(seed: seed))
    serverFails = source.oneIn(4)
    storeFails = source.oneIn(3)
    sourceFails = source.oneIn(5)
    pagesAreLarge = source.oneIn(2)
    favoured = source.one([[503, 429], [500, 501], [413, 413], [400, 401, 404]])
    let settings = SyncSettings(policy: .healthSync, depth: source.one([1, 2, 16]))
    run = RandomRun(
      SyncModel(settings, seed: source.generator.next()), seed: seed, generator: source.generator)
  }

  mutating func begin() {
    if oneIn(9) { give(.device(deviceChange())) }
    give(beginning())
  }

  mutating func act() {
    passTime([.milliseconds(500), .seconds(2), .seconds(70)])
    give(oneIn(900) ? .stop : input())
  }

  mutating func note(_ step: MachineStep<SyncModel>) {
    for effect in step.effects {
      switch effect {
      case .fetch(let id, let type, _, _, let least): reads.append((id, type, least))
      case .commit(let id, _): writes.append(id)
      case .upload(let all): uploads += all.map(\.file)
      case .split(let file): splits.append(file)
      case .identify: isIdentifying = true
      case .requestSecret: isAsked = true
      case .refresh: isRefreshing = true
      case .observe, .delete, .giveBack, .update: continue
      }
    }
    uploading = step.uploading(after: uploading).union(step.uploads)
  }

  static func request(in effect: SyncModel.Effect) -> String? {
    switch effect {
    case .fetch(let id, _, _, _, _): "fetch \(id)"
    case .commit(let id, _): "commit \(id)"
    case .giveBack(let wake, _): "give back \(wake)"
    case .observe, .delete, .upload, .split, .identify, .requestSecret, .refresh, .update: nil
    }
  }

  static let properties: [MachineProperty<PhoneSyncInputs>] = [
    MachineProperty("a file is uploaded by one upload at a time") { generator, step in
      Set(step.uploads).count == step.uploads.count
        && step.uploading(after: generator.uploading).isDisjoint(with: step.uploads)
    },
    MachineProperty("granted time is given back or waits for what it was granted for") { _, step in
      var open = step.before.wakes.ids
      switch step.input {
      case .fired(_, let wake, _)?, .woken(let wake, _, _)?: open.insert(wake)
      case _: break
      }
      for case .giveBack(let wake, _) in step.effects { open.remove(wake) }
      return open == step.after.wakes.ids
    },
  ]
}

extension PhoneSyncInputs {
  private mutating func type() -> String { one(Self.types) }

  private mutating func beginning() -> SyncModel.Input {
    var batches: [QueuedBatch] = []
    for index in 0..<number(0...6) {
      let isQuarantined = oneIn(4)
      batches.append(
        QueuedBatch(
          file: "old-\(index)", type: type(), position: UInt64(number(1...4)) << 20 + UInt64(index),
          records: number(0...9), deletions: number(0...3), bytes: number(1...999),
          quarantined: isQuarantined ? "400" : nil))
    }
    let types = Self.types.filter { _ in oneIn(2) }.map {
      SyncedType(type: $0, anchor: maybe(HealthAnchor([1])), synced: number(0...9))
    }
    for type in types { anchors[type.type] = type.anchor }
    let files = batches.map(\.file)
    let running = Set(files.filter { _ in oneIn(3) } + ["gone"])
    return .restored(
      StoredSyncQueue(
        asked: oneIn(2) ? ["b", "a"] : [], types: types, batches: batches,
        stamp: wall.advanced(by: .seconds(one([-9, 0, 9])))),
      running: running, missing: Set(files.filter { !running.contains($0) && oneIn(6) }))
  }

  private mutating func input() -> SyncModel.Input {
    // A server that fails repeatedly exhausts each retry schedule.
    if serverFails, !uploads.isEmpty, !oneIn(4) {
      let failure = LinkFailure.http(status: 503, retryAfter: nil, detail: "")
      return .uploaded(uploads.removeFirst(), .failed(failure), at: wall)
    }
    if let input = answer() { return input }
    switch number(0...12) {
    case 0: return .ask(Self.types.filter { _ in !oneIn(4) })
    case 1...6:
      lastWake += 1
      let types = (0...number(0...2)).map { _ in oneIn(12) ? "d" : type() }
      return .fired(types, WakeID(lastWake), budget: .milliseconds(one([0, 500, 2_000, 30_000])))
    case 7: return .again
    case 8:
      return .conditions(
        SyncConditions(
          isConstrained: oneIn(5), isExpensive: oneIn(2), isLowPower: oneIn(5),
          isUnlocked: !oneIn(4)))
    case 9, 10: return .device(deviceChange())
    case 11:
      lastWake += 1
      return .woken(
        WakeID(lastWake), budget: .milliseconds(one([0, 500, 2_000, 30_000])), reads: oneIn(2))
    case _: return late()
    }
  }

  /// Returns an answer to a request that was never made or has already been answered.
  private mutating func late() -> SyncModel.Input {
    let file = oneIn(2) ? "batch-\(number(0...max(1, lastFile)))" : "old-\(number(0...6))"
    switch number(0...8) {
    case 0: return .fetched(SyncFetchID(9_999_999), page(of: "a", notBefore: wall))
    case 1: return .notFetched(SyncFetchID(9_999_999), .failed(detail: "late"))
    case 2: return .notWritten(SyncFetchID(9_999_999), .full(detail: "late"))
    case 3: return .committed(SyncCommitID(9_999_999))
    case 4: return .split(file, [draft(), draft()])
    case 5: return .notSplit(file, oneIn(2) ? nil : .full(detail: "late"))
    case 6: return oneIn(2) ? .secret(isNew: oneIn(2)) : .refreshed(nil)
    case 7: return oneIn(2) ? .identified(identity()) : .epoch(one(["e1", "e2"]))
    case _: return .uploaded(file, outcome(), at: wall)
    }
  }
}

// MARK: Answers to requests
extension PhoneSyncInputs {
  private mutating func identity() -> SyncIdentity {
    let owner = SyncOwner(
      server: oneIn(9) ? "b" : "a", user: one([nil, "ann", "ann", "bob"]),
      epoch: oneIn(4) ? nil : oneIn(6) ? "e2" : "e1")
    return SyncIdentity(owner, stamp: oneIn(3) ? wall : nil)
  }

  private mutating func answer() -> SyncModel.Input? {
    if isIdentifying, oneIn(2) {
      isIdentifying = false
      return oneIn(6) ? .notIdentified(failure()) : .identified(identity())
    }
    switch number(0...9) {
    case 0...2: return reads.isEmpty ? nil : endRead()
    case 3...5:
      guard !writes.isEmpty else { return nil }
      let id = writes.remove(at: number(0...writes.count - 1))
      guard oneIn(storeFails ? 2 : 12) else { return .committed(id) }
      return .notCommitted(id, one([.full(detail: "full"), .locked(detail: "locked")]))
    case 6, 7:
      guard !uploads.isEmpty else { return nil }
      return .uploaded(uploads.remove(at: number(0...uploads.count - 1)), outcome(), at: wall)
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

  private mutating func page(of type: String, notBefore least: Timestamp) -> FetchedPage {
    let count = oneIn(3) ? 0 : pagesAreLarge ? number(1...40) : number(1...2)
    let drafts = (0..<count).map { _ in draft() }
    if count > 0 || oneIn(4) || anchors[type] == nil {
      anchors[type] = HealthAnchor([UInt8(truncatingIfNeeded: generator.next()), 1, 2])
    }
    return FetchedPage(
      drafts: drafts, anchor: anchors[type] ?? HealthAnchor([]), made: max(wall, least),
      earliest: maybe(wall))
  }

  private mutating func endRead() -> SyncModel.Input {
    let (id, type, least) = reads.remove(at: number(0...reads.count - 1))
    guard oneIn(sourceFails ? 2 : 9) else {
      return .fetched(id, page(of: type, notBefore: least))
    }
    switch number(0...2) {
    case 0: return .notFetched(id, .locked(detail: "locked"))
    case 1: return .notFetched(id, .failed(detail: "failed"))
    case _: return .notWritten(id, .full(detail: "full"))
    }
  }

  private mutating func split(_ file: String) -> SyncModel.Input {
    switch number(0...7) {
    case 0: .notSplit(file, nil)
    case 1: .notSplit(file, .full(detail: "full"))
    case 2: .split(file, (0..<number(0...3)).map { _ in draft() })
    case _: .split(file, [draft(), draft()])
    }
  }

  private mutating func outcome() -> UploadOutcome {
    if oneIn(2) { return .accepted }
    return oneIn(20) ? .unreadable(detail: "no file") : .failed(failure())
  }

  private mutating func failure() -> LinkFailure {
    if oneIn(2) { return linkFailure() }
    let retryAfter = oneIn(3) ? Duration.milliseconds(number(0...90_000)) : nil
    return .http(status: one(favoured), retryAfter: retryAfter, detail: one(["", "words"]))
  }
}

extension MachineStep<SyncModel> {
  fileprivate var uploads: [String] {
    effects.flatMap { effect -> [String] in
      if case .upload(let all) = effect { all.map(\.file) } else { [] }
    }
  }

  /// Returns the uploads that are running after the input and before its effects.
  fileprivate func uploading(after uploading: Set<String>) -> Set<String> {
    if case .restored(_, let running, _)? = input { return uploading.union(running) }
    if case .uploaded(let file, _, _)? = input { return uploading.subtracting([file]) }
    return uploading
  }
}
