import HoldfastCore
import HoldfastHealthSamples
import HoldfastSyncData
import HoldfastUploads
import Testing

@testable import HoldfastHealthSync

/// A test harness with a sync model, its clock and a log of its effects.
struct SyncHarness {
  static let steps = "HKQuantityTypeIdentifierStepCount"
  static let heart = "HKQuantityTypeIdentifierHeartRate"

  var model: SyncModel
  var now = Instant.second(1_000)
  /// The model's effects, oldest first.
  var log: [SyncModel.Effect] = []
  private var files = 0
  /// The identity that the server reports; `nil` if it does not answer.
  var identity: SyncIdentity? = SyncIdentity(owner)

  /// The default owner of a queue's progress.
  static let owner = SyncOwner(server: "https://server.example", user: "ann", epoch: "e1")

  init(_ settings: SyncSettings = SyncSettings(policy: plain), seed: UInt64 = 7) {
    model = SyncModel(settings, seed: seed)
  }

  /// A policy without random delays. Its waits are 1 s and 2 s at first, and 4 s and 8 s once a
  /// batch has been accepted.
  static let plain: LinkPolicy = {
    do {
      return try LinkPolicy.healthSync.setting([
        ("retry.first", "1s,2s"), ("retry.reconnect", "4s,8s"), ("retry.windows", "100/1m"),
        ("retry.serverJitter", "1ns"),
      ])
    } catch {
      preconditionFailure("\(error)")
    }
  }()

  /// Returns a sync of the given types with an empty log. Its observers have not fired.
  static func asked(
    _ types: [String] = [steps], _ settings: SyncSettings = SyncSettings(policy: plain)
  ) -> SyncHarness {
    var harness = SyncHarness(settings)
    harness.give(.restored(StoredSyncQueue(), running: [], missing: []))
    harness.give(.ask(types))
    harness.finishCommits()
    harness.log = []
    return harness
  }

  /// Returns a sync that has requested its first page.
  static func fetching() -> SyncHarness {
    var harness = asked()
    harness.fire()
    harness.pass(.seconds(1))
    return harness
  }

  /// Returns a sync that has read and stored a first page of `records` batches.
  static func read(_ records: Int) throws -> SyncHarness {
    var harness = fetching()
    try harness.page(records, anchor: 1)
    harness.finishCommits()
    return harness
  }

  /// Returns an input that restores stored batches. None of them has been handed over for upload.
  static func waiting(_ batches: [QueuedBatch]) -> SyncModel.Input {
    .restored(
      StoredSyncQueue(asked: [], types: [], batches: batches, stamp: time(0)), running: [],
      missing: [])
  }

  static func batch(_ file: String, _ type: String = steps, _ position: UInt64 = 1) -> QueuedBatch {
    QueuedBatch(
      file: file, type: type, position: position * QueuedBatch.distance, records: 10, deletions: 1,
      bytes: 100)
  }

  static func time(_ second: Int64) -> Timestamp {
    Timestamp(nanoseconds: second * 1_000_000_000)
  }

  /// Passes an input to the model and returns its effects.
  @discardableResult
  mutating func give(_ input: SyncModel.Input) -> [SyncModel.Effect] {
    let effects = introduced(model.handle(Self.owned(input), at: now))
    #expect(model.brokenInvariants(.thorough) == [])
    log += effects
    return effects
  }

  /// Returns the input. If it restores a queue without an owner, the default owner is added.
  private static func owned(_ input: SyncModel.Input) -> SyncModel.Input {
    guard case .restored(var queue, let running, let missing) = input, queue.owner == nil else {
      return input
    }
    queue.apply(.own(owner, again: false))
    return .restored(queue, running: running, missing: missing)
  }

  /// Identifies the server if the effects request it. Returns the other effects and the effects of
  /// the answer.
  private mutating func introduced(_ effects: [SyncModel.Effect]) -> [SyncModel.Effect] {
    guard let identity, effects.contains(.identify) else { return effects }
    return effects.filter { $0 != .identify } + model.handle(.identified(identity), at: now)
  }

  /// Lets time pass, calls the model at each of its deadlines, and returns the effects.
  @discardableResult
  mutating func pass(_ duration: Duration) -> [SyncModel.Effect] {
    let end = now.advanced(by: duration)
    let before = log.count
    var turns = 0
    while let due = model.deadline, due <= end {
      now = max(now, due)
      log += introduced(model.tick(at: now))
      #expect(model.brokenInvariants(.thorough) == [])
      turns += 1
      guard turns < 10_000 else {
        Issue.record("its deadline does not move")
        break
      }
    }
    now = end
    return Array(log[before...])
  }

  /// The reads that were requested, in order.
  var fetches: [SyncFetchID] {
    log.compactMap { if case .fetch(let id, _, _, _, _) = $0 { id } else { nil } }
  }

  /// The start of the last requested read.
  var lastStart: HealthPageStart? {
    log.compactMap { if case .fetch(_, _, let start, _, _) = $0 { start } else { nil } }.last
  }

  /// The minimum stamp of the last requested page.
  var lastStamp: Timestamp? {
    log.compactMap { if case .fetch(_, _, _, _, let stamp) = $0 { stamp } else { nil } }.last
  }

  /// The files handed over for upload, in order.
  var sent: [String] {
    log.flatMap { effect -> [String] in
      if case .upload(let all) = effect { all.map(\.file) } else { [] }
    }
  }

  /// The steps of all transactions, in order.
  var steps: [[SyncQueueStep]] {
    log.compactMap { if case .commit(_, let steps) = $0 { steps } else { nil } }
  }

  var givenBack: [WakeID: [WakeResult]] {
    var found: [WakeID: [WakeResult]] = [:]
    for case .giveBack(let id, let result) in log { found[id, default: []].append(result) }
    return found
  }

  var deleted: [String] {
    log.flatMap { effect -> [String] in
      if case .delete(let files) = effect { files } else { [] }
    }
  }

  /// Returns the states that were reported for a file, in order.
  func states(of file: String) -> [SyncBatchReport.State] {
    log.compactMap { effect in
      guard case .update(.batch(let report)) = effect, report.file == file else { return nil }
      return report.state
    }
  }

  /// Reports that all transactions in progress are durable.
  mutating func finishCommits() {
    while let id = model.commits.underWay.keys.min() { give(.committed(id)) }
  }

  /// Reports a change at the source.
  mutating func fire(
    _ types: [String] = [steps], _ wake: UInt64 = 1, budget: Duration = .seconds(10)
  ) {
    give(.fired(types, WakeID(wake), budget: budget))
  }

  /// Answers the last requested read with the given number of batches.
  @discardableResult
  mutating func page(
    _ batches: Int, anchor: UInt8, made: Int64 = 1
  ) throws -> [SyncModel.Effect] {
    let drafts = (0..<batches).map { _ in
      files += 1
      return PayloadDraft(file: "f\(files)", records: 10, deletions: 1, bytes: 100)
    }
    let id = try #require(fetches.last)
    return give(
      .fetched(
        id, FetchedPage(drafts: drafts, anchor: HealthAnchor([anchor]), made: Self.time(made))))
  }

  /// Answers one read with a page of batches, and the next read with an empty page.
  mutating func read(_ batches: Int, anchor: UInt8) throws {
    try page(batches, anchor: anchor)
    finishCommits()
    try page(0, anchor: anchor)
  }

  mutating func accept(_ file: String) { give(.uploaded(file, .accepted, at: Self.time(5))) }

  mutating func fail(_ file: String, _ failure: LinkFailure) {
    give(.uploaded(file, .failed(failure), at: Self.time(5)))
  }

  static func http(_ status: Int, after retryAfter: Duration? = nil) -> LinkFailure {
    .http(status: status, retryAfter: retryAfter, detail: "words")
  }
}
