import HoldfastServerData

extension MovedSQL {
  private static let numbers = "SELECT shop_numbers($1)"

  /// The tables of the message log.
  static let log = [
    MovedSQL(
      .logEpoch, select: "SELECT epoch FROM log", insert: "UPDATE log SET epoch = ($1::bytea[])[1]"),
    MovedSQL(
      .messages,
      select: """
        SELECT s.shop, m."offset", m.place, m.id, m.author, m.username, m.text, m.created_at,
          m.updated_at, m.is_edited, m.parent, m.key, m.changed
        FROM shops s JOIN messages m ON m.shop = s.number ORDER BY s.shop, m."offset"
        """,
      names: [(numbers, 0)],
      insert: """
        INSERT INTO messages(shop, "offset", place, id, author, username, text, created_at,
          updated_at, is_edited, parent, key, changed)
        SELECT s.number, u."offset", place, id, author, username, text, created_at, updated_at,
          is_edited, parent, key, changed
        FROM unnest($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)
          u(shop, "offset", place, id, author, username, text, created_at, updated_at, is_edited,
            parent, key, changed)
        JOIN shops s ON s.shop = u.shop
        """),
    MovedSQL(
      .edits,
      select: """
        SELECT s.shop, e.key, e."offset", e.changed
        FROM shops s JOIN edits e ON e.shop = s.number ORDER BY s.shop, e.key, e."offset"
        """,
      names: [(numbers, 0)],
      insert: """
        INSERT INTO edits(shop, key, "offset", changed)
        SELECT s.number, u.key, u."offset", u.changed
        FROM unnest($1, $2, $3, $4) u(shop, key, "offset", changed)
        JOIN shops s ON s.shop = u.shop
        """),
    MovedSQL(
      .images,
      select: """
        SELECT i.id, s.shop, i.author, i.type, i.size, i.created_at, i.message
        FROM images i JOIN shops s ON s.number = i.shop ORDER BY i.id
        """,
      names: [(numbers, 1)],
      insert: """
        INSERT INTO images(id, shop, author, type, size, created_at, message)
        SELECT u.id, s.number, u.author, u.type, u.size, u.created_at, u.message
        FROM unnest($1, $2, $3, $4, $5, $6, $7)
          u(id, shop, author, type, size, created_at, message)
        JOIN shops s ON s.shop = u.shop
        """),
    MovedSQL(
      .imageContents, select: "SELECT id, content FROM image_contents ORDER BY id",
      insert: "INSERT INTO image_contents(id, content) SELECT * FROM unnest($1, $2)"),
    MovedSQL(
      .logBeginnings,
      select: """
        SELECT s.shop, b.oldest FROM log_beginnings b JOIN shops s ON s.number = b.shop
        ORDER BY s.shop
        """,
      names: [(numbers, 0)],
      insert: """
        INSERT INTO log_beginnings(shop, oldest)
        SELECT s.number, u.oldest FROM unnest($1, $2) u(shop, oldest)
        JOIN shops s ON s.shop = u.shop
        """),
    MovedSQL(
      .removedKeys,
      select: """
        SELECT s.shop, k.key, k.created_at
        FROM removed_keys k JOIN shops s ON s.number = k.shop ORDER BY s.shop, k.key
        """,
      names: [(numbers, 0)],
      insert: """
        INSERT INTO removed_keys(shop, key, created_at)
        SELECT s.number, u.key, u.created_at FROM unnest($1, $2, $3) u(shop, key, created_at)
        JOIN shops s ON s.shop = u.shop
        """),
  ]
}
