import LinkCore
import LinkHealth

// What settled readings cover, and what an older one may not bring back.
extension HealthTables {
  func coverages() throws(StoreFailure) -> [HealthCoverage] {
    try database.query(
      """
      SELECT text, first, last, exported FROM covered JOIN names ON id = type
      ORDER BY text, exported
      """
    ) { row throws(StoreFailure) in
      HealthCoverage(
        HealthStretch(type: try row.text(0), from: try row.time(1), to: try row.time(2)),
        exported: try row.time(3))
    }
  }

  /// Notes what a reading covers.
  func cover(_ settlement: HealthSettlement) throws(StoreFailure) {
    let old = try coverages()
    var new = old
    for stretch in settlement.covered { new.note(stretch, of: settlement) }
    guard new != old else { return }
    try database.run("DELETE FROM covered")
    for coverage in new {
      try database.run(
        "INSERT OR REPLACE INTO covered(type, exported, first, last) VALUES (?, ?, ?, ?)",
        [
          .integer(try number(HealthName(coverage.stretch.type))), .time(coverage.exported),
          .time(coverage.stretch.from), .time(coverage.stretch.to),
        ])
    }
  }

  /// Returns the places of the rows that begin in the stretches and are not stored. A span that is
  /// known has no such row.
  func missing(
    _ batch: HealthBatch, in stretches: [HealthStretch]
  ) throws(StoreFailure) -> [Int] {
    var left = batch.rows(in: stretches)[...]
    var missing: [Int] = []
    var end = 0
    for span in batch.spans {
      end += span.count
      let inside = left.prefix { $0 < end }
      left = left.dropFirst(inside.count)
      guard !inside.isEmpty else { continue }
      if try !isKnown(span) { missing += try notStored(inside, of: batch) }
    }
    return missing + (try notStored(left, of: batch))
  }

  private func notStored(
    _ places: ArraySlice<Int>, of batch: HealthBatch
  ) throws(StoreFailure) -> [Int] {
    var types: [UInt16: Int64] = [:]
    var missing: [Int] = []
    for place in places {
      let row = batch.rows[place]
      if types[row.type] == nil {
        // No type has the number 0.
        types[row.type] = try number(of: batch.names[Int(row.type)].text) ?? 0
      }
      let found = try database.query(
        "SELECT 1 FROM samples WHERE type = ? AND start = ? AND key = ?",
        [.integer(types[row.type] ?? 0), .time(row.start), .key(row.key)]
      ) { _ in true }
      if found.isEmpty { missing.append(place) }
    }
    return missing
  }
}
