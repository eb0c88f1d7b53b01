/// A record of a drink or a refill, 16 bytes as in the bottle's flash.
public struct DrinkRecord: Sendable, Equatable {
  /// Grows by 1.
  public var id: UInt32
  /// Seconds since 1970, or since the start if the clock was never set.
  public var time: UInt32
  /// In millilitres; negative for a refill.
  public var amount: Int16
  /// In millilitres, afterwards.
  public var level: UInt16
  /// 0 for less than 100 ml, 1 otherwise.
  public var kind: UInt8
  /// 1 synchronised, 2 begins a day, 4 deleted.
  public var flags: UInt8
  /// Fills the record to 16 bytes.
  public var padding: UInt16 = 0

  public init(
    id: UInt32, time: UInt32, amount: Int16, level: UInt16, kind: UInt8, flags: UInt8 = 0
  ) {
    (self.id, self.time, self.amount) = (id, time, amount)
    (self.level, self.kind, self.flags) = (level, kind, flags)
  }

  /// A record of zeros, for memory that holds none yet.
  public static var blank: DrinkRecord {
    DrinkRecord(id: 0, time: 0, amount: 0, level: 0, kind: 0)
  }

  /// Whether a phone has acknowledged it: flag 1.
  public var isSynced: Bool { flags & 1 != 0 }
  /// Whether it was deleted: flag 4.
  public var isDeleted: Bool { flags & 4 != 0 }
  /// Whether a phone still has to get it.
  public var isWaiting: Bool { flags & 5 == 0 }
}

/// The memory in which a ring keeps its records: flash on a bottle, an array on a host.
public protocol RecordStorage {
  /// How many records it holds.
  var capacity: Int { get }
  /// A record by its place.
  subscript(place: Int) -> DrinkRecord { get set }
}

/// The newest records of a bottle, oldest first; a new record replaces the oldest one.
public struct RecordRing<Storage: RecordStorage> {
  /// The records of a bottle's flash.
  public static var usualCapacity: Int { 600 }

  /// The memory of the records, a place for each.
  public internal(set) var storage: Storage
  /// The place of the oldest record.
  public internal(set) var first: Int
  /// How many records it holds.
  public internal(set) var count: Int
  /// The id of the next record.
  public internal(set) var nextID: UInt32

  /// A ring as it was found in memory; an empty one by default.
  public init(_ storage: Storage, first: Int = 0, count: Int = 0, nextID: UInt32 = 1) {
    (self.storage, self.first, self.count, self.nextID) = (storage, first, count, nextID)
  }

  /// The record at a place, from 0 for the oldest.
  public subscript(index: Int) -> DrinkRecord {
    get { storage[place(index)] }
    set { storage[place(index)] = newValue }
  }

  private func place(_ index: Int) -> Int {
    let place = first &+ index
    return place >= storage.capacity ? place &- storage.capacity : place
  }

  /// Adds a record under the next id, and returns that.
  public mutating func add(
    time: UInt32, amount: Int16, level: UInt16, beginsDay: Bool
  ) -> UInt32 {
    let id = nextID
    nextID &+= 1
    if count == storage.capacity {
      first = place(1)
      count &-= 1
    }
    count &+= 1
    self[count &- 1] = DrinkRecord(
      id: id, time: time, amount: amount, level: level, kind: amount >= 100 ? 1 : 0,
      flags: beginsDay ? 2 : 0)
    return id
  }

  /// How many records a phone still has to get; with deleted ones as older bottles count them.
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

  /// Returns the place of the first waiting record behind an id; `count` if there is none.
  func firstWaiting(after id: UInt32, upTo last: UInt32) -> Int {
    var index = 0
    while index < count {
      let record = self[index]
      if record.id > id, record.id <= last, record.isWaiting { return index }
      index &+= 1
    }
    return count
  }

  /// Marks all waiting records up to an id as synchronised.
  mutating func markSynced(upTo last: UInt32) {
    var index = 0
    while index < count {
      if self[index].id <= last, self[index].isWaiting { self[index].flags |= 1 }
      index &+= 1
    }
  }

  /// Marks the first records as synchronised, deleted ones among them, as older bottles do.
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

  /// Deletes a record; returns whether it was there and not deleted yet.
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

  /// Forgets all records; ids go on.
  mutating func clear() { count = 0 }
}

extension RecordRing: Sendable where Storage: Sendable {}
