public import HoldfastCore
public import HoldfastHealthSamples
public import HoldfastSyncData
public import HoldfastUploads

extension SyncModel {
  /// An input of a sync.
  public enum Input: Sendable, Equatable, Codable {
    /// The stored queue, the files that an earlier process is still uploading, and the missing
    /// files. This is always the first input.
    case restored(StoredSyncQueue, running: Set<String>, missing: Set<String>)
    /// Sync these types and no others.
    case ask([String])
    /// The source of these types has changed. The budget is the time granted to store the change.
    case fired([String], WakeID, budget: Duration)
    /// The system granted time because uploads ended or a scheduled task is due. `reads` is whether
    /// all types are to be read.
    case woken(WakeID, budget: Duration, reads: Bool)
    /// A page was read, and its batches were written to files.
    case fetched(SyncFetchID, FetchedPage)
    /// The source could not be read.
    case notFetched(SyncFetchID, HealthSourceFailure)
    /// The batches of a page could not be written.
    case notWritten(SyncFetchID, StoreFailure)
    /// A transaction is stored.
    case committed(SyncCommitID)
    /// A transaction failed, and none of its changes were stored.
    case notCommitted(SyncCommitID, StoreFailure)
    /// An upload ended at this wall-clock time.
    case uploaded(String, UploadOutcome, at: Timestamp)
    /// A batch was rewritten as two files.
    case split(String, [PayloadDraft])
    /// A batch was not split. Without a failure it cannot be split.
    case notSplit(String, StoreFailure?)
    /// The server identified the owner of the progress.
    case identified(SyncIdentity)
    /// The request for the owner failed.
    case notIdentified(LinkFailure)
    /// The response to an upload contains this epoch.
    case epoch(String)
    /// The secret was read again. `isNew` is whether it differs from the refused secret.
    case secret(isNew: Bool)
    /// The request that reports a complete sync ended. The failure is `nil` if it succeeded.
    case refreshed(LinkFailure?)
    case device(DeviceChange)
    case conditions(SyncConditions)
    /// Retry at once.
    case again
    /// Stop in an orderly way.
    case stop
  }

  /// An effect of a sync. Effects are carried out in order.
  public enum Effect: Sendable, Equatable, Codable {
    /// Observe these types and no others.
    case observe([String])
    /// Read a page and write its batches to files. Their timestamp must not be before `notBefore`.
    case fetch(SyncFetchID, String, HealthPageStart, limit: Int, notBefore: Timestamp)
    /// Apply changes to the queue in one transaction.
    case commit(SyncCommitID, [SyncQueueStep])
    /// Delete files that are not in the queue.
    case delete([String])
    /// Begin the uploads, all at once.
    case upload([FileUpload])
    /// Rewrite a batch as two files.
    case split(String)
    /// Request the identity of the server and of the secret's owner.
    case identify
    /// Read the secret again.
    case requestSecret
    /// Report to the server that everything was sent.
    case refresh
    /// End a grant of background time. Each grant is ended exactly once.
    case giveBack(WakeID, WakeResult)
    case update(SyncUpdate)
  }
}

/// A batch that was written to a file but is not in the queue yet.
public struct PayloadDraft: Sendable, Hashable, Codable {
  /// The file, relative to the payload directory.
  public var file: String
  /// The number of records and workouts.
  public var records: Int
  /// The number of deletions.
  public var deletions: Int
  /// The size in bytes.
  public var bytes: Int

  /// Creates a draft.
  public init(file: String, records: Int, deletions: Int, bytes: Int) {
    (self.file, self.records, self.deletions) = (file, records, deletions)
    self.bytes = bytes
  }

  func queued(_ type: String, at position: UInt64) -> QueuedBatch {
    QueuedBatch(
      file: file, type: type, position: position, records: records, deletions: deletions,
      bytes: bytes)
  }
}

/// A page that was written to files.
public struct FetchedPage: Sendable, Hashable, Codable {
  /// The batches, in order.
  public var drafts: [PayloadDraft]
  /// The anchor at which the next page begins.
  public var anchor: HealthAnchor
  /// The timestamp of the batches.
  public var made: Timestamp
  /// The earliest start of the page's samples; `nil` without samples.
  public var earliest: Timestamp?

  /// Creates a page.
  public init(
    drafts: [PayloadDraft], anchor: HealthAnchor, made: Timestamp, earliest: Timestamp? = nil
  ) {
    (self.drafts, self.anchor, self.made) = (drafts, anchor, made)
    self.earliest = earliest
  }
}

/// The ID of one read of a source.
public struct SyncFetchID: NumberedID {
  /// The number, counted from the start of the model.
  public let number: UInt64

  /// Creates an ID from its number.
  public init(_ number: UInt64) { self.number = number }
}

/// The ID of one transaction of the queue.
public struct SyncCommitID: NumberedID {
  /// The number, counted from the start of the model.
  public let number: UInt64

  /// Creates an ID from its number.
  public init(_ number: UInt64) { self.number = number }
}

/// The ID of one grant of background time.
public struct WakeID: NumberedID {
  /// The number, which the shell assigns.
  public let number: UInt64

  /// Creates an ID from its number.
  public init(_ number: UInt64) { self.number = number }
}
