import HoldfastCore
import HoldfastMessageData

/// The SQL statements of a phone's timeline store. Each is restricted to one shop.
///
/// Messages are stored in timeline order, so live messages are appended. Their IDs are random. In a
/// large index, nearly every ID would change a different page, and each page is written twice. IDs
/// are therefore collected in a small table, `new_ids`, and moved to the large table in order,
/// thousands at a time. An ID is in exactly one of the two tables.
///
/// A reader may open files of earlier versions. In version 1, messages have no position of their
/// newest edit, and before version 3 the outbox has only new messages without images.
struct TimelineTables {
  static let schema = Schema(
    applicationID: 0x4846_746C,  // "HFtl"
    tables: """
      CREATE TABLE cursors(
        shop TEXT PRIMARY KEY NOT NULL, epoch TEXT, offset INTEGER, time INTEGER,
        whole_at INTEGER, base_offset INTEGER) STRICT, WITHOUT ROWID;
      CREATE TABLE gaps(
        shop TEXT NOT NULL, place INTEGER NOT NULL, after_time INTEGER, after_id BLOB,
        before_time INTEGER NOT NULL, before_id BLOB NOT NULL,
        PRIMARY KEY (shop, place)) STRICT, WITHOUT ROWID;
      CREATE TABLE outbox(
        turn INTEGER PRIMARY KEY AUTOINCREMENT, shop TEXT NOT NULL, id BLOB NOT NULL,
        text TEXT NOT NULL, parent BLOB, created_at INTEGER NOT NULL, tries INTEGER, failure TEXT,
        action INTEGER, target BLOB, image_type TEXT, image_size INTEGER, image_url TEXT,
        image_uploaded_at INTEGER, UNIQUE (shop, id)) STRICT;
      CREATE TABLE shops(number INTEGER PRIMARY KEY, shop TEXT NOT NULL UNIQUE) STRICT;
      CREATE TABLE messages(
        shop INTEGER NOT NULL, \(ShopMessage.columnTypes), epoch TEXT, offset INTEGER,
        changed_epoch TEXT, changed_offset INTEGER,
        PRIMARY KEY (shop, created_at, id)) STRICT, WITHOUT ROWID;
      CREATE TABLE ids(
        shop INTEGER NOT NULL, id BLOB NOT NULL, created_at INTEGER NOT NULL,
        PRIMARY KEY (shop, id)) STRICT, WITHOUT ROWID;
      CREATE TABLE new_ids(
        shop INTEGER NOT NULL, id BLOB NOT NULL, created_at INTEGER NOT NULL,
        PRIMARY KEY (shop, id)) STRICT, WITHOUT ROWID;
      \(ConsumerTables.schema)
      """,
    upgrades: [
      """
      ALTER TABLE cursors ADD COLUMN base_offset INTEGER;
      ALTER TABLE messages ADD COLUMN changed_epoch TEXT;
      ALTER TABLE messages ADD COLUMN changed_offset INTEGER;
      \(ConsumerTables.upgrade)
      """,
      """
      ALTER TABLE outbox ADD COLUMN action INTEGER;
      ALTER TABLE outbox ADD COLUMN target BLOB;
      ALTER TABLE outbox ADD COLUMN image_type TEXT;
      ALTER TABLE outbox ADD COLUMN image_size INTEGER;
      ALTER TABLE outbox ADD COLUMN image_url TEXT;
      ALTER TABLE outbox ADD COLUMN image_uploaded_at INTEGER;
      """,
    ])

  let database: Database
  let shop: ShopID
  /// The version of the file's tables.
  var version = schema.version
  /// Whether the file has the columns of edits and deletions.
  var isCurrent: Bool { version > 1 }

  /// The columns of a message, in the order in which `message(_:)` reads them.
  static func columns(of name: String, isCurrent: Bool) -> String {
    let changed = isCurrent ? "\(name).changed_epoch, \(name).changed_offset" : "NULL, NULL"
    return "\(ShopMessage.columns(of: name)), \(name).epoch, \(name).offset, \(changed)"
  }

  /// Reads a message from the first columns of a row.
  static func message(_ row: Row, of shop: ShopID) throws(StoreFailure) -> ShopMessage {
    var message = try ShopMessage(row, shop: shop)
    message.position = try row.position(8)
    message.changed = try row.position(10)
    return message
  }

  // MARK: Messages

  /// Returns up to `limit` messages before `key`, or the newest if it is `nil`; newest first.
  func newest(before key: TimelineKey? = nil, limit: Int) throws(StoreFailure) -> [ShopMessage] {
    try database.query(
      """
      SELECT \(Self.columns(of: "messages", isCurrent: isCurrent)) FROM messages
      WHERE shop = (SELECT number FROM shops WHERE shop = ?1)
        \(key == nil ? "" : "AND (created_at, id) < (?3, ?4)")
      ORDER BY created_at DESC, id DESC LIMIT ?2
      """,
      [.text(shop.text), .integer(limit)]
        + (key.map { [.time($0.createdAt), .uuid($0.id)] } ?? [])
    ) { row throws(StoreFailure) in try Self.message(row, of: shop) }
  }

  /// Returns an operation that inserts messages of the shop. Assigns a number to a new shop.
  func insertion() throws(StoreFailure) -> MessageInsertion {
    var number = try number()
    if number == nil {
      try database.run("INSERT INTO shops(shop) VALUES (?)", [.text(shop.text)])
      number = try self.number()
    }
    guard let number else { throw .corrupt(detail: "A shop that was stored is missing.") }
    return try MessageInsertion(database: database, shop: number)
  }

  private func number() throws(StoreFailure) -> Int64? {
    try database.query(
      "SELECT number FROM shops WHERE shop = ?", [.text(shop.text)]
    ) { row throws(StoreFailure) in try row.integer(0) }.first
  }

  /// The time of the message ?2 of the shop ?1.
  private static let time = """
    (SELECT created_at FROM new_ids WHERE shop = ?1 AND id = ?2 UNION ALL
      SELECT created_at FROM ids WHERE shop = ?1 AND id = ?2)
    """

  /// Replaces the text of a stored message with the text of a later version. A version of another
  /// log replaces the positions, too.
  ///
  /// Returns false if the message does not exist, or if the version is not later or reads the same.
  func edit(_ message: ShopMessage) throws(StoreFailure) -> Bool {
    guard let number = try number(), let stored = try self.message(message.id),
      message.isLater(than: stored)
    else { return false }
    let isOther = message.isOfOtherLog(than: stored)
    let changed = try database.run(
      """
      UPDATE messages SET text = ?4, updated_at = ?5, is_edited = ?6, changed_epoch = ?7,
        changed_offset = ?8, epoch = ?9, offset = ?10
      WHERE shop = ?1 AND id = ?2 AND created_at = ?3
      """,
      [
        .integer(number), .uuid(message.id), .time(stored.createdAt), .text(message.text),
        .time(message.updatedAt ?? (isOther ? nil : stored.updatedAt)),
        .integer(message.isEdited ? 1 : 0),
      ] + values(message.changed ?? (isOther ? nil : stored.changed))
        + values(isOther ? message.position : stored.position))
    return changed == 1 && !(isOther && message.reads(like: stored))
  }

  /// Replaces the text of a stored message with an accepted one. Returns false if the message does
  /// not exist or has the text.
  func edit(_ text: AcceptedText) throws(StoreFailure) -> Bool {
    try message(text.id)?.edited(to: text).map { (edited) throws(StoreFailure) in
      try edit(edited)
    } ?? false
  }

  /// Returns a stored message; `nil` if it does not exist.
  func message(_ id: MessageID) throws(StoreFailure) -> ShopMessage? {
    guard let number = try number() else { return nil }
    return try database.query(
      """
      SELECT \(Self.columns(of: "messages", isCurrent: isCurrent)) FROM messages
      WHERE shop = ?1 AND id = ?2 AND created_at = \(Self.time)
      """, [.integer(number), .uuid(id)]
    ) { row throws(StoreFailure) in try Self.message(row, of: shop) }.first
  }

  /// Returns the keys in a range whose messages have no position in its log, in order.
  func others(in range: CoveredRange) throws(StoreFailure) -> [TimelineKey] {
    guard let number = try number() else { return [] }
    let (start, end) = (range.start, range.end)
    let bounds: [SQLValue] = [
      .time(start?.createdAt), .uuid(start?.id), .time(end?.createdAt), .uuid(end?.id),
    ]
    return try database.query(
      """
      SELECT created_at, id FROM messages
      WHERE shop = ?1 AND epoch IS NOT ?2
        \(start == nil ? "" : "AND (created_at, id) >= (?3, ?4)")
        \(end == nil ? "" : "AND (created_at, id) < (?5, ?6)")
      ORDER BY created_at, id
      """,
      [.integer(number), .text(range.epoch)]
        + bounds.prefix(end != nil ? 4 : start != nil ? 2 : 0)
    ) { row throws(StoreFailure) in
      TimelineKey(createdAt: try row.time(0), id: try row.uuid(1))
    }
  }

  /// A removed message.
  struct Removed {
    var key: TimelineKey
    /// Whether its ID was in the small table.
    var isNew: Bool
  }

  /// Removes a message. Returns `nil` if it does not exist.
  func remove(message id: MessageID) throws(StoreFailure) -> Removed? {
    guard let number = try number() else { return nil }
    let values: [SQLValue] = [.integer(number), .uuid(id)]
    let found = try database.query("SELECT \(Self.time)", values) { row throws(StoreFailure) in
      try row.optionalTime(0)
    }
    guard let time = found.first ?? nil else { return nil }
    try database.run(
      "DELETE FROM messages WHERE shop = ?1 AND id = ?2 AND created_at = ?3",
      values + [.time(time)])
    let isNew = try database.run("DELETE FROM new_ids WHERE shop = ?1 AND id = ?2", values) == 1
    if !isNew { try database.run("DELETE FROM ids WHERE shop = ?1 AND id = ?2", values) }
    return Removed(key: TimelineKey(createdAt: time, id: id), isNew: isNew)
  }

  // MARK: Ids

  /// The maximum number of IDs in the small table. With a lower maximum, IDs are moved too often.
  /// With a higher one, the small table becomes large. Among the values from 1,024 to 32,768, this
  /// one was the fastest with 100,000 messages.
  static let mostNewIDs = 8_192

  /// Returns the number of IDs of all shops in the small table.
  static func newIDs(_ database: Database) throws(StoreFailure) -> Int {
    let found = try database.query("SELECT count(*) FROM new_ids") { row throws(StoreFailure) in
      try row.unsigned(0)
    }
    return Int(found.first ?? 0)
  }

  /// Moves the IDs from the small table to the large one.
  static func moveNewIDs(_ database: Database) throws(StoreFailure) {
    try database.run("INSERT OR IGNORE INTO ids SELECT * FROM new_ids ORDER BY shop, id")
    try database.run("DELETE FROM new_ids")
  }

  // MARK: Shops

  /// Returns the shops with any stored data, sorted.
  static func shops(_ database: Database) throws(StoreFailure) -> [ShopID] {
    try database.query(
      """
      SELECT shop FROM shops UNION SELECT shop FROM cursors UNION SELECT shop FROM gaps
      UNION SELECT shop FROM outbox UNION SELECT shop FROM consumers ORDER BY shop
      """
    ) { row throws(StoreFailure) in try row.shop(0) }
  }

  // MARK: Cursor

  func cursor() throws(StoreFailure) -> ShopCursor {
    let found = try database.query(
      """
      SELECT epoch, offset, time, whole_at, \(isCurrent ? "base_offset" : "NULL") FROM cursors
      WHERE shop = ?
      """, [.text(shop.text)]
    ) { row throws(StoreFailure) in
      let position = try row.position(0)
      let base = try row.optionalInteger(4).flatMap { offset in
        position.map { ShopPosition(epoch: $0.epoch, offset: UInt64(bitPattern: offset)) }
      }
      return ShopCursor(
        position: position, time: try row.optionalTime(2), wholeAt: try row.optionalTime(3),
        base: base)
    }
    return found.first ?? ShopCursor()
  }

  func set(_ cursor: ShopCursor) throws(StoreFailure) {
    // The base has the epoch of the position.
    try database.run(
      """
      INSERT OR REPLACE INTO cursors(shop, epoch, offset, time, whole_at, base_offset)
      VALUES (?, ?, ?, ?, ?, ?)
      """,
      [.text(shop.text)] + values(cursor.position) + [
        .time(cursor.time), .time(cursor.wholeAt), values(cursor.base)[1],
      ])
  }

  // MARK: Gaps

  func gaps() throws(StoreFailure) -> [ShopGap] {
    try database.query(
      """
      SELECT after_time, after_id, before_time, before_id FROM gaps WHERE shop = ? ORDER BY place
      """, [.text(shop.text)]
    ) { row throws(StoreFailure) in
      var after: TimelineKey?
      if let time = try row.optionalTime(0) {
        after = TimelineKey(createdAt: time, id: try row.uuid(1))
      }
      return ShopGap(
        after: after, before: TimelineKey(createdAt: try row.time(2), id: try row.uuid(3)))
    }
  }

  func set(_ gaps: [ShopGap]) throws(StoreFailure) {
    try database.run("DELETE FROM gaps WHERE shop = ?", [.text(shop.text)])
    for (index, gap) in gaps.enumerated() {
      try database.run(
        """
        INSERT INTO gaps(shop, place, after_time, after_id, before_time, before_id)
        VALUES (?, ?, ?, ?, ?, ?)
        """,
        [
          .text(shop.text), .integer(index), .time(gap.after?.createdAt), .uuid(gap.after?.id),
          .time(gap.before.createdAt), .uuid(gap.before.id),
        ])
    }
  }

  // MARK: Positions

  /// Returns the values that store a position. A server may use any offset, so its 64 bits are
  /// stored unchanged.
  func values(_ position: ShopPosition?) -> [SQLValue] {
    guard let position else { return [.null, .null] }
    return [.text(position.epoch), .integer(Int64(bitPattern: position.offset))]
  }
}
