import HoldfastServerData

extension SyncTables: MovableTables {
  private static func name(_ parameter: Int) -> String {
    NumberedTexts.names.number(ofParameter: parameter)
  }

  private static func names(of table: MovedTable) -> [(sql: String, column: Int)] {
    table.numbered.map { (NumberedTexts.names.naming, $0) }
  }

  /// The users that a table names, ordered by their texts.
  private static func users(of table: String) -> String {
    """
    (SELECT id, text FROM names WHERE id IN (SELECT DISTINCT user FROM \(table))
      ORDER BY text LIMIT -1) u
    """
  }

  static let moved = [
    MovedSQL(
      .syncEpoch, select: "SELECT epoch FROM store", insert: "UPDATE store SET epoch = ?1"),
    movedSamples, movedIdentities,
    MovedSQL(.sampleTypes, in: "types", .names, by: "user", "type"),
    MovedSQL(.sampleSources, in: "sources", .names, by: "user", "type", "source"),
    MovedSQL(.devices, in: "devices", .names, by: "user", "device", "made"),
    MovedSQL(.stamps, in: "stamps", .names, by: "user", "device", "made"),
  ]

  private static let movedSamples = MovedSQL(
    .samples,
    select: """
      SELECT k.user_text, k.type_text, s.start, s.hash, s.duration, o.text, n.text, s.quantity,
        x.text, s.lasted, s.distance, s.energy, s.uuids, s.raw
      FROM (
        SELECT k.user, k.type, u.text AS user_text, t.text AS type_text
        FROM types k JOIN names u ON u.id = k.user JOIN names t ON t.id = k.type
        ORDER BY u.text, t.text LIMIT -1) k
      CROSS JOIN samples s INDEXED BY places ON s.user = k.user AND s.type = k.type
      CROSS JOIN names o ON o.id = s.source
      LEFT JOIN names n ON n.id = s.unit LEFT JOIN names x ON x.id = s.text
      """,
    names: names(of: .samples),
    insert: """
      INSERT INTO samples(user, type, start, hash, duration, source, unit, quantity, text, lasted,
        distance, energy, uuids, raw)
      VALUES (\(name(1)), \(name(2)), ?3, ?4, ?5, \(name(6)), \(name(7)), ?8, \(name(9)), ?10, ?11,
        ?12, ?13, ?14)
      """)

  /// The key of a sample is the first half of its hash. A UUID without a time has the earliest one.
  private static let movedIdentities = MovedSQL(
    .identities,
    select: """
      SELECT u.text, i.uuid, t.text, s.start, substr(s.hash, 1, 16),
        ifnull(i.deleted, -9223372036854775807 - 1)
      FROM \(users(of: "identities")) CROSS JOIN identities i ON i.user = u.id
      LEFT JOIN samples s ON s.id = i.sample LEFT JOIN names t ON t.id = s.type
      """,
    names: names(of: .identities),
    insert: """
      INSERT INTO identities(user, uuid, sample, deleted)
      SELECT \(name(1)), ?2, (
        SELECT id FROM samples WHERE user = \(name(1)) AND type = \(name(3)) AND start = ?4
          AND hash >= ?5 AND substr(hash, 1, 16) = ?5), ?6
      """)
}
