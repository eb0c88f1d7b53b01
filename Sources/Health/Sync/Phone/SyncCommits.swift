import HoldfastCore
import HoldfastSyncData
import HoldfastUploads

/// The queue's transactions in progress, and the accepted batches that wait to be stored.
///
/// Transactions of different kinds run at the same time and fail independently, so a `CommitQueue`
/// is not suitable. Only accepted batches are stored in one transaction at a time.
struct SyncCommits: Sendable, Hashable {
  /// The change that a transaction makes.
  enum Commit: Sendable, Hashable {
    case page(type: String, [QueuedBatch], FetchedPage)
    case accepted([Accepted])
    case parts(of: String, [QueuedBatch])
    case quarantine(String)
    case ask
    case own(SyncOwner, again: Bool)
  }

  struct Accepted: Sendable, Hashable {
    var file: String
    var at: Timestamp
  }

  private(set) var underWay: [SyncCommitID: Commit] = [:]
  /// The most recent failure of the store; `nil` after a success.
  private(set) var failure: StoreFailure?
  private var failures = 0
  /// The batches that the server has accepted but that are not yet in a transaction.
  private var unsaved: [Accepted] = []
  private var saveAt: Instant?

  /// Creates a value without transactions.
  init() {}

  /// Whether everything is stored.
  var isDone: Bool { unsaved.isEmpty && underWay.isEmpty }

  /// Whether an accepted batch waits to be stored.
  var hasUnsaved: Bool { !unsaved.isEmpty }

  /// Whether the store has failed repeatedly.
  var isFailing: Bool { failures >= SyncSettings.mostFailures }

  /// The wait after a failure of the store.
  var pause: Duration { SyncSettings.pause(after: failures) }

  /// The instant at which accepted batches are stored after a failure.
  var deadline: Instant? { saveAt }

  /// Whether a page or an accepted batch is being stored.
  var isStoringBatches: Bool {
    underWay.values.contains { commit in
      switch commit {
      case .page, .accepted: true
      case .parts, .quarantine, .ask, .own: false
      }
    }
  }

  /// Returns the lowest position among the pages of a type that are being stored.
  func firstPosition(of type: String) -> UInt64? {
    underWay.values.compactMap { commit in
      guard case .page(type, let batches, _) = commit else { return nil }
      return batches.first?.position
    }.min()
  }

  /// Records that a transaction begins.
  mutating func begin(_ commit: Commit, _ id: SyncCommitID) { underWay[id] = commit }

  /// Records that a transaction is stored. Returns its change.
  mutating func committed(_ id: SyncCommitID) -> Commit? {
    guard let commit = underWay.removeValue(forKey: id) else { return nil }
    (failures, failure) = (0, nil)
    return commit
  }

  /// Records that a transaction failed. Returns the change that was not stored.
  mutating func failed(_ id: SyncCommitID, _ failure: StoreFailure) -> Commit? {
    guard let commit = underWay.removeValue(forKey: id) else { return nil }
    failures += 1
    self.failure = failure
    return commit
  }

  // MARK: Accepted batches

  /// Adds a batch that the server has accepted.
  mutating func add(_ file: String, at time: Timestamp) {
    unsaved.append(Accepted(file: file, at: time))
  }

  /// Removes and returns the batches to store next; `nil` if there are none or a transaction is in
  /// progress.
  mutating func takeUnsaved(at now: Instant) -> [Accepted]? {
    guard !unsaved.isEmpty, saveAt.map({ now >= $0 }) ?? true else { return nil }
    for case .accepted in underWay.values { return nil }
    saveAt = nil
    defer { unsaved = [] }
    return unsaved
  }

  /// Queues the batches of a failed transaction again, to be stored later.
  mutating func requeue(_ all: [Accepted], at now: Instant) {
    unsaved = all + unsaved
    saveAt = now.advanced(by: pause)
  }

  /// Ends the wait after a failure.
  mutating func tryNow(at now: Instant) {
    if saveAt != nil { saveAt = now }
  }

  /// Reports each violated invariant.
  ///
  /// - Parameter acknowledged: The files of the accepted batches, according to their queues.
  func check(_ check: inout InvariantCheck, acknowledged: () -> Set<String>) {
    check.require(
      saveAt == nil || !unsaved.isEmpty, "sync: only what was accepted is stored later")
    guard check.isThorough else { return }
    var saving = unsaved.map(\.file)
    for case .accepted(let all) in underWay.values { saving += all.map(\.file) }
    check.require(
      acknowledged() == Set(saving), "sync: what the server has is being stored")
  }
}

/// The counters of a sync: IDs of reads and transactions, positions of batches, and timestamps.
struct SyncNumbers: Sendable, Hashable {
  /// The most recent timestamp of a batch.
  private(set) var stamp = Timestamp(nanoseconds: .min)
  /// The position of the next new batch.
  private(set) var nextPosition = QueuedBatch.distance
  private var last: UInt64 = 0

  /// Returns the ID of the next read or transaction.
  mutating func next() -> UInt64 {
    last += 1
    return last
  }

  /// Returns the position of a new batch.
  mutating func takePosition() -> UInt64 {
    defer { nextPosition += QueuedBatch.distance }
    return nextPosition
  }

  /// Records the position of a batch.
  mutating func note(position: UInt64) {
    nextPosition = max(nextPosition, position + QueuedBatch.distance)
  }

  /// Records the timestamp of a batch.
  mutating func note(stamp time: Timestamp) { stamp = max(stamp, time) }

  /// The earliest allowed timestamp of the next page: a whole second after the most recent one.
  ///
  /// Timestamps are sent in whole seconds, and servers compare them to decide which of two batches
  /// is later.
  var nextStamp: Timestamp {
    guard stamp.nanoseconds != .min else { return stamp }
    return SyncTime(stamp).instant.advanced(by: .seconds(1))
  }
}
