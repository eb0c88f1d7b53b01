import HoldfastCore
import HoldfastHealthSamples
import HoldfastSyncData

/// The read progress of one type, and the type's batches that the server has not accepted.
///
///     idle ─▶ gathering ─▶ fetching ⇄ committing ─▶ idle      the anchor no longer changes
///                 ▲            │           │
///                 │            ▼           ▼
///                 └──────── resting       full ─▶ fetching    half of the batches were accepted
///
/// One run is in progress at a time. A source change during a run causes another run after it.
struct TypeQueue: Sendable, Hashable {
  enum Run: Sendable, Hashable {
    case idle
    case gathering(until: Instant)
    case fetching(SyncFetchID)
    case committing(SyncCommitID)
    /// The queue holds the maximum number of batches.
    case full
    /// The run failed and will be retried.
    case backingOff(until: Instant)
  }

  /// The next action of a run.
  enum NextAction: Sendable, Hashable {
    /// Read a page.
    case fetch
    /// Wait, since the queue is full.
    case full
  }

  /// A series of failures to process batches of this type on the server.
  struct FailureStreak: Sendable, Hashable {
    var failures = 0
    var last: LinkFailure
    /// Whether the retry schedule is exhausted.
    var isExhausted = false
  }

  struct Batch: Sendable, Hashable {
    var queued: QueuedBatch
    var state = State.waiting
  }

  enum State: Sendable, Hashable {
    case waiting
    /// The batch was handed over for sending.
    case sending(since: Instant)
    /// The server has the batch, but its acceptance is not stored yet.
    case acknowledged
    /// The batch is being split.
    case splitting
  }

  let type: String
  /// The batches, in the order of their positions.
  private(set) var batches: [Batch]
  private(set) var run: Run
  private(set) var anchor: HealthAnchor?
  /// The earliest start of a sample that was read. A read of all samples begins there.
  private(set) var earliest: Timestamp?
  private(set) var synced = 0
  /// The instant before which no batch is handed over.
  private(set) var retryAt: Instant?
  private(set) var failureStreak: FailureStreak?
  private(set) var sourceFailure: SyncSourceTrouble?
  /// The number of consecutive failures of the source or the files.
  private var sourceFailures = 0
  /// Whether the source should be read. Batches of earlier launches are sent regardless.
  private(set) var readsSource = false
  /// Whether the source changed during the run.
  private var needsAnotherRun = false
  /// The number of runs that have begun, including the current one, and the number that have ended.
  private var begun: UInt64 = 0
  private var ended: UInt64 = 0

  /// Creates the queue of a type.
  init(_ type: String, _ batches: [Batch] = [], run: Run = .idle) {
    (self.type, self.batches, self.run) = (type, batches, run)
  }

  // MARK: Reading

  /// Restores the stored state of the type.
  mutating func restore(_ stored: SyncedType) {
    (anchor, synced, earliest) = (stored.anchor, stored.synced, stored.earliest)
  }

  /// Adds a batch of an earlier process.
  mutating func restore(_ batch: QueuedBatch, _ state: State) {
    batches.append(Batch(queued: batch, state: state))
  }

  /// Sets whether the source is read.
  mutating func setReadsSource(_ readsSource: Bool) { self.readsSource = readsSource }

  /// Schedules a run because the source changed.
  ///
  /// - Returns: The number of the run that will read the change; `nil` if the queue is full.
  mutating func fire(at now: Instant) -> UInt64? {
    switch run {
    case .idle, .backingOff: run = .gathering(until: now.advanced(by: SyncSettings.gathering))
    case .gathering: break
    case .fetching, .committing: needsAnotherRun = true
    case .full:
      needsAnotherRun = true
      return nil
    }
    return begun + 1
  }

  /// Schedules a run, unless the type is being read already or its source is not read.
  mutating func readIfIdle(at now: Instant) {
    if readsSource, run == .idle {
      run = .gathering(until: now.advanced(by: SyncSettings.gathering))
    }
  }

  /// Begins a run that is due, or continues a full one once half of the batches were accepted.
  mutating func advance(at now: Instant, isUnlocked: Bool) -> NextAction? {
    switch run {
    case .gathering(let until), .backingOff(let until):
      guard now >= until, isUnlocked else { return nil }
      begun += 1
      needsAnotherRun = false
      // Batches of an earlier process also count toward the limit.
      return next
    case .full: return batches.count <= SyncSettings.mostBatches / 2 ? .fetch : nil
    case .idle, .fetching, .committing: return nil
    }
  }

  /// The next action of the current run.
  ///
  /// Interrupting a run is safe: the pages that it read are stored, and reading continues after the
  /// anchor.
  private var next: NextAction {
    mutating get {
      guard batches.count >= SyncSettings.mostBatches else { return .fetch }
      run = .full
      return .full
    }
  }

  /// Records that a page is being read. Returns the start of the page.
  mutating func fetch(_ id: SyncFetchID) -> HealthPageStart {
    run = .fetching(id)
    if let anchor { return .after(anchor) }
    return earliest.map { .since($0, orLast: SyncSettings.firstSpan) }
      ?? .last(SyncSettings.firstSpan)
  }

  /// Returns whether a page shows that no data follows the anchor.
  func isEnd(_ page: FetchedPage) -> Bool { page.anchor == anchor && page.drafts.isEmpty }

  /// Returns whether a time is earlier than the start of every sample read so far.
  func isEarlier(_ time: Timestamp) -> Bool { earliest.map { time < $0 } ?? true }

  /// Records that a page is being stored.
  mutating func commit(_ id: SyncCommitID) { run = .committing(id) }

  /// Adds a page that was stored.
  mutating func store(_ page: FetchedPage, _ new: [QueuedBatch]) {
    anchor = page.anchor
    if let first = page.earliest { earliest = min(earliest ?? first, first) }
    batches += new.map { Batch(queued: $0) }
    (sourceFailures, sourceFailure) = (0, nil)
  }

  /// Continues the run after a page was stored.
  mutating func proceed() -> NextAction { next }

  /// Ends a run that has read everything.
  mutating func endRun(at now: Instant) {
    (sourceFailures, sourceFailure) = (0, nil)
    ended = begun
    run = needsAnotherRun ? .gathering(until: now.advanced(by: SyncSettings.gathering)) : .idle
  }

  /// Ends a run that failed, and schedules a retry.
  mutating func rest(_ failureStreak: SyncSourceTrouble, at now: Instant) {
    sourceFailures += 1
    sourceFailure = failureStreak
    ended = begun
    needsAnotherRun = true
    run = .backingOff(until: now.advanced(by: SyncSettings.pause(after: sourceFailures)))
  }

  /// Ends a run whose pages cannot be used, and begins another run.
  mutating func beginAnew(at now: Instant) {
    ended = begun
    run = .gathering(until: now)
  }

  /// Resets the read progress.
  ///
  /// - Returns: Whether a run is in progress and has to start over.
  mutating func forgetProgress(at now: Instant) -> Bool {
    (anchor, synced) = (nil, 0)
    switch run {
    case .gathering, .backingOff: return false
    case .idle:
      if readsSource { run = .gathering(until: now) }
      return false
    case .fetching, .committing, .full: return true
    }
  }

  /// The number of the current run.
  var currentRun: UInt64 { begun }

  /// Returns whether a run has ended.
  func hasEnded(_ run: UInt64) -> Bool { ended >= run }

  /// Whether all changes of the source were read.
  var isRead: Bool { !readsSource || (run == .idle && !needsAnotherRun && ended > 0) }

  /// Whether reading is blocked: the source keeps failing, or quarantined batches fill the queue.
  var isStuck: Bool {
    sourceFailures >= SyncSettings.mostFailures || (run == .full && pending == 0)
  }

  /// Returns whether the type is being read or can be read.
  func canRead(isUnlocked: Bool) -> Bool {
    switch run {
    case .gathering, .backingOff: isUnlocked
    case .fetching, .committing: true
    case .full: pending > 0
    case .idle: needsAnotherRun
    }
  }

  /// Returns whether a run is under way or begins within the time in which changes are gathered.
  func isReading(isUnlocked: Bool) -> Bool {
    switch run {
    case .fetching, .committing: true
    case .gathering: isUnlocked
    case .idle, .full, .backingOff: false
    }
  }

  // MARK: Sending

  /// Whether a batch is being split.
  var isSplitting: Bool { batches.contains { $0.state == .splitting } }

  /// The number of batches that are neither quarantined nor acknowledged.
  var pending: Int {
    batches.count { $0.queued.quarantined == nil && $0.state != .acknowledged }
  }

  var quarantined: Int { batches.count { $0.queued.quarantined != nil } }

  /// Whether a batch waits to be sent.
  var hasWaiting: Bool {
    batches.contains { $0.queued.quarantined == nil && $0.state == .waiting }
  }

  /// The files of the batches that are handed over.
  var sending: [String] {
    batches.compactMap { batch in
      if case .sending = batch.state { batch.queued.file } else { nil }
    }
  }

  var report: SyncTypeReport {
    SyncTypeReport(
      type: type, pending: pending, quarantined: quarantined, synced: synced, anchor: anchor)
  }

  /// The number of consecutive failures to process a batch on the server.
  var failures: Int { failureStreak?.failures ?? 0 }

  /// Whether the retry schedule is exhausted.
  var isExhausted: Bool { failureStreak?.isExhausted ?? false }

  func index(of file: String) -> Int? { batches.firstIndex { $0.queued.file == file } }

  /// Returns the indices of the next batches to hand over, in order. The result is empty during a
  /// wait.
  func ready(depth: Int) -> [Int] {
    guard retryAt == nil else { return [] }
    let room = (failures > 0 ? 1 : depth) - sending.count
    guard room > 0 else { return [] }
    var found: [Int] = []
    for (index, batch) in batches.enumerated() where batch.queued.quarantined == nil {
      switch batch.state {
      case .waiting: found.append(index)
      case .sending, .acknowledged: continue
      // The parts of a split batch are sent before later batches.
      case .splitting: return found
      }
      if found.count == room { return found }
    }
    return found
  }

  /// Marks a batch as handed over, and returns the batch.
  mutating func handOver(_ index: Int, at now: Instant) -> QueuedBatch {
    batches[index].state = .sending(since: now)
    retryAt = nil
    return batches[index].queued
  }

  /// Records that the server has accepted a batch.
  mutating func acknowledge(_ index: Int) {
    batches[index].queued.quarantined = nil
    batches[index].state = .acknowledged
    (failureStreak, retryAt) = (nil, nil)
  }

  /// Removes a batch whose acceptance is stored.
  mutating func remove(_ index: Int) -> QueuedBatch {
    let batch = batches.remove(at: index).queued
    synced += batch.records
    return batch
  }

  /// Marks a batch as waiting again, and returns the batch.
  mutating func retry(_ index: Int) -> QueuedBatch {
    batches[index].state = .waiting
    return batches[index].queued
  }

  /// Marks a batch as waiting again, and delays all batches until an instant.
  mutating func requeue(_ index: Int, until due: Instant) {
    batches[index].state = .waiting
    retryAt = due
  }

  /// Quarantines a batch with a reason, or ends its quarantine if `reason` is `nil`.
  mutating func quarantine(_ index: Int, _ reason: String?) {
    batches[index].queued.quarantined = reason
    batches[index].state = .waiting
  }

  /// Marks a batch as being split, and returns its file.
  mutating func split(_ index: Int) -> String {
    batches[index].state = .splitting
    return batches[index].queued.file
  }

  /// Replaces a batch with its parts.
  mutating func replace(_ index: Int, by parts: [QueuedBatch]) {
    batches.replaceSubrange(index...index, with: parts.map { Batch(queued: $0) })
  }

  /// Records a failure that concerns only this type. Returns the number of consecutive failures.
  mutating func note(_ failure: LinkFailure) -> Int {
    failureStreak = FailureStreak(
      failures: failures + 1, last: failure, isExhausted: isExhausted)
    return failures
  }

  /// Delays all batches until an instant.
  mutating func wait(until due: Instant) { retryAt = due }

  /// Marks the retry schedule as exhausted. Returns false if it was already marked.
  mutating func exhaust() -> Bool {
    guard !isExhausted else { return false }
    failureStreak?.isExhausted = true
    return true
  }

  /// Clears a wait that is over.
  mutating func endWait(at now: Instant) {
    if let due = retryAt, now >= due { retryAt = nil }
  }

  /// Ends all waits.
  ///
  /// - Parameter earliest: The earliest instant at which a request may be sent.
  mutating func tryNow(at now: Instant, earliest: Instant) {
    failureStreak?.isExhausted = false
    if retryAt != nil { retryAt = earliest }
    if case .backingOff = run { run = .backingOff(until: now) }
  }

  // MARK: Invariants

  /// The maximum number of records and deletions in all batches: the queue holds the maximum number
  /// of batches and one more page, and every batch is full. Splitting a batch adds no records.
  private static let mostHeld =
    (SyncSettings.mostBatches * 2 + 2) * SyncPacking.mostRecords

  /// Reports each violated invariant.
  ///
  /// - Parameter next: The position of the next new batch.
  func check(_ check: inout InvariantCheck, before next: UInt64) {
    switch run {
    case .idle, .backingOff, .gathering:
      check.require(begun == ended, "sync: a run that is not under way has ended")
    case .fetching, .committing, .full:
      check.require(begun == ended + 1, "sync: a type has one run at a time")
    }
    guard check.isThorough else { return }
    let positions = batches.map(\.queued.position)
    check.require(
      batches.reduce(0) { $0 + $1.queued.records + $1.queued.deletions } <= Self.mostHeld,
      "sync: the batches of a type are bounded")
    check.require(
      zip(positions, positions.dropFirst()).allSatisfy { $0 <= $1 },
      "sync: the batches of a type are in order")
    check.require(
      positions.allSatisfy { $0 < next }, "sync: new batches come after all others")
    check.require(
      batches.allSatisfy { $0.queued.quarantined == nil || $0.state == .waiting },
      "sync: a quarantined batch is not sent")
  }
}

/// The reason why a run was postponed.
enum SyncSourceTrouble: Sendable, Hashable {
  case source(HealthSourceFailure)
  case store(StoreFailure)
}
