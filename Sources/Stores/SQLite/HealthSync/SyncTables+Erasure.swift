package import HoldfastCore
import HoldfastFeaturePorts

// The erasure of one user.
extension SyncTables {
  /// Erases up to `limit` records of a user, and with the last of them the rest.
  func erase(_ user: String, atMost limit: Int) throws(StoreFailure) -> Int {
    guard let number = try names.find(user) else { return 0 }
    let part: [SQLValue] = [.integer(number), .integer(max(1, limit))]
    // A UUID names its sample, and not the other way round.
    var erased = try database.run(
      """
      DELETE FROM identities WHERE user = ?1 AND uuid IN (
        SELECT uuid FROM identities WHERE user = ?1 LIMIT ?2)
      """, part)
    if erased == 0 {
      erased = try database.run(
        "DELETE FROM samples WHERE id IN (SELECT id FROM samples WHERE user = ?1 LIMIT ?2)", part)
    }
    guard erased == 0 else { return erased }
    return try eraseRest(of: number)
  }

  /// Erases the summaries and phones of a user, and the names that nobody else needs. Returns the
  /// number of rows.
  private func eraseRest(of user: Int64) throws(StoreFailure) -> Int {
    let used = try database.query(
      """
      SELECT source FROM sources WHERE user = ?1 UNION SELECT device FROM devices WHERE user = ?1
      UNION SELECT device FROM stamps WHERE user = ?1 UNION SELECT ?1
      """, [.integer(user)]
    ) { row throws(StoreFailure) in try row.integer(0) }
    var erased = 0
    for table in ["types", "sources", "devices", "stamps"] {
      erased += try database.run("DELETE FROM \(table) WHERE user = ?", [.integer(user)])
    }
    // The last condition reads all samples once.
    erased += try database.run(
      """
      DELETE FROM names WHERE id IN (\(used.map(String.init).joined(separator: ",")))
        AND id NOT IN (SELECT user FROM types UNION SELECT type FROM types
          UNION SELECT source FROM sources UNION SELECT device FROM devices
          UNION SELECT device FROM stamps
          UNION SELECT unit FROM samples WHERE unit IS NOT NULL
          UNION SELECT text FROM samples WHERE text IS NOT NULL)
      """)
    forget()
    return erased
  }
}

extension SQLiteFile: ErasableSyncStore where T == SyncTables {
  package func erase(_ user: String, atMost limit: Int) throws(StoreFailure) -> Int {
    try write { tables throws(StoreFailure) in try tables.erase(user, atMost: limit) }
  }
}
