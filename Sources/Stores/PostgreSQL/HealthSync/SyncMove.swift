import HoldfastServerData

extension MovedSQL {
  private static func names(of table: MovedTable) -> [(sql: String, column: Int)] {
    table.numbered.map { (NumberedTexts.names.naming, $0) }
  }

  /// The tables of synced samples.
  static let sync = [
    MovedSQL(
      .syncEpoch, select: "SELECT epoch FROM sync_store",
      insert: "UPDATE sync_store SET epoch = ($1::bytea[])[1]"),
    samples, identities,
    MovedSQL(.sampleTypes, in: "sync_types", .names, user: "owner", by: "user", "type"),
    MovedSQL(
      .sampleSources, in: "sync_sources", .names, user: "owner", by: "user", "type", "source"),
    MovedSQL(.devices, in: "sync_devices", .names, user: "owner", by: "user", "device", "made"),
    MovedSQL(.stamps, in: "sync_stamps", .names, user: "owner", by: "user", "device", "made"),
  ]

  private static let samples = MovedSQL(
    .samples,
    select: """
      SELECT k.user_text, k.type_text, s.start, s.hash, s.duration, o.text, n.text, s.quantity,
        x.text, s.lasted, s.distance, s.energy, s.uuids, s.raw
      FROM (
        SELECT k.owner, k.type, u.text AS user_text, t.text AS type_text
        FROM sync_types k JOIN sync_names u ON u.id = k.owner JOIN sync_names t ON t.id = k.type
        ORDER BY u.text, t.text) k
      CROSS JOIN LATERAL (
        SELECT * FROM sync_samples s WHERE s.owner = k.owner AND s.type = k.type
        ORDER BY start, key) s
      JOIN sync_names o ON o.id = s.source
      LEFT JOIN sync_names n ON n.id = s.unit LEFT JOIN sync_names x ON x.id = s.text
      ORDER BY k.user_text, k.type_text, s.start, s.key
      """,
    names: names(of: .samples),
    insert: """
      INSERT INTO sync_samples(owner, type, start, key, hash, duration, source, unit, quantity, text,
        lasted, distance, energy, uuids, raw)
      SELECT sync_name(u), sync_name(t), start,
        encode(substring(hash FROM 1 FOR 16), 'hex')::uuid, hash, duration, sync_name(source),
        sync_name(unit), quantity, sync_name(x), lasted, distance, energy, uuids, raw
      FROM unnest($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)
        r(u, t, start, hash, duration, source, unit, quantity, x, lasted, distance, energy, uuids,
          raw)
      """)

  private static let identities = MovedSQL(
    .identities,
    select: """
      SELECT u.text, i.uuid, t.text, i.start, i.key, i.named
      FROM (
        SELECT id, text FROM sync_names
        WHERE id IN (SELECT DISTINCT owner FROM sync_identities) ORDER BY text) u
      CROSS JOIN LATERAL (
        SELECT * FROM sync_identities i WHERE i.owner = u.id ORDER BY uuid) i
      LEFT JOIN sync_names t ON t.id = i.type
      ORDER BY u.text, i.uuid
      """,
    names: names(of: .identities),
    insert: """
      INSERT INTO sync_identities(owner, uuid, type, start, key, named)
      SELECT sync_name(u), uuid, sync_name(t), start, key, named
      FROM unnest($1, $2, $3, $4, $5, $6) x(u, uuid, t, start, key, named)
      """)
}
