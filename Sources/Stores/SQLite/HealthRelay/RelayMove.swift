import HoldfastServerData

extension RelayTables: MovableTables {
  static var preparation: String { grants }

  static let moved = [
    MovedSQL(
      .phones,
      select: """
        SELECT p.id, p.device, p.resume, p.push, p.left_at, s.user, s.zone, s.proof
        FROM phones p LEFT JOIN synced s ON s.phone = p.id ORDER BY p.id
        """,
      insert: "INSERT INTO phones(id, device, resume, push, left_at) VALUES (?1, ?2, ?3, ?4, ?5)",
      also: [
        """
        INSERT INTO synced(phone, user, zone, proof) SELECT ?1, ?6, ?7, ?8 WHERE ?6 IS NOT NULL
        """
      ]),
    MovedSQL(
      .accesses,
      select: """
        SELECT a.token, a.phone, a.expires_at, a.name, a.version, a.since, a.asked, g.generation,
          u.token IS NULL
        FROM accesses a LEFT JOIN grants g ON g.token = a.token
        LEFT JOIN unsynced u ON u.token = a.token ORDER BY a.token
        """,
      insert: """
        INSERT INTO accesses(token, phone, expires_at, name, version, since, asked)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
        """,
      also: [
        "INSERT INTO grants(token, generation) SELECT ?1, ?8 WHERE ?8 IS NOT NULL",
        "INSERT INTO unsynced(token) SELECT ?1 WHERE ?9 = 0",
      ]),
    MovedSQL(.questions, in: "questions", by: "number"),
    MovedSQL(.assistantSessions, in: "assistant_sessions", by: "id"),
  ]
}
