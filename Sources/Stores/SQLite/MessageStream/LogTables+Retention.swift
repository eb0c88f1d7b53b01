package import HoldfastCore
import HoldfastFeaturePorts
package import HoldfastMessageData

// The removal of the beginning of logs.
extension LogTables {
  /// The offset of the oldest event of each shop that is kept, and the keys of recent posts whose
  /// messages were removed, with the times of the posts.
  static let retention = """
    ALTER TABLE shops ADD COLUMN oldest INTEGER NOT NULL DEFAULT 1;
    CREATE TABLE removed_keys(
      shop INTEGER NOT NULL, key BLOB NOT NULL, created_at INTEGER NOT NULL,
      PRIMARY KEY (shop, key)) STRICT, WITHOUT ROWID;
    CREATE INDEX removed_times ON removed_keys(created_at);
    """

  /// Returns whether a key is that of a post whose message was removed.
  ///
  /// While no key is remembered, this needs no query.
  func isKeyOfRemoved(_ key: UUID128, _ shop: LogShop) throws(StoreFailure) -> Bool {
    guard try keepsKeysOfRemoved() else { return false }
    return try !database.query(
      "SELECT 1 FROM removed_keys WHERE shop = ? AND key = ?",
      [.integer(shop.number), .uuid(key)]
    ) { row throws(StoreFailure) in try row.integer(0) }.isEmpty
  }

  private func keepsKeysOfRemoved() throws(StoreFailure) -> Bool {
    if let known = hasKeysOfRemoved { return known }
    let found = try database.query("SELECT EXISTS (SELECT 1 FROM removed_keys)") {
      row throws(StoreFailure) in try row.flag(0)
    }
    hasKeysOfRemoved = found.first
    return found.first ?? true
  }

  /// Returns the offset of the oldest event of a shop that is kept.
  func oldest(of shop: LogShop) throws(StoreFailure) -> UInt64 {
    let found = try database.query(
      "SELECT oldest FROM shops WHERE number = ?", [.integer(shop.number)]
    ) { row throws(StoreFailure) in try row.unsigned(0) }
    // In a damaged file it may be anything.
    return max(1, found.first ?? 1)
  }

  func extents(after shop: ShopID?, limit: Int) throws(StoreFailure) -> [LogExtent] {
    let shops = try database.query(
      "SELECT shop, number FROM shops WHERE shop > ? ORDER BY shop LIMIT ?",
      [.text(shop?.text ?? ""), .integer(limit.asLimit)]
    ) { row throws(StoreFailure) in LogShop(name: try row.shop(0), number: try row.integer(1)) }
    var extents: [LogExtent] = []
    for shop in shops {
      extents.append(
        LogExtent(
          shop: shop.name, oldest: try oldest(of: shop),
          newestPost: try newestPost(of: shop) ?? 0, head: try readEnd(shop).offset))
    }
    return extents
  }

  private func newestPost(of shop: LogShop) throws(StoreFailure) -> UInt64? {
    try database.query(
      "SELECT offset FROM messages WHERE shop = ? ORDER BY offset DESC LIMIT 1",
      [.integer(shop.number)]
    ) { row throws(StoreFailure) in try row.unsigned(0) }.first
  }

  func marks(
    of shop: ShopID, after version: UInt64, limit: Int
  ) throws(StoreFailure) -> [LogMark] {
    guard let shop = try find(shop) else { return [] }
    let posts = try marks(shop, "offset > ?2 AND changed IS NULL ORDER BY offset", version, limit)
    let changes = try marks(shop, "changed > ?2 ORDER BY changed", version, limit)
    let all = changes.isEmpty ? posts : (posts + changes).sorted { $0.version < $1.version }
    return Array(all.prefix(limit.asLimit))
  }

  private func marks(
    _ shop: LogShop, _ rest: String, _ version: UInt64, _ limit: Int
  ) throws(StoreFailure) -> [LogMark] {
    // The length of a text is its number of characters, which counts what must first be read.
    try database.query(
      """
      SELECT coalesce(changed, offset), coalesce(updated_at, created_at),
        coalesce(length(CAST(text AS BLOB)), 0) + coalesce(length(CAST(user AS BLOB)), 0)
          + coalesce(length(CAST(username AS BLOB)), 0), changed IS NOT NULL
      FROM messages WHERE shop = ?1 AND \(rest) LIMIT ?3
      """, [.integer(shop.number), .offset(version), .integer(limit.asLimit)]
    ) { row throws(StoreFailure) in
      LogMark(
        version: try row.unsigned(0), time: try row.optionalTime(1),
        bytes: LogMark.overhead + (try row.unsigned(2)), isChanged: try row.flag(3))
    }
  }

  func remove(_ cut: LogCut) throws(StoreFailure) -> Int {
    guard let shop = try find(cut.shop), let newest = try newestPost(of: shop) else { return 0 }
    let (oldest, first) = (try oldest(of: shop), min(cut.first, newest))
    guard first > oldest else { return 0 }
    let number = SQLValue.integer(shop.number)
    let bounds = [number, .offset(first), .offset(oldest)]
    var removed = 0
    for rows in Self.beginning {
      // A deleted message has no time.
      try database.run(
        """
        INSERT OR IGNORE INTO removed_keys(shop, key, created_at)
        SELECT shop, key, coalesce(created_at, ?4) FROM messages
        WHERE \(rows) AND key IS NOT NULL AND coalesce(created_at, ?4) >= ?5
        """, bounds + [.time(cut.now), .time(cut.keysSince)])
      removed += try database.run("DELETE FROM messages WHERE \(rows)", bounds)
    }
    for statement in Self.remains { try database.run(statement, [number, .offset(first)]) }
    try database.run("UPDATE shops SET oldest = ?2 WHERE number = ?1", [number, .offset(first)])
    hasKeysOfRemoved = nil
    return removed
  }

  /// The conditions of the rows whose newest events lie before ?2. Those before ?3 that have no later
  /// event were removed earlier.
  private static let beginning = [
    "shop = ?1 AND changed IS NULL AND offset >= ?3 AND offset < ?2",
    "shop = ?1 AND changed IS NOT NULL AND changed < ?2 AND ?3 > 0",
  ]

  /// The statements that remove what belongs to rows that do not exist any more.
  private static let remains = [
    """
    DELETE FROM edits WHERE shop = ?1 AND offset < ?2
      AND NOT EXISTS (SELECT 1 FROM messages m WHERE m.shop = ?1 AND m.offset = edits.offset)
    """,
    """
    UPDATE images SET user = NULL, message = NULL
    WHERE shop = ?1 AND message IS NOT NULL AND message < ?2
      AND NOT EXISTS (SELECT 1 FROM messages m WHERE m.shop = ?1 AND m.offset = images.message)
    """,
  ]

  // MARK: - Room

  /// The maximum number of keys that are forgotten in one commit.
  private static let keysAtOnce = 2_000
  /// The maximum number of pages of 4 KiB that are given back in one commit.
  private static let pagesAtOnce: Int64 = 512

  func forgetKeys(before time: Timestamp) throws(StoreFailure) -> Bool {
    guard try keepsKeysOfRemoved() else { return false }
    let forgotten = try database.run(
      """
      DELETE FROM removed_keys WHERE (shop, key) IN (
        SELECT shop, key FROM removed_keys WHERE created_at < ? ORDER BY created_at LIMIT ?)
      """, [.time(time), .integer(Int64(Self.keysAtOnce))])
    hasKeysOfRemoved = nil
    return forgotten == Self.keysAtOnce
  }

  /// Gives pages back if more than a quarter of the file is unused. Returns whether more can be given
  /// back.
  ///
  /// The next messages need some of them again.
  func shrink() throws(StoreFailure) -> Bool {
    guard try database.number("PRAGMA auto_vacuum") == 2 else { return false }
    let all = try database.number("PRAGMA page_count")
    let unused = try database.number("PRAGMA freelist_count")
    guard unused > 1_024, unused > all / 4 else { return false }
    let surplus = unused - all / 8
    try database.execute("PRAGMA incremental_vacuum(\(min(surplus, Self.pagesAtOnce)))")
    return surplus > Self.pagesAtOnce
  }
}

extension SQLiteFile: PrunableLog where T == LogTables {
  /// The size up to which a file is written anew at the start, in bytes. It takes about half a
  /// second.
  private static var smallFile: Int64 { 128 << 20 }

  package func extents(
    after shop: ShopID?, limit: Int
  ) throws(StoreFailure) -> [LogExtent] {
    try read { tables throws(StoreFailure) in try tables.extents(after: shop, limit: limit) }
  }

  package func marks(
    of shop: ShopID, after version: UInt64, limit: Int
  ) throws(StoreFailure) -> [LogMark] {
    try read { tables throws(StoreFailure) in
      try tables.marks(of: shop, after: version, limit: limit)
    }
  }

  package func remove(_ cut: LogCut) throws(StoreFailure) -> Int {
    try write { tables throws(StoreFailure) in try tables.remove(cut) }
  }

  package func tidy(keysBefore time: Timestamp) throws(StoreFailure) -> Bool {
    let keys = try write { tables throws(StoreFailure) in try tables.forgetKeys(before: time) }
    return try write { tables throws(StoreFailure) in try tables.shrink() } || keys
  }

  package func prepareToShrink() throws(StoreFailure) -> String? {
    // A read first checks that the store is open.
    let database = try read { tables throws(StoreFailure) in tables.database }
    guard try database.number("PRAGMA auto_vacuum") != 2 else { return nil }
    let size = try database.number("PRAGMA page_count") * database.number("PRAGMA page_size")
    guard size <= Self.smallFile else {
      return "the file of the messages does not shrink, but the room in it is used again; to make "
        + "it smaller, stop the backend and run: sqlite3 messages.sqlite "
        + "'PRAGMA auto_vacuum = INCREMENTAL; VACUUM'"
    }
    try database.beginToShrink()
    return nil
  }
}
