import HoldfastServerData

extension LogTables: MovableTables {
  static let moved = [
    MovedSQL(
      .logEpoch, select: "SELECT epoch FROM log", insert: "UPDATE log SET epoch = ?1"),
    MovedSQL(
      .messages, in: "messages",
      join: """
        shops of_shop CROSS JOIN messages t INDEXED BY offsets ON t.shop = of_shop.number
        """, by: "shop", "offset"),
    MovedSQL(
      .edits, in: "edits", join: "shops of_shop CROSS JOIN edits t ON t.shop = of_shop.number",
      by: "shop", "key", "offset"),
    MovedSQL(.images, in: "images", by: "id"),
    MovedSQL(
      .logBeginnings,
      select: "SELECT shop, oldest FROM shops WHERE oldest > 1 ORDER BY shop",
      names: [(NumberedTexts.shops.naming, 0)],
      insert: "UPDATE shops SET oldest = ?2 WHERE shop = ?1"),
    MovedSQL(.removedKeys, in: "removed_keys", by: "shop", "key"),
  ]
}
