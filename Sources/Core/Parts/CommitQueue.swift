/// A change that collects what is to be stored together.
package protocol CommitBatch: Sendable, Hashable {
  /// Creates a batch that changes nothing.
  init()
  /// Whether storing the batch would change nothing and nobody waits for it.
  var isEmpty: Bool { get }
  /// Adds what is stored only along with other changes. Called once, before the batch is handed to
  /// the store.
  mutating func seal()
}

extension CommitBatch {
  /// Adds nothing.
  package mutating func seal() {}
}

/// A queue that hands one change at a time to a store; later changes are collected in one batch.
///
/// A change that the store refused is kept and handed over again after 1, 2, 4 … 30 s, so nothing is
/// lost, and later changes never overtake it.
package struct CommitQueue<ID: NumberedID, Batch: CommitBatch>: Sendable, Hashable {
  /// A batch that the store has, and the name of that commit.
  package struct InFlight: Sendable, Hashable {
    /// The name under which the store answers.
    package let id: ID
    /// The batch, kept until the store confirms it.
    package let batch: Batch
  }

  /// The batch at the store, or the batch that waits to be handed over again.
  package private(set) var inFlight: InFlight?
  /// The batch that collects changes meanwhile.
  package var waiting = Batch()
  /// When the refused batch is handed over again; nil if none was refused.
  package private(set) var retryAt: Instant?
  /// Refusals since the last commit.
  package private(set) var failures = 0
  private var lastID: UInt64 = 0

  /// Creates a queue without changes.
  package init() {}

  /// Whether no batch is under way and none waits.
  package var isDone: Bool { inFlight == nil && waiting.isEmpty }

  /// Returns the next batch for the store, or nil while one is under way, has to wait, or none is
  /// there.
  package mutating func next(at now: Instant) -> InFlight? {
    if let refused = inFlight {
      guard let retryAt, retryAt <= now else { return nil }
      self.retryAt = nil
      return handOver(refused.batch)
    }
    guard !waiting.isEmpty else { return nil }
    waiting.seal()
    defer { waiting = Batch() }
    return handOver(waiting)
  }

  private mutating func handOver(_ batch: Batch) -> InFlight {
    lastID += 1
    let commit = InFlight(id: ID(lastID), batch: batch)
    inFlight = commit
    return commit
  }

  /// Returns the batch that the store confirmed, or nil if the confirmation is of an earlier commit.
  package mutating func committed(_ id: ID) -> Batch? {
    guard let done = inFlight, done.id == id else { return nil }
    (inFlight, retryAt, failures) = (nil, nil, 0)
    return done.batch
  }

  /// Schedules the next try of a batch that the store refused; returns false if the refusal is of an
  /// earlier commit.
  package mutating func refused(_ id: ID, at now: Instant) -> Bool {
    guard inFlight?.id == id, retryAt == nil else { return false }
    failures += 1
    retryAt = now.advanced(by: Self.delay(after: failures))
    return true
  }

  /// Returns how long a refused batch waits: 1, 2, 4 … 30 s.
  ///
  /// - Parameter failures: Refusals in a row, from 1.
  package static func delay(after failures: Int) -> Duration {
    .seconds(min(30, 1 << min(max(failures, 1) - 1, 5)))
  }
}

extension CommitQueue: SelfChecking {
  package func check(_ check: inout InvariantCheck) {
    check.require(
      retryAt == nil || (inFlight != nil && failures > 0),
      "commit queue: only a refused batch is handed over again")
    check.require(
      inFlight.map { $0.id.number == lastID } ?? true,
      "commit queue: the batch under way has the last number")
  }
}
