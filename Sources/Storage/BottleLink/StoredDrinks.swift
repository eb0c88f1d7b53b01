public import LinkCore
public import LinkWire

/// The bottle that a phone belongs to.
public struct KnownBottle: Sendable, Hashable, Codable {
  /// What the phone's system knows it by.
  public var id: PeripheralID
  /// What it calls itself.
  public var name: String?

  public init(_ id: PeripheralID, name: String? = nil) {
    (self.id, self.name) = (id, name)
  }
}

/// A stored record of a bottle.
public struct Drink: Sendable, Hashable, Codable {
  /// Counts the drinks of this store from 1, in the order in which they were stored.
  public var number: UInt64
  /// What the bottle recorded.
  public var record: BottleRecord
  /// How it came: live, or by a later synchronisation.
  public var via: Via
  /// When it was stored.
  public var storedAt: Timestamp
  /// Whether it was deleted on the bottle afterwards.
  public var isDeleted: Bool

  /// How a drink came.
  public enum Via: String, Sendable, Hashable, Codable, CaseIterable {
    /// While the bottle was connected.
    case live
    /// It had been recorded before.
    case sync
  }

  public init(
    number: UInt64, record: BottleRecord, via: Via, storedAt: Timestamp, isDeleted: Bool = false
  ) {
    (self.number, self.record, self.via) = (number, record, via)
    (self.storedAt, self.isDeleted) = (storedAt, isDeleted)
  }
}

/// A change of what a phone keeps of a bottle; made as a whole or not at all.
public struct DrinkChange: Sendable, Hashable, Codable {
  /// The bottle from now on; `nil` for no change.
  public var bottle: KnownBottle?
  /// Records as they came; those that are stored already change nothing.
  public var records: [BottleRecord] = []
  /// How they came.
  public var via = Drink.Via.sync
  /// When the change is made, by the clock of the phone; new drinks are stored with it.
  public var at: Timestamp
  /// The id of a record that was deleted on the bottle: the newest one with this id is marked.
  public var deleted: UInt32?

  public init(at time: Timestamp) {
    at = time
  }
}

/// What a phone needs of its store at the start.
public struct DrinkSnapshot: Sendable, Hashable, Codable {
  /// The bottle that the phone belongs to; `nil` until one was found.
  public var bottle: KnownBottle?
  /// What no run has confirmed to have shown, in order: all of it, since a number that is confirmed
  /// later covers what is before it.
  public var unshown: [Drink] = []

  public init() {}
}

/// What a phone keeps of a bottle, as a value.
///
/// A record is known by everything but its flags. A bottle whose memory was erased begins its ids
/// again, and its seconds too until a phone sets its clock.
public struct StoredDrinks: Sendable, Hashable {
  private var bottle: KnownBottle?
  private var drinks: [Drink] = []
  /// The stored records, without flags.
  private var known: Set<BottleRecord> = []
  private var shown: UInt64 = 0
  private var note: String?

  /// Keeps nothing yet.
  public init() {}

  /// The bottle and the drinks that were not confirmed.
  public var snapshot: DrinkSnapshot {
    var snapshot = DrinkSnapshot()
    snapshot.bottle = bottle
    snapshot.unshown = Array(drinks[Int(clamping: shown)...])
    return snapshot
  }

  /// Makes a change and returns the drinks that are new.
  public mutating func commit(_ change: DrinkChange) -> [Drink] {
    if let bottle = change.bottle { self.bottle = bottle }
    var new: [Drink] = []
    for record in change.records where known.insert(record.withoutFlags).inserted {
      new.append(
        Drink(
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

  /// Forgets which bottle it is.
  public mutating func forgetBottle() { bottle = nil }

  /// Notes that all drinks up to this number were shown.
  public mutating func confirm(_ number: UInt64) {
    shown = max(shown, min(number, UInt64(drinks.count)))
  }

  /// Returns up to `limit` drinks before a number, or the newest, oldest first.
  public func drinks(before number: UInt64?, limit: Int) -> [Drink] {
    let end = min(number.map { Int(clamping: $0) - 1 } ?? drinks.count, drinks.count)
    return Array(drinks[..<max(end, 0)].suffix(max(limit, 0)))
  }

  /// What a running program says about itself, for others to read.
  public var status: String? {
    get { note }
    set { note = newValue }
  }
}

extension BottleRecord {
  /// What identifies it; its flags change.
  fileprivate var withoutFlags: BottleRecord {
    var record = self
    record.flags = []
    return record
  }
}
