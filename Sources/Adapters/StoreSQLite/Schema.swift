import LinkWire

/// The tables of one kind of store, as the steps that led to them.
struct Schema {
  /// Marks the file as ours (`PRAGMA application_id`), so that no foreign database is written to.
  let applicationID: Int32
  /// Step n brings a file from version n to version n + 1. Steps are never changed, only added.
  let steps: [String]
  /// What opens the file for writing, for people.
  var writer = "the program that writes it"

  var version: Int { steps.count }

  /// Reads the version of a file; 0 for an empty one.
  func inspect(_ database: Database, path: String) throws(StoreFailure) -> Int {
    let identity = try number(database, "PRAGMA application_id")
    let version = try number(database, "PRAGMA user_version")
    let tables = try number(database, "SELECT count(*) FROM sqlite_schema")
    if identity == 0, version == 0, tables == 0 { return 0 }
    guard identity == Int(applicationID) else {
      throw .corrupt(
        detail: "\(path) is a database of another kind. It was left as it is; choose another path.")
    }
    guard version <= self.version else {
      throw .fromTheFuture(found: version, supported: self.version)
    }
    guard version > 0 else { throw .corrupt(detail: "\(path) names no version of its tables.") }
    return version
  }

  /// Refuses tables that only a writer could bring up to date.
  func requireCurrent(_ found: Int, path: String) throws(StoreFailure) {
    guard found != version else { return }
    guard found > 0 else { throw .denied(detail: "\(path) is empty: nothing was stored yet.") }
    throw .other(
      detail: "\(path) has tables of version \(found), not \(version). Run \(writer) once, which "
        + "brings them up to date.")
  }

  /// Runs the missing steps in one transaction.
  func migrate(_ database: Database, from found: Int) throws(StoreFailure) {
    guard found < version else { return }
    let size = try number(database, "PRAGMA page_count") * number(database, "PRAGMA page_size")
    do {
      try database.transaction(write: true) { () throws(StoreFailure) in
        for step in steps[found...] { try database.upgrade(step) }
        try database.execute(
          "PRAGMA application_id = \(applicationID); PRAGMA user_version = \(version)")
      }
    } catch {
      guard case .full(let detail) = error, found > 0 else { throw error }
      // The log and then the file grow by the new tables. A text of more than 1,000 bytes takes a
      // page of its own.
      throw .full(
        detail: "\(detail) To bring its tables up to date takes up to three times the room of "
          + "the file, \(3 * size / 1_000_000 + 1) MB, more where texts exceed 1,000 bytes."
      )
    }
  }

  private func number(_ database: Database, _ sql: String) throws(StoreFailure) -> Int {
    let found = try database.query(sql) { row throws(StoreFailure) in try row.integer(0) }
    return Int(found.first ?? 0)
  }
}
