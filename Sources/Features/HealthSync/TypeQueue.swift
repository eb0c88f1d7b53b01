import LinkCore
import LinkHealth
import LinkStorage
import LinkWire

/// The reading of one type, and its batches that were not accepted yet.
///
///     idle ─▶ gathering ─▶ fetching ⇄ committing ─▶ idle      the anchor did not change any more
///                 ▲            │           │
///                 │            ▼           ▼
///                 └──────── resting       full ─▶ fetching    half of the batches were accepted
///
/// One run is under way at a time. A change of the source during a run causes one more run after it.
struct TypeQueue: Sendable, Hashable {
  enum Run: Sendable, Hashable {
    case idle
    case gathering(until: Instant)
    case fetching(SyncFetchID)
    case committing(SyncCommitID)
    /// As many batches wait as may.
    case full
    /// It failed, and is tried again.
    case resting(until: Instant)
  }

  /// The next part of a run.
  enum Turn: Sendable, Hashable {
    /// Read a page.
    case fetch
    /// The run was interrupted because the queue is full.
    case full
  }

  /// Failures in a row of batches that the server could not handle.
  struct Trouble: Sendable, Hashable {
    var failures = 0
    var last: LinkFailure
    /// Whether the schedule of tries has ended.
    var isExhausted = false
  }

  struct Batch: Sendable, Hashable {
    var queued: QueuedBatch
    var state = State.waiting
  }

  enum State: Sendable, Hashable {
    case waiting
    /// Handed over.
    case sending(since: Instant)
    /// The server has it; that is not stored yet.
    case acknowledged
    /// It is being split.
    case splitting
  }

  let type: String
  /// In the order of their places.
  private(set) var batches: [Batch]
  private(set) var run: Run
  private(set) var anchor: HealthAnchor?
  /// The earliest start of a sample that was read, from where it is read again.
  private(set) var earliest: Timestamp?
  private(set) var synced = 0
  /// No batch is handed over before.
  private(set) var retryAt: Instant?
  private(set) var trouble: Trouble?
  private(set) var sourceFailure: SyncSourceTrouble?
  /// Failures of the source or the files in a row.
  private var sourceFailures = 0
  /// Whether its source is to be read; batches of earlier launches are sent in any case.
  private(set) var isAsked = false
  /// Whether the source changed during the run.
  private var isAgain = false
  /// How many runs began, the present one included, and how many ended.
  private var begun: UInt64 = 0
  private var ended: UInt64 = 0

  /// Creates the queue of a type.
  init(_ type: String, _ batches: [Batch] = [], run: Run = .idle) {
    (self.type, self.batches, self.run) = (type, batches, run)
  }

  // MARK: Reading

  /// Takes what is stored of the type.
  mutating func restore(_ kept: SyncedType) {
    (anchor, synced, earliest) = (kept.anchor, kept.synced, kept.earliest)
  }

  /// Adds a batch of an earlier process.
  mutating func restore(_ batch: QueuedBatch, _ state: State) {
    batches.append(Batch(queued: batch, state: state))
  }

  /// Reads the source from now on, or does not.
  mutating func ask(_ isAsked: Bool) { self.isAsked = isAsked }

  /// Reads the source because it changed.
  ///
  /// - Returns: The number of the run that will have read the change; nil if that waits for room.
  mutating func fire(at now: Instant) -> UInt64? {
    switch run {
    case .idle, .resting: run = .gathering(until: now.advanced(by: SyncSettings.gathering))
    case .gathering: break
    case .fetching, .committing: isAgain = true
    case .full:
      isAgain = true
      return nil
    }
    return begun + 1
  }

  /// Begins a run that is due, or continues one that has room again.
  mutating func advance(at now: Instant, isUnlocked: Bool) -> Turn? {
    switch run {
    case .gathering(let until), .resting(let until):
      guard now >= until, isUnlocked else { return nil }
      begun += 1
      isAgain = false
      // Batches that an earlier process left count, too.
      return next
    case .full: return batches.count <= SyncSettings.mostBatches / 2 ? .fetch : nil
    case .idle, .fetching, .committing: return nil
    }
  }

  /// The next part of the present run. What is stored of an interrupted run is safe, and the rest
  /// lies behind the anchor.
  private var next: Turn {
    mutating get {
      guard batches.count >= SyncSettings.mostBatches else { return .fetch }
      run = .full
      return .full
    }
  }

  /// Notes that a page is being read; returns where the page begins.
  mutating func fetch(_ id: SyncFetchID) -> HealthPageStart {
    run = .fetching(id)
    if let anchor { return .after(anchor) }
    return earliest.map { .since($0, orLast: SyncSettings.firstSpan) }
      ?? .last(SyncSettings.firstSpan)
  }

  /// Whether nothing lies behind the anchor.
  func isEnd(_ page: FetchedPage) -> Bool { page.anchor == anchor && page.drafts.isEmpty }

  /// Whether a page has an earlier sample than all before.
  func isEarlier(_ time: Timestamp) -> Bool { earliest.map { time < $0 } ?? true }

  /// Notes that a page is being stored.
  mutating func commit(_ id: SyncCommitID) { run = .committing(id) }

  /// Takes a page that is stored.
  mutating func store(_ page: FetchedPage, _ new: [QueuedBatch]) {
    anchor = page.anchor
    if let first = page.earliest { earliest = min(earliest ?? first, first) }
    batches += new.map { Batch(queued: $0) }
    (sourceFailures, sourceFailure) = (0, nil)
  }

  /// Continues the run behind a page that is stored.
  mutating func proceed() -> Turn { next }

  /// Ends a run that has read everything.
  mutating func endRun(at now: Instant) {
    (sourceFailures, sourceFailure) = (0, nil)
    ended = begun
    run = isAgain ? .gathering(until: now.advanced(by: SyncSettings.gathering)) : .idle
  }

  /// Ends a run that failed, and schedules another one.
  mutating func rest(_ trouble: SyncSourceTrouble, at now: Instant) {
    sourceFailures += 1
    sourceFailure = trouble
    ended = begun
    isAgain = true
    run = .resting(until: now.advanced(by: SyncSettings.pause(after: sourceFailures)))
  }

  /// Ends a run whose pages are of no use, and begins another one.
  mutating func beginAnew(at now: Instant) {
    ended = begun
    run = .gathering(until: now)
  }

  /// Forgets how far was read.
  ///
  /// - Returns: Whether a run is under way, which has to begin anew.
  mutating func forgetProgress(at now: Instant) -> Bool {
    (anchor, synced) = (nil, 0)
    switch run {
    case .gathering, .resting: return false
    case .idle:
      if isAsked { run = .gathering(until: now) }
      return false
    case .fetching, .committing, .full: return true
    }
  }

  /// The number of the present run.
  var currentRun: UInt64 { begun }

  /// Whether a run has ended.
  func hasEnded(_ run: UInt64) -> Bool { ended >= run }

  /// Whether all changes of the source were read.
  var isRead: Bool { !isAsked || (run == .idle && !isAgain && ended > 0) }

  /// Whether the type is not read any further now: its source fails, or as many batches are parked as
  /// may wait.
  var isStuck: Bool {
    sourceFailures >= SyncSettings.mostFailures || (run == .full && pending == 0)
  }

  /// Whether it is being read, or can be.
  func canRead(isUnlocked: Bool) -> Bool {
    switch run {
    case .gathering, .resting: isUnlocked
    case .fetching, .committing: true
    case .full: pending > 0
    case .idle: isAgain
    }
  }

  // MARK: Sending

  /// Batches that are neither parked nor acknowledged.
  var pending: Int {
    batches.count { $0.queued.parked == nil && $0.state != .acknowledged }
  }

  var parked: Int { batches.count { $0.queued.parked != nil } }

  /// Whether a batch waits to be sent.
  var hasWaiting: Bool {
    batches.contains { $0.queued.parked == nil && $0.state == .waiting }
  }

  /// The files that are handed over.
  var sending: [String] {
    batches.compactMap { batch in
      if case .sending = batch.state { batch.queued.file } else { nil }
    }
  }

  var report: SyncTypeReport {
    SyncTypeReport(type: type, pending: pending, parked: parked, synced: synced, anchor: anchor)
  }

  /// How many batches the server could not handle in a row.
  var failures: Int { trouble?.failures ?? 0 }

  /// Whether the schedule of tries has ended.
  var isExhausted: Bool { trouble?.isExhausted ?? false }

  func place(of file: String) -> Int? { batches.firstIndex { $0.queued.file == file } }

  /// Returns the next batches that may be handed over, in order; none during a wait.
  func ready(depth: Int) -> [Int] {
    guard retryAt == nil else { return [] }
    let room = (failures > 0 ? 1 : depth) - sending.count
    guard room > 0 else { return [] }
    var found: [Int] = []
    for (index, batch) in batches.enumerated() where batch.queued.parked == nil {
      switch batch.state {
      case .waiting: found.append(index)
      case .sending, .acknowledged: continue
      // Its parts come first.
      case .splitting: return found
      }
      if found.count == room { return found }
    }
    return found
  }

  /// Hands a batch over.
  mutating func hand(over index: Int, at now: Instant) -> QueuedBatch {
    batches[index].state = .sending(since: now)
    retryAt = nil
    return batches[index].queued
  }

  /// Notes that the server has a batch.
  mutating func acknowledge(_ index: Int) {
    batches[index].queued.parked = nil
    batches[index].state = .acknowledged
    (trouble, retryAt) = (nil, nil)
  }

  /// Removes a batch whose acceptance is stored.
  mutating func remove(_ index: Int) -> QueuedBatch {
    let batch = batches.remove(at: index).queued
    synced += batch.records
    return batch
  }

  /// Lets a batch wait again.
  mutating func retry(_ index: Int) -> QueuedBatch {
    batches[index].state = .waiting
    return batches[index].queued
  }

  /// Lets a batch wait again, and all of them until a time.
  mutating func putBack(_ index: Int, until due: Instant) {
    batches[index].state = .waiting
    retryAt = due
  }

  /// Puts a batch aside, or with nil no longer.
  mutating func park(_ index: Int, _ words: String?) {
    batches[index].queued.parked = words
    batches[index].state = .waiting
  }

  /// Notes that a batch is being split.
  mutating func split(_ index: Int) -> String {
    batches[index].state = .splitting
    return batches[index].queued.file
  }

  /// Replaces a batch by its parts.
  mutating func replace(_ index: Int, by parts: [QueuedBatch]) {
    batches.replaceSubrange(index...index, with: parts.map { Batch(queued: $0) })
  }

  /// Counts a failure of this type alone; returns how many there were in a row.
  mutating func note(_ failure: LinkFailure) -> Int {
    trouble = Trouble(
      failures: failures + 1, last: failure, isExhausted: isExhausted)
    return failures
  }

  /// Waits until a time.
  mutating func wait(until due: Instant) { retryAt = due }

  /// Notes that the schedule of tries has ended; returns false if it had before.
  mutating func exhaust() -> Bool {
    guard !isExhausted else { return false }
    trouble?.isExhausted = true
    return true
  }

  /// Forgets a wait that is over.
  mutating func endWait(at now: Instant) {
    if let due = retryAt, now >= due { retryAt = nil }
  }

  /// Ends all waits.
  ///
  /// - Parameter earliest: When the server may be tried.
  mutating func tryNow(at now: Instant, earliest: Instant) {
    trouble?.isExhausted = false
    if retryAt != nil { retryAt = earliest }
    if case .resting = run { run = .resting(until: now) }
  }

  // MARK: Invariants

  /// As many batches as may wait, and one page, each batch with all the records and deletions it
  /// may have. Parts of a batch hold no more than the batch.
  private static let mostHeld =
    (SyncSettings.mostBatches * 2 + 2) * SyncPacking.mostRecords

  /// Notes each invariant that does not hold now.
  ///
  /// - Parameter next: The place of the next new batch.
  func check(_ check: inout InvariantCheck, before next: UInt64) {
    switch run {
    case .idle, .resting, .gathering:
      check.require(begun == ended, "sync: a run that is not under way has ended")
    case .fetching, .committing, .full:
      check.require(begun == ended + 1, "sync: a type has one run at a time")
    }
    guard check.isThorough else { return }
    let places = batches.map(\.queued.place)
    check.require(
      batches.reduce(0) { $0 + $1.queued.records + $1.queued.deletions } <= Self.mostHeld,
      "sync: the batches of a type are bounded")
    check.require(
      zip(places, places.dropFirst()).allSatisfy { $0 <= $1 },
      "sync: the batches of a type are in order")
    check.require(
      places.allSatisfy { $0 < next }, "sync: new batches come behind all others")
    check.require(
      batches.allSatisfy { $0.queued.parked == nil || $0.state == .waiting },
      "sync: a parked batch is not sent")
  }
}

/// Why a run was put off.
enum SyncSourceTrouble: Sendable, Hashable {
  case source(HealthSourceFailure)
  case store(StoreFailure)
}
