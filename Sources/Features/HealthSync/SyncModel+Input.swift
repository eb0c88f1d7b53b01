public import LinkCore
public import LinkHealth
public import LinkStorage
public import LinkWire

extension SyncModel {
  /// Everything that can happen to a sync.
  public enum Input: Sendable, Equatable, Codable {
    /// What is kept; uploads of earlier processes that still run; files that are not there. First.
    case restored(StoredSyncQueue, running: Set<String>, missing: Set<String>)
    /// Sync these types and no others.
    case ask([String])
    /// Something changed at the source of these types; there is so much time to store it.
    case fired([String], WakeID, budget: Duration)
    /// A page was read and its batches were written to files.
    case fetched(SyncFetchID, FetchedPage)
    /// The source was not read.
    case notFetched(SyncFetchID, HealthSourceFailure)
    /// The batches of a page were not written.
    case notWritten(SyncFetchID, StoreFailure)
    /// A transaction is durable.
    case committed(SyncCommitID)
    /// Nothing of a transaction was stored.
    case notCommitted(SyncCommitID, StoreFailure)
    /// An upload ended, at this time of the wall clock.
    case uploaded(String, UploadOutcome, at: Timestamp)
    /// A batch was written again as two files.
    case split(String, [PayloadDraft])
    /// A batch was not divided: it cannot be if there is no failure.
    case notSplit(String, StoreFailure?)
    /// The server said whose progress this is.
    case identified(SyncIdentity)
    /// It did not say so.
    case notIdentified(LinkFailure)
    /// The answer to an upload names this epoch.
    case epoch(String)
    /// The secret was read again; whether it is another one than the server refused.
    case secret(isNew: Bool)
    /// The server was told that the sync is complete; why it did not do its part.
    case refreshed(LinkFailure?)
    case device(DeviceChange)
    case conditions(SyncConditions)
    /// Try at once.
    case again
    /// End in an orderly way.
    case stop
  }

  /// Everything a sync can ask for; carried out in order.
  public enum Effect: Sendable, Equatable, Codable {
    /// Observe these types and no others.
    case observe([String])
    /// Read a page and write its batches to files, with a stamp that is not before this one.
    case fetch(SyncFetchID, String, HealthPageStart, limit: Int, notBefore: Timestamp)
    /// Make changes of the queue in one transaction.
    case commit(SyncCommitID, [SyncQueueStep])
    /// Delete files that no batch of the queue names.
    case delete([String])
    /// Begin uploads, all at once.
    case upload([FileUpload])
    /// Write a batch again as two files.
    case split(String)
    /// Ask the server who it is, and who is meant by the secret.
    case identify
    /// Read the secret again.
    case askSecret
    /// Tell the server that all was sent.
    case refresh
    /// Give granted time back; exactly once for each.
    case giveBack(WakeID, WakeResult)
    case update(SyncUpdate)
  }
}

/// A batch that was written to a file, and is not in the queue yet.
public struct PayloadDraft: Sendable, Hashable, Codable {
  /// The file, relative to the directory of payloads.
  public var file: String
  /// How many records and workouts it holds.
  public var records: Int
  /// How many deletions it holds.
  public var deletions: Int
  /// Its size.
  public var bytes: Int

  /// A draft from its parts.
  public init(file: String, records: Int, deletions: Int, bytes: Int) {
    (self.file, self.records, self.deletions) = (file, records, deletions)
    self.bytes = bytes
  }

  func queued(_ type: String, at place: UInt64) -> QueuedBatch {
    QueuedBatch(
      file: file, type: type, place: place, records: records, deletions: deletions, bytes: bytes)
  }
}

/// A page as it was written to files.
public struct FetchedPage: Sendable, Hashable, Codable {
  /// The batches, in order.
  public var drafts: [PayloadDraft]
  /// Where the next page begins.
  public var anchor: HealthAnchor
  /// The stamp of the batches.
  public var made: Timestamp
  /// The earliest start of its samples; `nil` if it has none.
  public var earliest: Timestamp?

  /// A page from its parts.
  public init(
    drafts: [PayloadDraft], anchor: HealthAnchor, made: Timestamp, earliest: Timestamp? = nil
  ) {
    (self.drafts, self.anchor, self.made) = (drafts, anchor, made)
    self.earliest = earliest
  }
}

/// Names one reading of a source.
public struct SyncFetchID: NumberedID {
  /// Counted from the start.
  public let number: UInt64

  /// The name that stands for a number.
  public init(_ number: UInt64) { self.number = number }
}

/// Names one transaction of the queue.
public struct SyncCommitID: NumberedID {
  /// Counted from the start.
  public let number: UInt64

  /// The name that stands for a number.
  public init(_ number: UInt64) { self.number = number }
}

/// Names one grant of time.
public struct WakeID: NumberedID {
  /// Counted by the shell.
  public let number: UInt64

  /// The name that stands for a number.
  public init(_ number: UInt64) { self.number = number }
}
