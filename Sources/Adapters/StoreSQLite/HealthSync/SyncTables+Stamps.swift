import LinkCore
import LinkWire

// The epoch of the store, and the times at which stamps count.
extension SyncTables {
  func epoch() throws(StoreFailure) -> String {
    let found = try database.query("SELECT epoch FROM store") { row throws(StoreFailure) in
      try row.text(0)
    }
    guard let epoch = found.first, found.count == 1 else {
      throw .corrupt(detail: "The store of synced samples names no epoch. It was left as it is.")
    }
    return epoch
  }

  /// Begins a new epoch over the same samples: phones send what they hold again.
  func beginEpoch() throws(StoreFailure) {
    try database.run("UPDATE store SET epoch = lower(hex(randomblob(8)))")
  }

  func newestStamp(of user: String, device: String) throws(StoreFailure) -> Timestamp? {
    guard let user = try find(user), let device = try find(device) else { return nil }
    return try time(
      "SELECT made FROM devices WHERE user = ? AND device = ?", [.integer(user), .integer(device)])
  }

  /// Notes the stamp of a batch, and returns the time at which it counts; see `SyncStamps.note`.
  func note(
    _ made: Timestamp, of user: Int64, _ delivery: SyncDelivery
  ) throws(StoreFailure) -> Timestamp {
    let key: [SQLValue] = [.integer(user), .integer(try number(delivery.device)), .time(made)]
    let known = try time(
      "SELECT counts FROM stamps WHERE user = ? AND device = ? AND made = ?", key)
    let counts: Timestamp
    if let known {
      counts = known
    } else {
      counts = SyncStamps.counts(
        made, arrived: delivery.arrived,
        latest: try time("SELECT max(counts) FROM devices WHERE user = ?", [.integer(user)]),
        before: try time(
          """
          SELECT max(counts) FROM (
            SELECT * FROM (
              SELECT counts FROM stamps WHERE user = ?1 AND device = ?2 AND made < ?3
              ORDER BY made DESC LIMIT 1)
            UNION ALL
            SELECT counts FROM devices WHERE user = ?1 AND device = ?2 AND made < ?3)
          """, key),
        behind: try time(
          """
          SELECT counts FROM stamps WHERE user = ? AND device = ? AND made > ? AND made <= ?
          ORDER BY made LIMIT 1
          """, key + [.time(SyncStamps.horizon(of: made))]))
    }
    if counts != made {
      try database.run(
        "INSERT INTO stamps VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING", key + [.time(counts)])
    }
    try database.run(
      """
      INSERT INTO devices VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET
        made = max(made, excluded.made), counts = max(counts, excluded.counts)
      """, key + [.time(counts)])
    return counts
  }

  /// The time in the first row of a question.
  private func time(_ sql: String, _ values: [SQLValue]) throws(StoreFailure) -> Timestamp? {
    try database.query(sql, values) { row throws(StoreFailure) in
      try row.optionalTime(0)
    }.first.flatMap(\.self)
  }
}
