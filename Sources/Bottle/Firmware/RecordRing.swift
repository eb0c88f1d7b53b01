/// A record of a drink or a refill. It has 16 bytes, as in the bottle's flash.
public struct DrinkRecord: Sendable, Equatable {
  /// The number of the record. Each record's number is 1 higher than that of the previous one.
  public var id: UInt32
  /// The time in seconds since 1970, or since the bottle was switched on if the clock was not set.
  public var time: UInt32
  /// The amount in milliliters; negative for a refill.
  public var amount: Int16
  /// The level after the drink or refill, in milliliters.
  public var level: UInt16
  /// The kind: 1 for a drink of at least 100 ml, 0 otherwise.
  public var kind: UInt8
  /// The flags: 1 synchronized, 2 first of its day, 4 deleted.
  public var flags: UInt8
  /// The padding, which extends the record to 16 bytes.
  public var padding: UInt16 = 0

  public init(
    id: UInt32, time: UInt32, amount: Int16, level: UInt16, kind: UInt8, flags: UInt8 = 0
  ) {
    (self.id, self.time, self.amount) = (id, time, amount)
    (self.level, self.kind, self.flags) = (level, kind, flags)
  }

  /// A record of zeros, used where the memory contains no record.
  public static var blank: DrinkRecord {
    DrinkRecord(id: 0, time: 0, amount: 0, level: 0, kind: 0)
  }

  /// Whether a phone has acknowledged the record: flag 1.
  public var isSynced: Bool { flags & 1 != 0 }
  /// Whether the record was deleted: flag 4.
  public var isDeleted: Bool { flags & 4 != 0 }
  /// Whether the record is neither synchronized nor deleted, so that it has to be sent to a phone.
  public var isWaiting: Bool { flags & 5 == 0 }
}

/// The memory of a ring's records: flash on a bottle, an array on a host.
public protocol RecordStorage {
  /// The number of records that fit.
  var capacity: Int { get }
  /// Accesses the record at an index of the memory.
  subscript(slot: Int) -> DrinkRecord { get set }
}

/// The newest records of a bottle, oldest first. A new record replaces the oldest one if the ring
/// is full.
public struct RecordRing<Storage: RecordStorage> {
  /// The number of records in a bottle's flash.
  public static var usualCapacity: Int { 600 }

  /// The memory of the records.
  public internal(set) var storage: Storage
  /// The index of the oldest record in the memory.
  public internal(set) var first: Int
  /// The number of records.
  public internal(set) var count: Int
  /// The id of the next record.
  public internal(set) var nextID: UInt32

  /// Creates a ring from the state in memory. The ring is empty by default.
  public init(_ storage: Storage, first: Int = 0, count: Int = 0, nextID: UInt32 = 1) {
    (self.storage, self.first, self.count, self.nextID) = (storage, first, count, nextID)
  }

  /// Accesses the record at an index, counted from 0 for the oldest.
  public subscript(index: Int) -> DrinkRecord {
    get { storage[slot(index)] }
    set { storage[slot(index)] = newValue }
  }

  private func slot(_ index: Int) -> Int {
    let slot = first &+ index
    return slot >= storage.capacity ? slot &- storage.capacity : slot
  }

  /// Adds a record with the next id and returns the id.
  public mutating func add(
    time: UInt32, amount: Int16, level: UInt16, beginsDay: Bool
  ) -> UInt32 {
    let id = nextID
    nextID &+= 1
    if count == storage.capacity {
      first = slot(1)
      count &-= 1
    }
    count &+= 1
    self[count &- 1] = DrinkRecord(
      id: id, time: time, amount: amount, level: level, kind: amount >= 100 ? 1 : 0,
      flags: beginsDay ? 2 : 0)
    return id
  }

  /// Returns the number of records to send. `withDeleted` also counts deleted records, as older
  /// firmware does.
  public func unsynced(withDeleted: Bool) -> UInt16 {
    var found: UInt16 = 0
    var index = 0
    while index < count {
      let record = self[index]
      if record.isWaiting || (withDeleted && !record.isSynced) { found &+= 1 }
      index &+= 1
    }
    return found
  }

  /// Returns the index of the first waiting record whose id is above `id` and at most `last`;
  /// `count` if there is none.
  func firstWaiting(after id: UInt32, upTo last: UInt32) -> Int {
    var index = 0
    while index < count {
      let record = self[index]
      if record.id > id, record.id <= last, record.isWaiting { return index }
      index &+= 1
    }
    return count
  }

  /// Marks all waiting records with ids up to `last` as synchronized.
  mutating func markSynced(upTo last: UInt32) {
    var index = 0
    while index < count {
      if self[index].id <= last, self[index].isWaiting { self[index].flags |= 1 }
      index &+= 1
    }
  }

  /// Marks the first unsynchronized records as synchronized, including deleted ones, as older
  /// firmware does.
  mutating func markFirst(_ number: UInt16) {
    var left = number
    var index = 0
    while index < count, left > 0 {
      if !self[index].isSynced {
        self[index].flags |= 1
        left &-= 1
      }
      index &+= 1
    }
  }

  /// Deletes a record. Returns whether it existed and was not deleted yet.
  mutating func delete(_ id: UInt32) -> Bool {
    var index = 0
    while index < count {
      if self[index].id == id, !self[index].isDeleted {
        self[index].flags |= 4
        return true
      }
      index &+= 1
    }
    return false
  }

  /// Removes all records. The ids continue to increase.
  mutating func clear() { count = 0 }
}

extension RecordRing: Sendable where Storage: Sendable {}
