public import HoldfastCore

/// The bottle that a phone knows.
public struct KnownBottle: Sendable, Hashable, Codable {
  /// The ID that the phone's system assigned.
  public var id: PeripheralID
  /// The name that the bottle advertises.
  public var name: String?

  public init(_ id: PeripheralID, name: String? = nil) {
    (self.id, self.name) = (id, name)
  }
}

/// A stored record of a bottle.
public struct BottleDrink: Sendable, Hashable, Codable {
  /// The number of the drink in this store, counted from 1 in the order of storage.
  public var number: UInt64
  /// The record of the bottle.
  public var record: BottleRecord
  /// The way in which the record was received.
  public var via: Via
  /// The time at which the drink was stored.
  public var storedAt: Timestamp
  /// Whether the record was later deleted on the bottle.
  public var isDeleted: Bool

  /// The ways in which a drink is received.
  public enum Via: String, Sendable, Hashable, Codable, CaseIterable {
    /// The bottle was connected when it recorded the drink.
    case live
    /// The bottle had recorded the drink before it was connected.
    case sync
  }

  public init(
    number: UInt64, record: BottleRecord, via: Via, storedAt: Timestamp, isDeleted: Bool = false
  ) {
    (self.number, self.record, self.via) = (number, record, via)
    (self.storedAt, self.isDeleted) = (storedAt, isDeleted)
  }
}

/// A change of the stored data of a bottle. It is stored completely or not at all.
public struct DrinkChange: Sendable, Hashable, Codable {
  /// The new bottle; `nil` if it does not change.
  public var bottle: KnownBottle?
  /// The received records. Records that are already stored have no effect.
  public var records: [BottleRecord] = []
  /// The way in which the records were received.
  public var via = BottleDrink.Via.sync
  /// The time of the change by the phone's clock. It is also the storage time of new drinks.
  public var at: Timestamp
  /// The ID of a record that was deleted on the bottle. The newest record with this ID is marked.
  public var deleted: UInt32?

  public init(at time: Timestamp) {
    at = time
  }
}

/// The stored data that a phone reads when it starts.
public struct DrinkSnapshot: Sendable, Hashable, Codable {
  /// The bottle of the phone; `nil` until one was found.
  public var bottle: KnownBottle?
  /// All drinks that were not confirmed as shown, in order. A confirmation also covers all earlier
  /// drinks.
  public var unshown: [BottleDrink] = []

  public init() {}
}

/// All data that a phone stores about a bottle, as a value.
///
/// A record is identified by all of its content except its flags. A bottle whose memory was erased
/// restarts its IDs. It also restarts its seconds until a phone sets its clock.
public struct StoredDrinks: Sendable, Hashable {
  private var bottle: KnownBottle?
  private var drinks: [BottleDrink] = []
  /// The stored records, without flags.
  private var known: Set<BottleRecord> = []
  private var shown: UInt64 = 0
  private var note: String?

  /// Creates an empty value.
  public init() {}

  /// The bottle and the drinks that were not confirmed as shown.
  public var snapshot: DrinkSnapshot {
    var snapshot = DrinkSnapshot()
    snapshot.bottle = bottle
    snapshot.unshown = Array(drinks[Int(clamping: shown)...])
    return snapshot
  }

  /// Applies a change. Returns the new drinks.
  public mutating func commit(_ change: DrinkChange) -> [BottleDrink] {
    if let bottle = change.bottle { self.bottle = bottle }
    var new: [BottleDrink] = []
    for record in change.records where known.insert(record.withoutFlags).inserted {
      new.append(
        BottleDrink(
          number: UInt64(drinks.count + new.count + 1), record: record, via: change.via,
          storedAt: change.at))
    }
    drinks += new
    if let id = change.deleted {
      let newest = drinks.lastIndex { $0.record.id == id }
      if let newest { drinks[newest].isDeleted = true }
    }
    return new
  }

  /// Removes the bottle, but not its drinks.
  public mutating func forgetBottle() { bottle = nil }

  /// Records that all drinks up to this number were shown.
  public mutating func confirm(_ number: UInt64) {
    shown = max(shown, min(number, UInt64(drinks.count)))
  }

  /// Returns up to `limit` drinks before a number, oldest first. Without a number, returns the
  /// newest drinks.
  public func drinks(before number: UInt64?, limit: Int) -> [BottleDrink] {
    let end = min(number.map { Int(clamping: $0) - 1 } ?? drinks.count, drinks.count)
    return Array(drinks[..<max(end, 0)].suffix(max(limit, 0)))
  }

  /// The status of a running program, for other programs to read.
  public var status: String? {
    get { note }
    set { note = newValue }
  }
}

extension BottleRecord {
  /// The record without its flags, which can change.
  fileprivate var withoutFlags: BottleRecord {
    var record = self
    record.flags = []
    return record
  }
}
