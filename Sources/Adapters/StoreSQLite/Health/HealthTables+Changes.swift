import LinkCore
import LinkHealth

/// The number of a change, and whether there are deletions that an addition may undo.
struct ChangeState {
  var newest: Int64
  var hasDeletions: Bool
}

// The history of additions and removals: each sample has the number of the change that added it,
// and each removed one that of the change that removed it, until it comes back.
extension HealthTables {
  /// Returns the state of a change that begins; its number counts once it is finished.
  func beginChange() throws(StoreFailure) -> ChangeState {
    var state: ChangeState
    if let known = changeState {
      state = known
    } else {
      let found = try database.query("SELECT 1 FROM deletions LIMIT 1") { _ in true }
      state = ChangeState(newest: try newestChange(), hasDeletions: !found.isEmpty)
      changeState = state
    }
    state.newest += 1
    return state
  }

  /// Notes a change that changed something.
  func finish(_ change: ChangeState) throws(StoreFailure) {
    try database.run("UPDATE changes SET newest = ?", [.integer(change.newest)])
    // A mark is never 0, which stands for none.
    try database.run(
      "INSERT OR REPLACE INTO lineage(change, mark) VALUES (?, random() | 1)",
      [.integer(change.newest)])
    changeState = change
  }

  /// Forgets that a sample was removed, since it is back.
  func forgetDeletion(_ type: Int64, _ key: HealthSampleKey) throws(StoreFailure) {
    try database.run(
      "DELETE FROM deletions WHERE type = ? AND key = ?", [.integer(type), .key(key)])
  }

  func newestChange() throws(StoreFailure) -> Int64 {
    let found = try database.query("SELECT newest FROM changes") { row throws(StoreFailure) in
      try row.integer(0)
    }
    guard let newest = found.first else {
      throw .corrupt(detail: "The store does not number its changes.")
    }
    return newest
  }

  func changes(_ query: HealthChangeQuery) throws(StoreFailure) -> HealthChangePage {
    let found = try database.query("SELECT store, newest FROM changes") {
      row throws(StoreFailure) in (try row.integer(0), try row.integer(1))
    }
    guard let (store, newest) = found.first else {
      throw .corrupt(detail: "The store does not number its changes.")
    }
    let owner = UInt64(bitPattern: store)
    let query = try query.checked(of: owner) { change throws(StoreFailure) in try mark(of: change) }
    // A type without samples and deletions has no number, and none has the number 0.
    let type = try number(of: query.type) ?? 0
    return try HealthWalk.page(
      query, of: owner, newest: newest, mark: try mark(of: newest)
    ) { span throws(StoreFailure) in
      try hasChanges(type, span)
    } deletions: { span, key, limit throws(StoreFailure) in
      try deletions(type, span, after: key, limit: limit)
    } additions: { span, place, limit throws(StoreFailure) in
      try additions(type, span, after: place, limit: limit)
    }
  }

  /// The mark of a change; 0 if there is no such change.
  private func mark(of change: Int64) throws(StoreFailure) -> UInt64 {
    let found = try database.query(
      "SELECT mark FROM lineage WHERE change = ?", [.integer(change)]
    ) { row throws(StoreFailure) in try row.integer(0) }
    return UInt64(bitPattern: found.first ?? 0)
  }

  private func hasChanges(_ type: Int64, _ span: HealthChangeSpan) throws(StoreFailure) -> Bool {
    let found = try database.query(
      """
      SELECT 1 FROM types WHERE type = ?1 AND added > ?2
      UNION ALL SELECT 1 FROM deletions WHERE type = ?1 AND deleted > ?2 LIMIT 1
      """, [.integer(type), .integer(span.done)]
    ) { _ in true }
    return !found.isEmpty
  }

  private func deletions(
    _ type: Int64, _ span: HealthChangeSpan, after key: HealthSampleKey?, limit: Int
  ) throws(StoreFailure) -> [HealthSampleKey] {
    try database.query(
      """
      SELECT key FROM deletions WHERE type = ? AND key > ? AND deleted > ? AND deleted <= ?
      ORDER BY key LIMIT ?
      """,
      [
        // The empty blob is before every key.
        .integer(type), key.map { .key($0) } ?? .blob([]), .integer(span.done),
        .integer(span.until), .integer(limit),
      ]
    ) { row throws(StoreFailure) in try row.key(0) }
  }

  private func additions(
    _ type: Int64, _ span: HealthChangeSpan, after place: HealthPlace, limit: Int
  ) throws(StoreFailure) -> [KeyedHealthSample] {
    try database.query(
      """
      SELECT start, key, duration, source, unit, device, zone, quantity, category FROM samples
      WHERE type = ?1 AND (start, key) > (?2, ?3) AND added > ?4 AND added <= ?5
      ORDER BY start, key LIMIT ?6
      """,
      [
        .integer(type), .time(place.start), .key(place.key), .integer(span.done),
        .integer(span.until), .integer(limit),
      ]
    ) { row throws(StoreFailure) in
      let key = try row.key(1)
      return KeyedHealthSample(key: key, sample: try sample(row, key, span.type))
    }
  }
}
