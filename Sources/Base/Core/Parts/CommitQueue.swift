/// A batch of changes that are stored together.
public protocol CommitBatch: Sendable, Hashable {
  /// Creates a batch that changes nothing.
  init()
  /// Whether the batch changes nothing and no caller waits for it.
  var isEmpty: Bool { get }
  /// Adds the changes that are stored only together with others. The queue calls this once, before
  /// it hands the batch to the store.
  mutating func seal()
}

extension CommitBatch {
  /// Adds nothing.
  public mutating func seal() {}
}

/// A queue that hands one batch at a time to a store and collects later changes in the next.
///
/// The queue keeps a batch that the store refused and hands it over again after 1, 2, 4 … 30 s. No
/// change is lost, and later changes never overtake the batch.
public struct CommitQueue<ID: NumberedID, Batch: CommitBatch>: Sendable, Hashable {
  /// A batch at the store and the identifier of its commit.
  public struct InFlight: Sendable, Hashable {
    /// The identifier with which the store reports the result.
    public let id: ID
    /// The batch, kept until the store confirms it.
    public let batch: Batch

    @inlinable init(id: ID, batch: Batch) { (self.id, self.batch) = (id, batch) }
  }

  // Modules that use the queue specialize its inlinable methods, because the type is public. They
  // specialize those of a package type only if the type is also `@usableFromInline`.

  /// The batch at the store, or the refused batch that waits to be handed over again.
  @inlinable public var inFlight: InFlight? { current }
  @usableFromInline var current: InFlight?
  /// The batch that collects changes in the meantime.
  public var waiting = Batch()
  /// The instant at which the refused batch is handed over again; `nil` if none was refused.
  @inlinable public var retryAt: Instant? { retry }
  @usableFromInline var retry: Instant?
  /// The number of refusals since the last commit.
  @inlinable public var failures: Int { refusals }
  @usableFromInline var refusals = 0
  @usableFromInline var lastID: UInt64 = 0

  /// Creates an empty queue.
  public init() {}

  /// Whether no batch is at the store and no change waits.
  @inlinable public var isDone: Bool { current == nil && waiting.isEmpty }

  /// Returns the next batch for the store; `nil` if a batch is at the store, if a refused batch
  /// must wait, or if there are no changes.
  @inlinable public mutating func next(at now: Instant) -> InFlight? {
    if let refused = current {
      guard let due = retry, due <= now else { return nil }
      retry = nil
      return handOver(refused.batch)
    }
    guard !waiting.isEmpty else { return nil }
    waiting.seal()
    defer { waiting = Batch() }
    return handOver(waiting)
  }

  @inlinable mutating func handOver(_ batch: Batch) -> InFlight {
    lastID += 1
    let commit = InFlight(id: ID(lastID), batch: batch)
    current = commit
    return commit
  }

  /// Returns the batch that the store confirmed; `nil` if the confirmation belongs to an earlier
  /// commit.
  @inlinable public mutating func committed(_ id: ID) -> Batch? {
    guard let done = current, done.id == id else { return nil }
    (current, retry, refusals) = (nil, nil, 0)
    return done.batch
  }

  /// Schedules the next attempt of a batch that the store refused. Returns false if the refusal
  /// belongs to an earlier commit.
  @inlinable public mutating func refused(_ id: ID, at now: Instant) -> Bool {
    guard current?.id == id, retry == nil else { return false }
    refusals += 1
    retry = now.advanced(by: Self.delay(after: refusals))
    return true
  }

  /// Returns how long a refused batch waits: 1, 2, 4 … 30 s.
  ///
  /// - Parameter failures: The number of refusals in a row, from 1.
  public static func delay(after failures: Int) -> Duration {
    Schedule.afterStoreFailures.wait(after: failures)
  }
}

extension CommitQueue: SelfChecking {
  @inlinable
  public func check(_ check: inout InvariantCheck) {
    check.require(
      retry == nil || (current != nil && refusals > 0),
      "commit queue: only a refused batch is handed over again")
    check.require(
      current?.id.number ?? lastID == lastID,
      "commit queue: the batch under way has the last number")
  }
}
