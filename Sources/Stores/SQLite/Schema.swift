import HoldfastCore

/// The tables of a kind of store.
struct Schema {
  /// The ID that marks this package's files (`PRAGMA application_id`). It prevents writes to a
  /// foreign database.
  let applicationID: Int32
  /// The statements that create the tables.
  let tables: String
  /// The statements that bring the tables to the next version, from version 1 on.
  var upgrades: [String] = []

  /// The version of the tables (`PRAGMA user_version`). The version of an empty file is 0.
  var version: Int { upgrades.count + 1 }

  /// Returns whether a file has tables, of this or an earlier version. Returns false if the file is
  /// empty.
  func inspect(_ database: Database, path: String) throws(StoreFailure) -> Bool {
    let identity = try number(database, "PRAGMA application_id")
    let version = try number(database, "PRAGMA user_version")
    let tables = try number(database, "SELECT count(*) FROM sqlite_schema")
    if identity == 0, version == 0, tables == 0 { return false }
    guard identity == Int(applicationID) else {
      throw .corrupt(
        detail: "\(path) is a database of another kind. It was left as it is; choose another path.")
    }
    guard version <= self.version else {
      throw .fromTheFuture(found: version, supported: self.version)
    }
    guard version >= 1 else {
      throw .corrupt(
        detail: "\(path) has version \(version) of its tables, which no release wrote. It was left "
          + "as it is; choose another path.")
    }
    return true
  }

  /// Creates the tables in one transaction.
  func create(in database: Database) throws(StoreFailure) {
    try database.transaction(write: true) { () throws(StoreFailure) in
      try database.execute(tables)
      try database.execute(
        "PRAGMA application_id = \(applicationID); PRAGMA user_version = \(version)")
    }
  }

  /// Brings the tables of an earlier version to this version, in one transaction.
  func upgrade(_ database: Database) throws(StoreFailure) {
    guard try number(database, "PRAGMA user_version") < version else { return }
    try database.transaction(write: true) { () throws(StoreFailure) in
      let found = try number(database, "PRAGMA user_version")
      for statements in upgrades.dropFirst(found - 1) { try database.execute(statements) }
      try database.execute("PRAGMA user_version = \(version)")
    }
  }

  private func number(_ database: Database, _ sql: String) throws(StoreFailure) -> Int {
    let found = try database.query(sql) { row throws(StoreFailure) in try row.integer(0) }
    return Int(found.first ?? 0)
  }
}
