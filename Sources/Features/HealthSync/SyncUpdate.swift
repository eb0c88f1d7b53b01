public import LinkCore
public import LinkHealth
import LinkStorage
public import LinkWire

/// What the user of a sync sees happen, in order.
public enum SyncUpdate: Sendable, Hashable, Codable {
  /// A batch came into another state.
  case batch(SyncBatchReport)
  /// The counts of a type changed.
  case type(SyncTypeReport)
  case notice(SyncNotice)
}

/// A batch and its state.
public struct SyncBatchReport: Sendable, Hashable, Codable {
  /// HealthKit's identifier of what it holds.
  public var type: String
  /// The file that holds it, relative to the directory of payloads.
  public var file: String
  /// How many records and workouts it holds.
  public var records: Int
  /// How many deletions it holds.
  public var deletions: Int
  /// How far it came.
  public var state: State
  /// Why, if something went wrong.
  public var reason: Reason?

  /// The states of a batch.
  public enum State: String, Sendable, Hashable, Codable, CaseIterable {
    /// Stored, and waits for its turn.
    case queued
    /// Handed over to be sent.
    case sending
    /// It was not accepted, and is sent again.
    case retrying
    /// The server has it, and that is stored.
    case accepted
    /// It is not sent again until the user says so.
    case parked
  }

  /// Why a batch was not accepted.
  public enum Reason: Sendable, Hashable, Codable {
    case failure(LinkFailure)
    case words(String)
  }

  /// A report from its parts.
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
  /// Batches that wait or are being sent.
  public var pending: Int
  /// Batches that are not sent again until the user says so.
  public var parked: Int
  /// Records that servers have accepted since the last reset.
  public var synced: Int
  /// Up to where the source was read.
  public var anchor: HealthAnchor?

  /// A report from its parts.
  public init(type: String, pending: Int, parked: Int, synced: Int, anchor: HealthAnchor?) {
    (self.type, self.pending, self.parked) = (type, pending, parked)
    (self.synced, self.anchor) = (synced, anchor)
  }
}

/// What deserves a line in a log, and changes nothing by itself.
public enum SyncNotice: Sendable, Hashable, Codable {
  /// The server refused the secret; nothing is sent until there is another one.
  case secretRefused
  /// There is another secret.
  case secretRenewed
  /// The schedule of tries ended without an answer of use; tries go on with its last wait.
  case unreachable(LinkFailure)
  /// A source cannot be read now; it is read later.
  case source(type: String, HealthSourceFailure)
  /// Files or the queue cannot be written now; that is tried again.
  case store(StoreFailure)
  /// A batch was larger than the server takes, and is sent in two parts.
  case divided(file: String)
  /// The progress belongs to another server, user or epoch than before, or was put back to an
  /// earlier state: all that was sent is read again.
  case readsAgain(SyncOwner)
  /// The server was told that the sync is complete, and did not do its part.
  case notRefreshed(LinkFailure)
}

/// Where a sync stands, for a user who waits for its end.
public enum SyncStanding: Sendable, Hashable {
  /// Something is under way, or will be tried again soon.
  case working
  /// Nothing waits, and so many batches are parked.
  case done(parked: Int)
  /// Nothing can be sent without another secret.
  case secretRefused
  /// The server did not answer with use for a whole schedule of tries.
  case unreachable(LinkFailure)
  /// A source cannot be read.
  case unreadable(HealthSourceFailure)
  /// Files or the queue cannot be written.
  case unwritable(StoreFailure)
}

extension SyncBatchReport.Reason {
  /// The reason as it is kept, for people.
  var words: String {
    switch self {
    case .words(let words): words
    case .failure(.http(let status, _, let detail)):
      detail.isEmpty ? "\(status)" : "\(status): \(detail)"
    case .failure(let failure): failure.failureClass.rawValue
    }
  }
}
