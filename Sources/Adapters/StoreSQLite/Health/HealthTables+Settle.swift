import LinkCore
import LinkHealth
import LinkWire

// What becomes of stored samples once a complete reading was added.
extension HealthTables {
  func counts(_ stretch: HealthStretch) throws(StoreFailure) -> [Int64: Int] {
    // As `HealthCensus.stretch(of:)`; SQLite shifts with the sign too.
    let rows = try database.query(
      """
      SELECT start >> 50, count(*) FROM samples
      WHERE type = (SELECT id FROM names WHERE text = ?) AND start BETWEEN ? AND ? GROUP BY 1
      """,
      [.text(stretch.type), .time(stretch.from), .time(stretch.to)]
    ) { row throws(StoreFailure) in (try row.integer(0), Int(try row.integer(1))) }
    return Dictionary(uniqueKeysWithValues: rows)
  }

  func newestExport() throws(StoreFailure) -> Timestamp? {
    try database.query("SELECT max(exported) FROM exports") { row throws(StoreFailure) in
      try row.optionalTime(0)
    }.first ?? nil
  }

  func settle(_ settlement: HealthSettlement) throws(StoreFailure) -> [String: Int] {
    var removed: [String: Int] = [:]
    for removal in settlement.removals {
      let count = try remove(removal)
      if count > 0 { removed[removal.stretch.type, default: 0] += count }
    }
    for type in removed.keys.sorted() { try summarise(type, without: removed[type] ?? 0) }
    if !removed.isEmpty {
      // The removal forgot all digests. Those of the reading hold: nothing of it was removed.
      for span in settlement.spans {
        try database.run("INSERT OR IGNORE INTO spans(digest) VALUES (?)", [.key(span.digest)])
      }
    }
    if let exported = settlement.exported {
      try database.run("INSERT OR IGNORE INTO exports(exported) VALUES (?)", [.time(exported)])
      try database.run(
        "DELETE FROM exports WHERE exported < (SELECT max(exported) FROM exports)")
    }
    return removed
  }

  /// Removes the samples of a stretch that are not kept; returns how many those were.
  private func remove(_ removal: HealthRemoval) throws(StoreFailure) -> Int {
    let stretch = removal.stretch
    let stored = try database.query(
      """
      SELECT start, key FROM samples
      WHERE type = (SELECT id FROM names WHERE text = ?) AND start BETWEEN ? AND ?
      """,
      [.text(stretch.type), .time(stretch.from), .time(stretch.to)]
    ) { row throws(StoreFailure) in (start: try row.time(0), key: try row.key(1)) }
    let gone = stored.filter { !removal.kept.contains($0.key) }
    for place in gone {
      try database.run(
        """
        DELETE FROM samples
        WHERE type = (SELECT id FROM names WHERE text = ?) AND start = ? AND key = ?
        """,
        [.text(stretch.type), .time(place.start), .key(place.key)])
      guard stretch.type == HealthSample.workoutType else { continue }
      try database.run("DELETE FROM workouts WHERE key = ?", [.key(place.key)])
    }
    return gone.count
  }

  /// Brings the summary of a type up to date; what lasts longest is only a bound and stays.
  private func summarise(_ type: String, without count: Int) throws(StoreFailure) {
    try database.run(
      """
      UPDATE types SET count = count - ?2,
        first = (SELECT min(start) FROM samples WHERE samples.type = types.type),
        last = (SELECT max(start) FROM samples WHERE samples.type = types.type)
      WHERE type = (SELECT id FROM names WHERE text = ?1) AND count > ?2
      """, [.text(type), .integer(Int64(count))])
    try database.run(
      """
      DELETE FROM types WHERE type = (SELECT id FROM names WHERE text = ?)
        AND NOT EXISTS (SELECT 1 FROM samples WHERE samples.type = types.type)
      """, [.text(type)])
  }
}
