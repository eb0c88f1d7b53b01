public import HoldfastCore
public import HoldfastHealthSamples
public import HoldfastSyncData
public import HoldfastUploads

/// An update that a sync reports to its user. Updates are reported in order.
public enum SyncUpdate: Sendable, Hashable, Codable {
  /// The state of a batch changed.
  case batch(SyncBatchReport)
  /// The counts of a type changed.
  case type(SyncTypeReport)
  case notice(SyncNotice)
}

/// A batch and its state.
public struct SyncBatchReport: Sendable, Hashable, Codable {
  /// HealthKit's identifier of the batch's type.
  public var type: String
  /// The file of the batch, relative to the payload directory.
  public var file: String
  /// The number of records and workouts.
  public var records: Int
  /// The number of deletions.
  public var deletions: Int
  /// The state of the batch.
  public var state: State
  /// The reason for a failure; `nil` if nothing failed.
  public var reason: Reason?

  /// The states of a batch.
  public enum State: String, Sendable, Hashable, Codable, CaseIterable {
    /// The batch is stored and waits to be sent.
    case queued
    /// The batch was handed over for sending.
    case sending
    /// The batch was not accepted, and will be resent.
    case retrying
    /// The server has accepted the batch, and the acceptance is stored.
    case accepted
    /// The batch is quarantined. It is resent only at the user's request.
    case quarantined
  }

  /// The reason why a batch was not accepted.
  public enum Reason: Sendable, Hashable, Codable {
    case failure(LinkFailure)
    case text(String)
  }

  /// Creates a report.
  public init(
    type: String, file: String, records: Int, deletions: Int, state: State, reason: Reason? = nil
  ) {
    (self.type, self.file) = (type, file)
    (self.records, self.deletions) = (records, deletions)
    (self.state, self.reason) = (state, reason)
  }

  init(_ batch: QueuedBatch, _ state: State, _ reason: Reason? = nil) {
    self.init(
      type: batch.type, file: batch.file, records: batch.records, deletions: batch.deletions,
      state: state, reason: reason)
  }
}

/// The counts of a type.
public struct SyncTypeReport: Sendable, Hashable, Codable {
  /// HealthKit's identifier.
  public var type: String
  /// The number of batches that wait or are being sent.
  public var pending: Int
  /// The number of quarantined batches.
  public var quarantined: Int
  /// The number of records that the server has accepted since the last reset.
  public var synced: Int
  /// The position up to which the source was read.
  public var anchor: HealthAnchor?

  /// Creates a report.
  public init(type: String, pending: Int, quarantined: Int, synced: Int, anchor: HealthAnchor?) {
    (self.type, self.pending, self.quarantined) = (type, pending, quarantined)
    (self.synced, self.anchor) = (synced, anchor)
  }
}

/// A condition that is worth logging but has no further effect.
public enum SyncNotice: Sendable, Hashable, Codable {
  /// The server refused the secret. Nothing is sent until the secret changes.
  case secretRefused
  /// The secret has changed.
  case secretRenewed
  /// The retry schedule ended without a success. Retries continue at the schedule's last interval.
  case unreachable(LinkFailure)
  /// A source cannot be read now. The read is retried later.
  case source(type: String, HealthSourceFailure)
  /// Files or the queue cannot be written now. The write is retried later.
  case store(StoreFailure)
  /// A batch exceeded the server's size limit and is sent in two parts.
  case divided(file: String)
  /// The progress now belongs to another server, user or epoch, or the queue was restored to an
  /// earlier state. All data that was sent is read again.
  case readsAgain(SyncOwner)
  /// The request that reports a complete sync to the server failed.
  case notRefreshed(LinkFailure)
}

/// The progress of a sync, for a user who waits for its end.
public enum SyncState: Sendable, Hashable {
  /// An operation is in progress or will be retried soon.
  case working
  /// No batch is pending. The value is the number of quarantined batches.
  case done(quarantined: Int)
  /// Nothing can be sent until the secret changes.
  case secretRefused
  /// The server accepted no request during a whole retry schedule.
  case unreachable(LinkFailure)
  /// A source cannot be read.
  case unreadable(HealthSourceFailure)
  /// Files or the queue cannot be written.
  case unwritable(StoreFailure)
}
