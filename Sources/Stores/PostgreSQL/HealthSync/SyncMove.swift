import HoldfastServerData

extension MovedSQL {
  private static let numbers = "SELECT number_sync_names($1)"

  private static func columns(_ numbers: Int...) -> [(sql: String, column: Int)] {
    numbers.map { (self.numbers, $0) }
  }

  /// The tables of synced samples.
  static let sync = [
    MovedSQL(
      .syncEpoch, select: "SELECT epoch FROM sync_store",
      insert: "UPDATE sync_store SET epoch = ($1::bytea[])[1]"),
    samples, identities,
    MovedSQL(
      .sampleTypes,
      select: """
        SELECT u.text, t.text, k.count, k.first, k.last, k.longest
        FROM sync_types k JOIN sync_names u ON u.id = k.owner JOIN sync_names t ON t.id = k.type
        ORDER BY u.text, t.text
        """,
      names: columns(0, 1),
      insert: """
        INSERT INTO sync_types(owner, type, count, first, last, longest)
        SELECT sync_name(u), sync_name(t), count, first, last, longest
        FROM unnest($1, $2, $3, $4, $5, $6) x(u, t, count, first, last, longest)
        """),
    MovedSQL(
      .sampleSources,
      select: """
        SELECT u.text, t.text, n.text, s.count
        FROM sync_sources s JOIN sync_names u ON u.id = s.owner
        JOIN sync_names t ON t.id = s.type JOIN sync_names n ON n.id = s.source
        ORDER BY u.text, t.text, n.text
        """,
      names: columns(0, 1, 2),
      insert: """
        INSERT INTO sync_sources(owner, type, source, count)
        SELECT sync_name(u), sync_name(t), sync_name(n), count
        FROM unnest($1, $2, $3, $4) x(u, t, n, count)
        """),
    stamps(.devices, in: "sync_devices"), stamps(.stamps, in: "sync_stamps"),
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
    names: columns(0, 1, 5, 6, 8),
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
    names: columns(0, 2),
    insert: """
      INSERT INTO sync_identities(owner, uuid, type, start, key, named)
      SELECT sync_name(u), uuid, sync_name(t), start, key, named
      FROM unnest($1, $2, $3, $4, $5, $6) x(u, uuid, t, start, key, named)
      """)

  private static func stamps(_ moved: MovedTable, in table: String) -> MovedSQL {
    MovedSQL(
      moved,
      select: """
        SELECT u.text, d.text, s.made, s.counts
        FROM \(table) s JOIN sync_names u ON u.id = s.owner JOIN sync_names d ON d.id = s.device
        ORDER BY u.text, d.text, s.made
        """,
      names: columns(0, 1),
      insert: """
        INSERT INTO \(table)(owner, device, made, counts)
        SELECT sync_name(u), sync_name(d), made, counts FROM unnest($1, $2, $3, $4)
          x(u, d, made, counts)
        """)
  }
}
