public import LinkCore
public import LinkHealth
public import LinkWire

/// A batch that a phone has written to a file, and that no server has accepted yet.
public struct QueuedBatch: Sendable, Hashable, Codable {
  /// The file that holds the body, relative to the directory of the queue; no two are the same.
  public var file: String
  /// HealthKit's identifier of what is synced.
  public var type: String
  /// The place among the batches of its type, which are sent in this order.
  public var place: UInt64
  /// How many records and workouts it holds.
  public var records: Int
  /// How many deletions it holds.
  public var deletions: Int
  /// The size of the file.
  public var bytes: Int
  /// Why it is not sent any more; `nil` while it waits.
  public var parked: String?

  /// A batch from its parts.
  public init(
    file: String, type: String, place: UInt64, records: Int, deletions: Int, bytes: Int,
    parked: String? = nil
  ) {
    (self.file, self.type, self.place) = (file, type, place)
    (self.records, self.deletions, self.bytes) = (records, deletions, bytes)
    self.parked = parked
  }

  /// The distance between the places of two batches, so that the halves of one fit in between.
  public static let distance: UInt64 = 1 << 20
}

/// What a phone remembers of one type.
public struct SyncedType: Sendable, Hashable, Codable {
  /// HealthKit's identifier.
  public var type: String
  /// Up to where the source was read; `nil` before the first page.
  public var anchor: HealthAnchor?
  /// How many records a server has accepted since the last reset.
  public var synced: Int
  /// When the last batch was accepted.
  public var lastAccepted: Timestamp?
  /// The earliest start of a sample that was read; `nil` before the first one.
  public var earliest: Timestamp?

  /// A type from its parts; by default nothing was read.
  public init(
    type: String, anchor: HealthAnchor? = nil, synced: Int = 0, lastAccepted: Timestamp? = nil,
    earliest: Timestamp? = nil
  ) {
    (self.type, self.anchor) = (type, anchor)
    (self.synced, self.lastAccepted) = (synced, lastAccepted)
    self.earliest = earliest
  }
}

/// A change of the queue of a phone.
public enum SyncQueueStep: Sendable, Hashable, Codable {
  /// These types, and no others, are to be synced; observers are registered for them.
  case ask([String])
  /// A type was read up to this anchor; `nil` forgets what was read and counted.
  case anchor(type: String, HealthAnchor?)
  /// Samples of a type were read that start then or later; an earlier time replaces a later one.
  case earliest(type: String, Timestamp)
  /// The progress belongs to this owner.
  ///
  /// - again: Whether what was read and counted is forgotten, but for `earliest`.
  case own(SyncOwner, again: Bool)
  /// Adds a batch, or replaces the one of the same file.
  case add(QueuedBatch)
  /// A server has the batch, which leaves the queue.
  case accept(file: String, at: Timestamp)
  /// A batch leaves the queue for another reason: others hold its samples.
  case remove(file: String)
  /// A batch is not sent any more until it is released; `nil` releases it.
  case park(file: String, reason: String?)
  /// The newest time that a batch was stamped with; an earlier one changes nothing.
  case stamp(Timestamp)
}

/// The queue of a phone as a value: types, batches, the newest stamp.
public struct StoredSyncQueue: Sendable, Hashable, Codable {
  /// The types that are to be synced, in the order in which they were given.
  public private(set) var asked: [String] = []
  /// What was read and accepted, by type.
  private var kept: [String: SyncedType] = [:]
  private var queued: [String: QueuedBatch] = [:]
  /// The newest time that a batch was stamped with.
  public private(set) var stamp = Timestamp(nanoseconds: .min)
  /// Whose progress it is; `nil` before a server said so.
  public private(set) var owner: SyncOwner?

  /// An empty queue.
  public init() {}

  /// A queue from its parts.
  public init(
    asked: [String], types: [SyncedType], batches: [QueuedBatch], stamp: Timestamp,
    owner: SyncOwner? = nil
  ) {
    (self.asked, self.stamp, self.owner) = (asked, stamp, owner)
    for type in types { kept[type.type] = type }
    for batch in batches { queued[batch.file] = batch }
  }

  /// What was read and accepted of each type, ordered by its identifier.
  public var types: [SyncedType] { kept.values.sorted { $0.type < $1.type } }

  /// The batches, ordered by type and place.
  public var batches: [QueuedBatch] {
    queued.values.sorted { ($0.type, $0.place, $0.file) < ($1.type, $1.place, $1.file) }
  }

  /// Makes a change. Changing what is not there changes nothing.
  public mutating func apply(_ step: SyncQueueStep) {
    switch step {
    case .ask(let types): asked = types
    case .anchor(let type, let anchor?):
      kept[type, default: SyncedType(type: type)].anchor = anchor
    case .anchor(let type, nil): kept[type] = nil
    case .earliest(let type, let time):
      let known = kept[type]?.earliest ?? time
      kept[type, default: SyncedType(type: type)].earliest = min(known, time)
    case .own(let owner, let again):
      self.owner = owner
      if again { kept = kept.mapValues { SyncedType(type: $0.type, earliest: $0.earliest) } }
    case .add(let batch): queued[batch.file] = batch
    case .accept(let file, let time):
      guard let batch = queued.removeValue(forKey: file) else { return }
      var type = kept[batch.type] ?? SyncedType(type: batch.type)
      type.synced += batch.records
      type.lastAccepted = time
      kept[batch.type] = type
    case .remove(let file): queued[file] = nil
    case .park(let file, let reason): queued[file]?.parked = reason
    case .stamp(let time): stamp = max(stamp, time)
    }
  }
}
