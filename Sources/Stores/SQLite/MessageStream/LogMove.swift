import HoldfastServerData

extension LogTables: MovableTables {
  private static let naming = "INSERT OR IGNORE INTO shops(shop) VALUES (?)"
  private static let shop = "(SELECT number FROM shops WHERE shop = ?1)"

  static let moved = [
    MovedSQL(
      .logEpoch, select: "SELECT epoch FROM log", insert: "UPDATE log SET epoch = ?1"),
    MovedSQL(
      .messages,
      select: """
        SELECT s.shop, m.offset, m.place, m.id, m.user, m.username, m.text, m.created_at,
          m.updated_at, m.is_edited, m.parent, m.key, m.changed
        FROM shops s CROSS JOIN messages m INDEXED BY offsets ON m.shop = s.number
        ORDER BY s.shop, m.offset
        """,
      names: [(naming, 0)],
      insert: """
        INSERT INTO messages(shop, offset, place, id, user, username, text, created_at, updated_at,
          is_edited, parent, key, changed)
        VALUES (\(shop), ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)
        """),
    MovedSQL(
      .edits,
      select: """
        SELECT s.shop, e.key, e.offset, e.changed
        FROM shops s CROSS JOIN edits e ON e.shop = s.number ORDER BY s.shop, e.key, e.offset
        """,
      names: [(naming, 0)],
      insert: "INSERT INTO edits(shop, key, offset, changed) VALUES (\(shop), ?2, ?3, ?4)"),
    MovedSQL(
      .images,
      select: """
        SELECT i.id, s.shop, i.user, i.type, i.size, i.created_at, i.message
        FROM images i JOIN shops s ON s.number = i.shop ORDER BY i.id
        """,
      names: [(naming, 1)],
      insert: """
        INSERT INTO images(id, shop, user, type, size, created_at, message)
        VALUES (?1, (SELECT number FROM shops WHERE shop = ?2), ?3, ?4, ?5, ?6, ?7)
        """),
    MovedSQL(
      .logBeginnings,
      select: "SELECT shop, oldest FROM shops WHERE oldest > 1 ORDER BY shop",
      names: [(naming, 0)],
      insert: "UPDATE shops SET oldest = ?2 WHERE shop = ?1"),
    MovedSQL(
      .removedKeys,
      select: """
        SELECT s.shop, k.key, k.created_at
        FROM removed_keys k JOIN shops s ON s.number = k.shop ORDER BY s.shop, k.key
        """,
      names: [(naming, 0)],
      insert: "INSERT INTO removed_keys(shop, key, created_at) VALUES (\(shop), ?2, ?3)"),
  ]
}
