import LinkCore
import LinkHealth
import LinkWire

extension SyncTables {
  /// What is kept of each type of a user.
  func summary(of user: String) throws(StoreFailure) -> [HealthTypeSummary] {
    guard let user = try find(user) else { return [] }
    return try database.query(
      """
      SELECT text, count, first, last FROM types JOIN names ON id = type WHERE user = ?
      ORDER BY text
      """, [.integer(user)]
    ) { row throws(StoreFailure) in
      HealthTypeSummary(
        type: try row.text(0), count: Int(try row.integer(1)), first: try row.time(2),
        last: try row.time(3))
    }
  }

  /// One page over all types of a query, from its place on.
  func page(
    _ query: HealthSampleQuery, of user: String
  ) throws(StoreFailure) -> HealthSamplePage {
    guard let user = try find(user) else { return HealthSamplePage(samples: []) }
    return try query.page { type, after, limit throws(StoreFailure) in
      try samples(type, query, of: user, after: after, limit: limit)
    }
  }

  private func samples(
    _ type: String, _ query: HealthSampleQuery, of user: Int64, after: HealthSamplePlace?,
    limit: Int
  ) throws(StoreFailure) -> [(key: HealthSampleKey, sample: HealthSample)] {
    guard let number = try find(type) else { return [] }
    let longest = try database.query(
      "SELECT longest FROM types WHERE user = ? AND type = ?", [.integer(user), .integer(number)]
    ) { row throws(StoreFailure) in try row.integer(0) }
    guard let longest = longest.first else { return [] }
    let start = after?.start ?? query.earliestStart(longest: longest)
    return try database.query(
      """
      SELECT start, hash, duration, source, unit, quantity, text, lasted, distance, energy
      FROM samples INDEXED BY places
      WHERE user = ?1 AND type = ?2 AND (start, hash) > (?3, ?4) AND start < ?5
        AND (start >= ?6 OR start + duration > ?6)
        AND (quantity IS NOT NULL OR text IS NOT NULL)
      ORDER BY start, hash LIMIT ?7
      """,
      [
        .integer(user), .integer(number), .time(start), .blob(Self.bound(after)),
        .time(query.to), .time(query.from), .integer(limit),
      ]
    ) { row throws(StoreFailure) in
      (try hash(row, 1).key, try sample(row, type))
    }
  }

  /// Every hash that begins with a place's key is behind its place no more; without a place, all
  /// hashes are.
  private static func bound(_ after: HealthSamplePlace?) -> [UInt8] {
    guard let after else { return [] }
    return SyncHash(words: [after.key.high, after.key.low, .max, .max]).bytes
  }

  private func hash(_ row: Row, _ column: Int32) throws(StoreFailure) -> SyncHash {
    guard let bytes = try row.optionalBlob(column), let hash = SyncHash(bytes) else {
      throw row.garbage(column, expected: "32 bytes")
    }
    return hash
  }

  private func sample(_ row: Row, _ type: String) throws(StoreFailure) -> HealthSample {
    let start = try row.time(0)
    let (end, overflow) = start.nanoseconds.addingReportingOverflow(try row.integer(2))
    guard !overflow else { throw .corrupt(detail: "A sample ends after the end of time.") }
    func optionalText(_ column: Int32) throws(StoreFailure) -> String? {
      guard let number = try row.optionalInteger(column) else { return nil }
      return try text(number)
    }
    let name = try optionalText(6)
    let value: HealthSampleValue
    if let quantity = try row.optionalReal(5) {
      value = .quantity(quantity)
    } else if let name, type == HealthSample.workoutType {
      value = .workout(
        WorkoutValue(
          activity: name, duration: try row.optionalInteger(7).map { .nanoseconds($0) },
          distance: try row.optionalReal(8), energy: try row.optionalReal(9)))
    } else {
      value = .category(name ?? "")
    }
    return HealthSample(
      type: type, value: value, unit: try optionalText(4), start: start,
      end: Timestamp(nanoseconds: end), source: try text(try row.integer(3)))
  }

  /// Records of a type as they were sent.
  func raw(
    _ type: String, after: HealthSamplePlace?, limit: Int, of user: String
  ) throws(StoreFailure) -> [SyncRaw] {
    guard let user = try find(user), let number = try find(type) else { return [] }
    return try database.query(
      """
      SELECT start, hash, raw FROM samples INDEXED BY places
      WHERE user = ?1 AND type = ?2 AND (start, hash) > (?3, ?4) ORDER BY start, hash LIMIT ?5
      """,
      [
        .integer(user), .integer(number), .time(after?.start ?? Timestamp(nanoseconds: .min)),
        .blob(Self.bound(after)), .integer(min(max(1, limit), Int(Int32.max))),
      ]
    ) { row throws(StoreFailure) in
      guard let bytes = try row.optionalBlob(2) else { throw row.garbage(2, expected: "JSON") }
      return SyncRaw(
        place: HealthSamplePlace(type: type, start: try row.time(0), key: try hash(row, 1).key),
        bytes: bytes)
    }
  }
}
