import LinkCore
import LinkHealth

// What becomes of stored samples once a complete reading was added.
extension HealthTables {
  func totals() throws(StoreFailure) -> [String: HealthCount] {
    let rows = try database.query(
      "SELECT text, count, digest FROM types JOIN names ON id = type WHERE digest IS NOT NULL"
    ) { row throws(StoreFailure) in
      let digest = UInt64(bitPattern: try row.integer(2))
      return (try row.text(0), HealthCount(count: Int(try row.integer(1)), digest: digest))
    }
    return Dictionary(uniqueKeysWithValues: rows)
  }

  func counts(_ stretch: HealthStretch) throws(StoreFailure) -> [Int64: HealthCount] {
    guard let type = try number(of: stretch.type) else { return [:] }
    return try counts(type, from: stretch.from, to: stretch.to)
  }

  /// Counts samples of a type by stretches; reads them in order of time.
  private func counts(
    _ type: Int64, from: Timestamp, to: Timestamp
  ) throws(StoreFailure) -> [Int64: HealthCount] {
    var counts: [Int64: HealthCount] = [:]
    var newest: (stretch: Int64, count: HealthCount) = (0, HealthCount())
    _ = try database.query(
      "SELECT start, key FROM samples WHERE type = ? AND start BETWEEN ? AND ? ORDER BY start, key",
      [.integer(type), .time(from), .time(to)]
    ) { row throws(StoreFailure) in
      let stretch = HealthCensus.stretch(of: try row.time(0))
      if newest.stretch != stretch {
        if newest.count.count > 0 { counts[newest.stretch] = newest.count }
        newest = (stretch, HealthCount())
      }
      newest.count.add(try row.key(1))
    }
    if newest.count.count > 0 { counts[newest.stretch] = newest.count }
    return counts
  }

  func newestExport() throws(StoreFailure) -> Timestamp? {
    try database.query("SELECT max(exported) FROM exports") { row throws(StoreFailure) in
      try row.optionalTime(0)
    }.first ?? nil
  }

  // Marks are in temporary tables: a file that SQLite deletes, and no memory.

  private func prepareMarks() throws(StoreFailure) {
    try database.run(
      """
      CREATE TEMP TABLE IF NOT EXISTS marks(
        type INTEGER NOT NULL, start INTEGER NOT NULL, key BLOB NOT NULL,
        PRIMARY KEY (type, start, key)) STRICT, WITHOUT ROWID
      """)
    try database.run(
      """
      CREATE TEMP TABLE IF NOT EXISTS marked_spans(digest BLOB PRIMARY KEY NOT NULL)
      STRICT, WITHOUT ROWID
      """)
  }

  func clearMarks() throws(StoreFailure) {
    try prepareMarks()
    try database.run("DELETE FROM temp.marks")
    try database.run("DELETE FROM temp.marked_spans")
  }

  func mark(_ marks: HealthMarks) throws(StoreFailure) {
    try prepareMarks()
    var known: (text: String, number: Int64)?
    for place in marks.places {
      if known?.text != place.type {
        known = try number(of: place.type).map { (place.type, $0) }
      }
      // What is of a type that the store does not have cannot be removed either.
      guard let known else { continue }
      try database.run(
        "INSERT OR IGNORE INTO temp.marks(type, start, key) VALUES (?, ?, ?)",
        [.integer(known.number), .time(place.start), .key(place.key)])
    }
    for span in marks.spans {
      try database.run(
        "INSERT OR IGNORE INTO temp.marked_spans(digest) VALUES (?)", [.key(span.digest)])
    }
  }

  func settle(_ settlement: HealthSettlement) throws(StoreFailure) -> [String: Int] {
    try prepareMarks()
    // A removal makes the store forget all spans. Those that it held and the reading has still
    // hold: nothing of the reading is removed.
    try database.run(
      "DELETE FROM temp.marked_spans WHERE digest NOT IN (SELECT digest FROM main.spans)")
    var removed: [String: Int] = [:]
    let change = try beginChange()
    for stretch in settlement.stretches {
      let count = try remove(stretch, at: change.newest)
      if count > 0 { removed[stretch.type, default: 0] += count }
    }
    for type in removed.keys.sorted() { try summarise(type, without: removed[type] ?? 0) }
    if !removed.isEmpty {
      try finish(ChangeState(newest: change.newest, hasDeletions: true))
      try database.run("INSERT OR IGNORE INTO main.spans SELECT digest FROM temp.marked_spans")
    }
    try clearMarks()
    try digest()
    try cover(settlement)
    if let exported = settlement.exported {
      if settlement.replaces { try database.run("DELETE FROM exports") }
      try database.run("INSERT OR IGNORE INTO exports(exported) VALUES (?)", [.time(exported)])
      try database.run(
        "DELETE FROM exports WHERE exported < (SELECT max(exported) FROM exports)")
    }
    return removed
  }

  /// Removes the samples of a stretch that are not marked; returns how many those were.
  private func remove(
    _ stretch: HealthStretch, at newest: Int64
  ) throws(StoreFailure) -> Int {
    guard let type = try number(of: stretch.type) else { return 0 }
    let place: [SQLValue] = [.integer(type), .time(stretch.from), .time(stretch.to)]
    if stretch.type == HealthSample.workoutType {
      try database.run(
        "DELETE FROM workouts WHERE key IN (SELECT key FROM samples WHERE \(Self.unmarked))", place)
    }
    try database.run(
      """
      INSERT OR REPLACE INTO deletions(type, key, deleted)
      SELECT type, key, ?4 FROM samples WHERE \(Self.unmarked)
      """, place + [.integer(newest)])
    return try database.run("DELETE FROM samples WHERE \(Self.unmarked)", place)
  }

  private static let unmarked = """
    type = ?1 AND start BETWEEN ?2 AND ?3 AND NOT EXISTS (SELECT 1 FROM temp.marks
      WHERE marks.type = samples.type AND marks.start = samples.start AND marks.key = samples.key)
    """

  /// Brings the summary of a type up to date; what lasts longest is only a bound and stays.
  private func summarise(_ type: String, without count: Int) throws(StoreFailure) {
    try database.run(
      """
      UPDATE types SET count = count - ?2, digest = NULL,
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

  /// Computes the digests of types from which samples were removed.
  private func digest() throws(StoreFailure) {
    let types = try database.query(
      "SELECT type FROM types WHERE digest IS NULL"
    ) { row throws(StoreFailure) in try row.integer(0) }
    for type in types {
      let counts = try counts(
        type, from: Timestamp(nanoseconds: .min), to: Timestamp(nanoseconds: .max))
      let whole = counts.values.reduce(into: HealthCount()) { $0 += $1 }
      try database.run(
        "UPDATE types SET digest = ? WHERE type = ?",
        [.integer(Int64(bitPattern: whole.digest)), .integer(type)])
    }
  }
}
