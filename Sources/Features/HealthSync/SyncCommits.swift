import LinkCore
import LinkStorage
import LinkWire

/// The transactions of the queue that are under way, and what waits to be stored.
///
/// Transactions of different kinds are stored at the same time and fail each in its own way, so they
/// are no `CommitQueue`. Only accepted batches are stored one transaction at a time.
struct SyncCommits: Sendable, Hashable {
  /// What a transaction will have done.
  enum Commit: Sendable, Hashable {
    case page(type: String, [QueuedBatch], FetchedPage)
    case accepted([Accepted])
    case parts(of: String, [QueuedBatch])
    case park(String)
    case ask
    case own(SyncOwner, again: Bool)
  }

  struct Accepted: Sendable, Hashable {
    var file: String
    var at: Timestamp
  }

  private(set) var underWay: [SyncCommitID: Commit] = [:]
  /// The last failure of the store; nil once it did not fail.
  private(set) var failure: StoreFailure?
  private var failures = 0
  /// Batches that the server has, in no transaction yet.
  private var unsaved: [Accepted] = []
  private var saveAt: Instant?

  /// Creates a value without transactions.
  init() {}

  /// Whether everything is stored.
  var isDone: Bool { unsaved.isEmpty && underWay.isEmpty }

  /// Whether an accepted batch waits to be stored.
  var hasUnsaved: Bool { !unsaved.isEmpty }

  /// Whether the store does not work now.
  var isFailing: Bool { failures >= SyncSettings.mostFailures }

  /// How long to wait after a failure of the store.
  var pause: Duration { SyncSettings.pause(after: failures) }

  /// When accepted batches are stored after a failure.
  var deadline: Instant? { saveAt }

  /// Whether a page or an accepted batch is being stored.
  var isStoringBatches: Bool {
    underWay.values.contains { commit in
      switch commit {
      case .page, .accepted: true
      case .parts, .park, .ask, .own: false
      }
    }
  }

  /// The first place of a page of a type that is being stored.
  func firstPlace(of type: String) -> UInt64? {
    underWay.values.compactMap { commit in
      guard case .page(type, let batches, _) = commit else { return nil }
      return batches.first?.place
    }.min()
  }

  /// Notes a transaction that begins.
  mutating func begin(_ commit: Commit, _ id: SyncCommitID) { underWay[id] = commit }

  /// Notes that a transaction is durable; returns what it has done.
  mutating func committed(_ id: SyncCommitID) -> Commit? {
    guard let commit = underWay.removeValue(forKey: id) else { return nil }
    (failures, failure) = (0, nil)
    return commit
  }

  /// Notes that nothing of a transaction was stored; returns what it would have done.
  mutating func failed(_ id: SyncCommitID, _ failure: StoreFailure) -> Commit? {
    guard let commit = underWay.removeValue(forKey: id) else { return nil }
    failures += 1
    self.failure = failure
    return commit
  }

  // MARK: Accepted batches

  /// Adds a batch that the server has.
  mutating func add(_ file: String, at time: Timestamp) {
    unsaved.append(Accepted(file: file, at: time))
  }

  /// Takes the batches that are stored next; nil if there are none, or a transaction is under way.
  mutating func takeUnsaved(at now: Instant) -> [Accepted]? {
    guard !unsaved.isEmpty, saveAt.map({ now >= $0 }) ?? true else { return nil }
    for case .accepted in underWay.values { return nil }
    saveAt = nil
    defer { unsaved = [] }
    return unsaved
  }

  /// Stores batches later whose transaction failed.
  mutating func putBack(_ all: [Accepted], at now: Instant) {
    unsaved = all + unsaved
    saveAt = now.advanced(by: pause)
  }

  /// Ends the wait after a failure.
  mutating func tryNow(at now: Instant) {
    if saveAt != nil { saveAt = now }
  }

  /// Notes each invariant that does not hold now.
  ///
  /// - Parameter acknowledged: The batches that the server has, as their queues know them.
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

/// The numbers that a sync counts: of readings and transactions, places of batches, stamps.
struct SyncNumbers: Sendable, Hashable {
  /// The newest stamp of a batch.
  private(set) var stamp = Timestamp(nanoseconds: .min)
  /// The place of the next new batch.
  private(set) var nextPlace = QueuedBatch.distance
  private var last: UInt64 = 0

  /// Returns the number of the next reading or transaction.
  mutating func next() -> UInt64 {
    last += 1
    return last
  }

  /// Returns the place of a new batch.
  mutating func takePlace() -> UInt64 {
    defer { nextPlace += QueuedBatch.distance }
    return nextPlace
  }

  /// Notes the place of a batch.
  mutating func note(place: UInt64) { nextPlace = max(nextPlace, place + QueuedBatch.distance) }

  /// Notes the stamp of a batch.
  mutating func note(stamp time: Timestamp) { stamp = max(stamp, time) }

  /// The least stamp of the next page: a whole second after the newest one, since stamps are sent
  /// in whole seconds and tell servers which of two batches is the later one.
  var nextStamp: Timestamp {
    guard stamp.nanoseconds != .min else { return stamp }
    return SyncTime(stamp).instant.advanced(by: .seconds(1))
  }
}
