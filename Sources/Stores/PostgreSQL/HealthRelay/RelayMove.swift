import HoldfastServerData

extension MovedSQL {
  /// The tables of the relay. Questions keep the order of their arrival.
  static let relay = [
    MovedSQL(
      .phones,
      select: "SELECT \(phoneColumns) FROM relay_phones ORDER BY id",
      insert: """
        INSERT INTO relay_phones(\(phoneColumns))
        SELECT * FROM unnest($1, $2, $3, $4, $5, $6, $7, $8)
        """),
    MovedSQL(
      .accesses,
      select: "SELECT \(accessColumns) FROM relay_accesses ORDER BY token",
      insert: """
        INSERT INTO relay_accesses(\(accessColumns))
        SELECT * FROM unnest($1, $2, $3, $4, $5, $6, $7, $8, $9)
        """),
    MovedSQL(
      .questions,
      select: """
        SELECT id, phone, asker, question, deadline FROM relay_questions ORDER BY number
        """,
      insert: """
        INSERT INTO relay_questions(id, phone, asker, question, deadline)
        SELECT id, phone, asker, question, deadline
        FROM unnest($1, $2, $3, $4, $5) WITH ORDINALITY
          u(id, phone, asker, question, deadline, place)
        ORDER BY place
        """),
    MovedSQL(
      .assistantSessions,
      select: "SELECT \(sessionColumns) FROM assistant_sessions ORDER BY id",
      insert: """
        INSERT INTO assistant_sessions(\(sessionColumns))
        SELECT * FROM unnest($1, $2, $3, $4, $5, $6, $7, $8)
        """),
  ]

  private static let phoneColumns =
    "id, device, resume, push, left_at, synced_user, synced_zone, synced_proof"
  private static let sessionColumns =
    "id, version, name, name_version, owner, bearer, elicits, shows"
  private static let accessColumns =
    "token, phone, expires_at, name, version, since, asked, generation, reads_synced"
}
