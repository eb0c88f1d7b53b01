package import HoldfastCore
import HoldfastFeaturePorts
package import HoldfastHealthSamples
package import HoldfastSyncData

/// A store of the synced samples of all users in PostgreSQL.
package final class PostgreSQLSyncStore: SyncStore {
  private let node: DatabaseNode
  let writer: Lane
  private let reader: Lane

  /// Opens the store of a node, optionally with a new epoch.
  package init(of node: DatabaseNode, newEpoch: Bool = false) async throws(StoreFailure) {
    self.node = node
    writer = Lane(.sync, of: node)
    reader = Lane(.syncPages, of: node, beside: writer)
    if newEpoch {
      _ = try await writer.write {
        [Command("UPDATE sync_store SET epoch = new_epoch()")] + $0.ending()
      }
    }
  }

  package func check() async throws(StoreFailure) {
    if let reason = node.reason { throw .denied(detail: reason) }
    _ = try await reader.read([Command("SELECT epoch FROM sync_store")])
  }

  package func close() async {
    await writer.close()
    await reader.close()
  }

  package func epoch() async throws(StoreFailure) -> String {
    let rows = try await reader.read([Command("SELECT epoch FROM sync_store")])
    guard let row = rows[0].first, rows[0].count == 1 else {
      throw .corrupt(
        detail: "The store of synced samples has no epoch. Restore the database from a backup.")
    }
    return try row.text(0)
  }

  package func newestStamp(
    of user: String, device: String
  ) async throws(StoreFailure) -> Timestamp? {
    try await time(
      "SELECT made FROM sync_devices WHERE owner = sync_name($1) AND device = sync_name($2)",
      [.text(user), .text(device)])
  }

  package func lastSync(of user: String) async throws(StoreFailure) -> Timestamp? {
    try await time(
      "SELECT max(counts) FROM sync_devices WHERE owner = sync_name($1)", [.text(user)])
  }

  private func time(
    _ sql: String, _ values: [Parameter]
  ) async throws(StoreFailure) -> Timestamp? {
    try await reader.read([Command(sql, values)])[0].first?.optionalTime(0)
  }

  // MARK: - Writing

  package func apply(_ delivery: SyncDelivery) async throws(StoreFailure) -> IngestCounts {
    let work = SyncWork(delivery)
    let outcome = try await writer.write(reading: work.reads) { found throws(StoreFailure) in
      try work.change(found)
    }
    guard outcome.count == 4 else { throw .unanswered }
    return IngestCounts(
      records: Int(outcome[0]), workouts: Int(outcome[1]), skippedDuplicates: Int(outcome[2]),
      refused: Int(outcome[3]))
  }

  // MARK: - Reading

  package func summary(of user: String) async throws(StoreFailure) -> [HealthTypeSummary] {
    let rows = try await reader.read([
      Command(
        """
        SELECT n.text, t.count, t.first, t.last FROM sync_types t JOIN sync_names n ON n.id = t.type
        WHERE t.owner = sync_name($1) ORDER BY n.text
        """, [.text(user)]),
      Command(
        """
        SELECT n.text, m.text FROM sync_sources s JOIN sync_names n ON n.id = s.type
        JOIN sync_names m ON m.id = s.source WHERE s.owner = sync_name($1) ORDER BY n.text, m.text
        """, [.text(user)]),
    ])
    var sources: [String: [String]] = [:]
    for row in rows[1] { sources[try row.text(0), default: []].append(try row.text(1)) }
    var summaries: [HealthTypeSummary] = []
    for row in rows[0] {
      let type = try row.text(0)
      summaries.append(
        HealthTypeSummary(
          type: type, count: Int(try row.integer(1)), first: try row.time(2),
          last: try row.time(3), sources: sources[type] ?? []))
    }
    return summaries
  }

  package func samples(
    _ query: HealthSampleQuery, of user: String
  ) async throws(StoreFailure) -> HealthSamplePage {
    var found: [String: [(key: HealthSampleKey, sample: HealthSample)]] = [:]
    // One read for each type that the page needs. A type that fills the page is the last one.
    var page = HealthSamplePage(samples: [])
    for type in query.typesLeft {
      let after = query.after.flatMap { $0.type == type ? $0 : nil }
      found[type] = try await samples(type, query, of: user, after: after)
      page = query.page { type, _, limit in Array((found[type] ?? []).prefix(limit)) }
      if page.next != nil { break }
    }
    return page
  }

  private func samples(
    _ type: String, _ query: HealthSampleQuery, of user: String, after: HealthSamplePosition?
  ) async throws(StoreFailure) -> [(key: HealthSampleKey, sample: HealthSample)] {
    let limit = Int64(min(max(1, query.limit), Int(Int32.max) - 1)) + 1
    let rows = try await reader.read([
      Command(
        """
        SELECT s.start, s.key, s.duration, o.text, u.text, s.quantity, t.text, s.lasted, s.distance,
          s.energy
        FROM sync_types k
        JOIN sync_samples s ON s.owner = k.owner AND s.type = k.type
        JOIN sync_names o ON o.id = s.source
        LEFT JOIN sync_names u ON u.id = s.unit LEFT JOIN sync_names t ON t.id = s.text
        WHERE k.owner = sync_name($1) AND k.type = sync_name($2)
          AND (s.start, s.key) > (coalesce($3, earliest_start($5, k.longest)), $4)
          AND s.start < $6 AND (s.start >= $5 OR s.start + s.duration > $5)
          AND (s.quantity IS NOT NULL OR s.text IS NOT NULL)
        ORDER BY s.start, s.key LIMIT $7
        """,
        [
          .text(user), .text(type), .time(after?.start), .uuid(UUID128(after?.key)),
          .time(query.from), .time(query.to), .integer(limit),
        ])
    ])
    var samples: [(key: HealthSampleKey, sample: HealthSample)] = []
    for row in rows[0] { samples.append((try row.key(1), try row.sample(type))) }
    return samples
  }

  package func raw(
    _ type: String, after: HealthSamplePosition?, limit: Int, of user: String
  ) async throws(StoreFailure) -> [SyncRaw] {
    let rows = try await reader.read([
      Command(
        """
        SELECT start, key, raw FROM sync_samples
        WHERE owner = sync_name($1) AND type = sync_name($2) AND (start, key) > ($3, $4)
        ORDER BY start, key LIMIT $5
        """,
        [
          .text(user), .text(type), .time(after?.start ?? Timestamp(nanoseconds: .min)),
          .uuid(UUID128(after?.key)),
          .integer(Int64(min(max(1, limit), Int(Int32.max)))),
        ])
    ])
    var records: [SyncRaw] = []
    for row in rows[0] {
      guard let bytes = try row.optionalBlob(2) else { throw row.garbage(2, expected: "JSON") }
      records.append(
        SyncRaw(
          position: HealthSamplePosition(type: type, start: try row.time(0), key: try row.key(1)),
          bytes: bytes))
    }
    return records
  }
}

extension UUID128 {
  /// Creates the UUID of a key; that of no key precedes all others.
  init(_ key: HealthSampleKey?) { self.init(high: key?.high ?? 0, low: key?.low ?? 0) }
}

extension Row {
  func key(_ column: Int) throws(StoreFailure) -> HealthSampleKey {
    let id = try uuid(column)
    return HealthSampleKey(high: id.high, low: id.low)
  }

  fileprivate func sample(_ type: String) throws(StoreFailure) -> HealthSample {
    let start = try time(0)
    let (end, overflow) = start.nanoseconds.addingReportingOverflow(try integer(2))
    guard !overflow else { throw .corrupt(detail: "The end of a sample is out of range.") }
    let name = try optionalText(6)
    let value: HealthSampleValue
    if let quantity = try optionalReal(5) {
      value = .quantity(quantity)
    } else if let name, type == HealthSample.workoutType {
      value = .workout(
        WorkoutValue(
          activity: name, duration: try optionalInteger(7).map { .nanoseconds($0) },
          distance: try optionalReal(8), energy: try optionalReal(9)))
    } else {
      value = .category(name ?? "")
    }
    return HealthSample(
      type: type, value: value, unit: try optionalText(4), start: start,
      end: Timestamp(nanoseconds: end), source: try text(3))
  }
}
