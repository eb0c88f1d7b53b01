public import HoldfastCore
public import HoldfastHealthSamples
public import HoldfastUploads

/// A batch that a phone has written to a file and that no server has accepted yet.
public struct QueuedBatch: Sendable, Hashable, Codable {
  /// The unique name of the file that contains the body, relative to the directory of the queue.
  public var file: String
  /// HealthKit's identifier of the type.
  public var type: String
  /// The position among the batches of the same type, which are sent in this order.
  public var position: UInt64
  /// The number of records and workouts.
  public var records: Int
  /// The number of deletions.
  public var deletions: Int
  /// The size of the file in bytes.
  public var bytes: Int
  /// The reason for the quarantine; `nil` while the batch waits.
  public var quarantined: String?

  /// Creates a batch.
  public init(
    file: String, type: String, position: UInt64, records: Int, deletions: Int, bytes: Int,
    quarantined: String? = nil
  ) {
    (self.file, self.type, self.position) = (file, type, position)
    (self.records, self.deletions, self.bytes) = (records, deletions, bytes)
    self.quarantined = quarantined
  }

  /// The distance between the positions of two batches. It leaves room for the parts of a split
  /// batch.
  public static let distance: UInt64 = 1 << 20
}

/// A phone's progress with one type.
public struct SyncedType: Sendable, Hashable, Codable {
  /// HealthKit's identifier.
  public var type: String
  /// The anchor up to which the source was read; `nil` before the first page.
  public var anchor: HealthAnchor?
  /// The number of records that a server has accepted since the last reset.
  public var synced: Int
  /// The time at which the last batch was accepted.
  public var lastAccepted: Timestamp?
  /// The earliest start of a sample that was read; `nil` before the first sample.
  public var earliest: Timestamp?

  /// Creates the progress of a type. By default, nothing was read.
  public init(
    type: String, anchor: HealthAnchor? = nil, synced: Int = 0, lastAccepted: Timestamp? = nil,
    earliest: Timestamp? = nil
  ) {
    (self.type, self.anchor) = (type, anchor)
    (self.synced, self.lastAccepted) = (synced, lastAccepted)
    self.earliest = earliest
  }
}

/// A change of a phone's queue.
public enum SyncQueueStep: Sendable, Hashable, Codable {
  /// Sync these types and no others. Observers are registered for them.
  case ask([String])
  /// A type was read up to this anchor. `nil` resets the type's progress.
  case anchor(type: String, HealthAnchor?)
  /// Samples of a type were read that start at this time or later. Only an earlier time than the
  /// stored one has an effect.
  case earliest(type: String, Timestamp)
  /// Set the owner of the progress. If `again` is true, reset the progress of all types, except for
  /// `earliest`.
  case own(SyncOwner, again: Bool)
  /// Add a batch, or replace the batch with the same file.
  case add(QueuedBatch)
  /// Remove a batch that a server accepted.
  case accept(file: String, at: Timestamp)
  /// Remove a batch whose samples are contained in other batches.
  case remove(file: String)
  /// Quarantine a batch, or release it if `reason` is `nil`.
  case quarantine(file: String, reason: String?)
  /// The most recent timestamp of a batch. An earlier timestamp than the stored one has no effect.
  case stamp(Timestamp)
}

/// A phone's queue as a value: its types, batches and most recent timestamp.
public struct StoredSyncQueue: Sendable, Hashable, Codable {
  /// The types to sync, in the order in which they were requested.
  public private(set) var asked: [String] = []
  /// The progress by type.
  private var progress: [String: SyncedType] = [:]
  private var queued: [String: QueuedBatch] = [:]
  /// The most recent timestamp of a batch.
  public private(set) var stamp = Timestamp(nanoseconds: .min)
  /// The owner of the progress; `nil` until a server has identified it.
  public private(set) var owner: SyncOwner?

  /// Creates an empty queue.
  public init() {}

  /// Creates a queue.
  public init(
    asked: [String], types: [SyncedType], batches: [QueuedBatch], stamp: Timestamp,
    owner: SyncOwner? = nil
  ) {
    (self.asked, self.stamp, self.owner) = (asked, stamp, owner)
    for type in types { progress[type.type] = type }
    for batch in batches { queued[batch.file] = batch }
  }

  /// The progress of each type, ordered by identifier.
  public var types: [SyncedType] { progress.values.sorted { $0.type < $1.type } }

  /// The batches, ordered by type and position.
  public var batches: [QueuedBatch] {
    queued.values.sorted { ($0.type, $0.position, $0.file) < ($1.type, $1.position, $1.file) }
  }

  /// Applies a change. A change of an item that is not stored has no effect.
  public mutating func apply(_ step: SyncQueueStep) {
    switch step {
    case .ask(let types): asked = types
    case .anchor(let type, let anchor?):
      progress[type, default: SyncedType(type: type)].anchor = anchor
    case .anchor(let type, nil): progress[type] = nil
    case .earliest(let type, let time):
      let known = progress[type]?.earliest ?? time
      progress[type, default: SyncedType(type: type)].earliest = min(known, time)
    case .own(let owner, let again):
      self.owner = owner
      if again {
        progress = progress.mapValues { SyncedType(type: $0.type, earliest: $0.earliest) }
      }
    case .add(let batch): queued[batch.file] = batch
    case .accept(let file, let time):
      guard let batch = queued.removeValue(forKey: file) else { return }
      var type = progress[batch.type] ?? SyncedType(type: batch.type)
      type.synced += batch.records
      type.lastAccepted = time
      progress[batch.type] = type
    case .remove(let file): queued[file] = nil
    case .quarantine(let file, let reason): queued[file]?.quarantined = reason
    case .stamp(let time): stamp = max(stamp, time)
    }
  }
}
