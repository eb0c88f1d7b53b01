package import HoldfastCore
import HoldfastFeaturePorts

// The erasure of one user. The database keeps removed rows until it cleans its tables.
extension PostgreSQLSyncStore: ErasableSyncStore {
  package func erase(_ user: String, atMost limit: Int) async throws(StoreFailure) -> Int {
    let answer = try await writer.write { batch in
      Self.erasure(of: user, atMost: Int64(max(1, limit))) + batch.ending()
    }
    // The answer to the commit was lost, so the next call finds out whether something is left.
    guard case .rows(let rows) = answer else { return 1 }
    var erased: Int64 = 0
    for row in rows.prefix(7).compactMap(\.first) { erased += try row.integer(0) }
    return Int(clamping: erased)
  }

  /// Returns the statements of one part. Each returns a number of rows.
  private static func erasure(of user: String, atMost limit: Int64) -> [Command] {
    let parts = ["sync_identities", "sync_samples"].map { table in
      Command(
        """
        WITH gone AS (
          DELETE FROM \(table) WHERE ctid = ANY (ARRAY(
            SELECT ctid FROM \(table) WHERE owner = sync_name($1) LIMIT $2)) RETURNING 1)
        SELECT count(*) FROM gone
        """, [.text(user), .integer(limit)])
    }
    // Nothing but the name is left, unless a part was full.
    let isLast = """
      NOT EXISTS (SELECT 1 FROM sync_identities WHERE owner = sync_name($1))
      AND NOT EXISTS (SELECT 1 FROM sync_samples WHERE owner = sync_name($1))
      """
    let rest = ["sync_types", "sync_sources", "sync_devices", "sync_stamps"].map { table in
      Command(
        """
        WITH gone AS (
          DELETE FROM \(table) WHERE owner = sync_name($1) AND \(isLast) RETURNING 1)
        SELECT count(*) FROM gone
        """, [.text(user)])
    }
    let name = Command(
      """
      WITH gone AS (
        DELETE FROM sync_names WHERE id = sync_name($1) AND \(isLast)
          AND NOT EXISTS (SELECT 1 FROM sync_sources WHERE source = id OR type = id)
          AND NOT EXISTS (SELECT 1 FROM sync_devices WHERE device = id)
          AND NOT EXISTS (SELECT 1 FROM sync_samples WHERE unit = id OR text = id) RETURNING 1)
      SELECT count(*) FROM gone
      """, [.text(user)])
    return parts + rest + [name]
  }
}
