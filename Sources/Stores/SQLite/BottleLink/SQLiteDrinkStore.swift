package import HoldfastBottleData
package import HoldfastCore
import HoldfastFeaturePorts

/// The SQL statements of a drink store.
///
/// A bottle that has lost its memory and has not received the time repeats IDs and times. A drink
/// is therefore identified by all of its measured values.
package struct DrinkTables: Tables {
  package static let kind = StoreKind(
    name: "bottle",
    schema: Schema(
      applicationID: 0x4846_6264,  // "HFbd"
      tables: """
        CREATE TABLE phone(
          only_one INTEGER PRIMARY KEY CHECK (only_one = 1), bottle BLOB, name TEXT,
          shown INTEGER NOT NULL, status TEXT) STRICT;
        INSERT INTO phone VALUES (1, NULL, NULL, 0, NULL);
        CREATE TABLE drinks(
          number INTEGER PRIMARY KEY, id INTEGER NOT NULL, time INTEGER NOT NULL,
          amount INTEGER NOT NULL, level INTEGER NOT NULL, kind INTEGER NOT NULL,
          flags INTEGER NOT NULL, via TEXT NOT NULL, stored_at INTEGER NOT NULL,
          is_deleted INTEGER NOT NULL, UNIQUE (id, time, amount, level, kind)) STRICT;
        """))

  package let database: Database

  package init(_ database: Database) {
    self.database = database
  }

  private static let columns =
    "number, id, time, amount, level, kind, flags, via, stored_at, is_deleted"

  func snapshot() throws(StoreFailure) -> DrinkSnapshot {
    var snapshot = DrinkSnapshot()
    let rows = try database.query("SELECT bottle, name, shown FROM phone") {
      row throws(StoreFailure) in
      (try row.optionalUUID(0), try row.optionalText(1), try row.integer(2))
    }
    guard let (bottle, name, shown) = rows.first else { return snapshot }
    snapshot.bottle = bottle.map { KnownBottle(PeripheralID($0), name: name) }
    snapshot.unshown = try drinks(
      "WHERE number > ? ORDER BY number", [.integer(shown)])
    return snapshot
  }

  func commit(_ change: DrinkChange) throws(StoreFailure) -> [BottleDrink] {
    if let bottle = change.bottle {
      try database.run(
        "UPDATE phone SET bottle = ?, name = ?", [.uuid(bottle.id.id), .text(bottle.name)])
    }
    var new: [BottleDrink] = []
    for record in change.records {
      if let drink = try add(record, change) { new.append(drink) }
    }
    if let id = change.deleted {
      try database.run(
        """
        UPDATE drinks SET is_deleted = 1
        WHERE number = (SELECT max(number) FROM drinks WHERE id = ?)
        """, [.integer(Int64(id))])
    }
    return new
  }

  private func add(
    _ record: BottleRecord, _ change: DrinkChange
  ) throws(StoreFailure) -> BottleDrink? {
    // SQLite assigns the number that follows the highest one, and drinks are never removed.
    let numbers = try database.query(
      """
      INSERT INTO drinks(id, time, amount, level, kind, flags, via, stored_at, is_deleted)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, 0) ON CONFLICT (id, time, amount, level, kind) DO NOTHING
      RETURNING number
      """,
      [
        .integer(Int64(record.id)), .integer(Int64(record.time)), .integer(Int64(record.amount)),
        .integer(Int64(record.level)), .integer(Int64(record.kind)),
        .integer(Int64(record.flags.rawValue)), .text(change.via.rawValue), .time(change.at),
      ]
    ) { row throws(StoreFailure) in try row.unsigned(0) }
    return numbers.first.map {
      BottleDrink(number: $0, record: record, via: change.via, storedAt: change.at)
    }
  }

  func confirm(_ number: UInt64) throws(StoreFailure) {
    try database.run(
      """
      UPDATE phone SET shown = max(shown, min(?, (SELECT coalesce(max(number), 0) FROM drinks)))
      """, [.integer(Int64(clamping: number))])
  }

  func drinks(before number: UInt64?, limit: Int) throws(StoreFailure) -> [BottleDrink] {
    try drinks(
      "WHERE number < ? ORDER BY number DESC LIMIT ?",
      [.integer(number.map { Int64(clamping: $0) } ?? .max), .integer(max(limit, 0))]
    ).reversed()
  }

  func forgetBottle() throws(StoreFailure) {
    try database.run("UPDATE phone SET bottle = NULL, name = NULL")
  }

  func note(_ status: String?) throws(StoreFailure) {
    try database.run("UPDATE phone SET status = ?", [.text(status)])
  }

  func noted() throws(StoreFailure) -> String? {
    try database.query("SELECT status FROM phone") { row throws(StoreFailure) in
      try row.optionalText(0)
    }.first ?? nil
  }

  private func drinks(_ clause: String, _ values: [SQLValue]) throws(StoreFailure) -> [BottleDrink]
  {
    try database.query("SELECT \(Self.columns) FROM drinks \(clause)", values) {
      row throws(StoreFailure) in
      guard let id = UInt32(exactly: try row.integer(1)),
        let time = UInt32(exactly: try row.integer(2)),
        let amount = Int16(exactly: try row.integer(3)),
        let level = UInt16(exactly: try row.integer(4)),
        let kind = UInt8(exactly: try row.integer(5)),
        let flags = UInt8(exactly: try row.integer(6)),
        let via = BottleDrink.Via(rawValue: try row.text(7))
      else { throw row.garbage(1, expected: "a record of a bottle") }
      return BottleDrink(
        number: try row.unsigned(0),
        record: BottleRecord(
          id: id, time: time, amount: amount, level: level, kind: kind,
          flags: BottleRecord.Flags(rawValue: flags)),
        via: via, storedAt: try row.time(8), isDeleted: try row.flag(9))
    }
  }
}

/// A store of a phone's bottle and its drinks in one SQLite file, `bottle.sqlite`.
///
/// A commit survives a power failure, because the bottle deletes drinks once they are acknowledged.
package typealias SQLiteDrinkStore = SQLiteFile<DrinkTables>

extension SQLiteFile: DrinkStore where T == DrinkTables {
  package func open() throws(StoreFailure) -> DrinkSnapshot {
    try read { tables throws(StoreFailure) in try tables.snapshot() }
  }

  package func commit(_ change: DrinkChange) throws(StoreFailure) -> [BottleDrink] {
    try write { tables throws(StoreFailure) in try tables.commit(change) }
  }

  package func confirm(_ number: UInt64) throws(StoreFailure) {
    try write { tables throws(StoreFailure) in try tables.confirm(number) }
  }

  package func drinks(before number: UInt64?, limit: Int) throws(StoreFailure) -> [BottleDrink] {
    try read { tables throws(StoreFailure) in try tables.drinks(before: number, limit: limit) }
  }

  package func forgetBottle() throws(StoreFailure) {
    try write { tables throws(StoreFailure) in try tables.forgetBottle() }
  }

  package func note(_ status: String?) throws(StoreFailure) {
    try write { tables throws(StoreFailure) in try tables.note(status) }
  }

  package func noted() throws(StoreFailure) -> String? {
    try read { tables throws(StoreFailure) in try tables.noted() }
  }
}
