import CHoldfastSQLite
import HoldfastCore
import HoldfastMessageData
import HoldfastTestKit

/// The inserts of a client and nothing else. They are an upper limit for the speed of a client.
///
/// The inserts use the same rows, batches, tables and durability as the store.
@safe struct PlainInserts: ~Copyable {
  /// The number of new ids that the store collects before it moves them.
  private static let mostNewIDs = 8_192

  private var database: OpaquePointer?
  private var newIDs = 0

  init(path: String) throws {
    guard unsafe sqlite3_open(path, &database) == SQLITE_OK else {
      throw Unavailable("SQLite cannot open \(path)")
    }
    try run(
      """
      PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA wal_autocheckpoint = 4000;
      PRAGMA journal_size_limit = 4194304;
      CREATE TABLE messages(
        shop INTEGER NOT NULL, id BLOB NOT NULL, user TEXT NOT NULL, username TEXT,
        text TEXT NOT NULL, created_at INTEGER NOT NULL, updated_at INTEGER,
        is_edited INTEGER NOT NULL, parent BLOB, epoch TEXT, offset INTEGER,
        changed_epoch TEXT, changed_offset INTEGER,
        PRIMARY KEY(shop, created_at, id)) STRICT, WITHOUT ROWID;
      CREATE TABLE ids(
        shop INTEGER NOT NULL, id BLOB NOT NULL, created_at INTEGER NOT NULL,
        PRIMARY KEY (shop, id)) STRICT, WITHOUT ROWID;
      CREATE TABLE new_ids(
        shop INTEGER NOT NULL, id BLOB NOT NULL, created_at INTEGER NOT NULL,
        PRIMARY KEY (shop, id)) STRICT, WITHOUT ROWID;
      CREATE TABLE cursors(
        shop TEXT PRIMARY KEY NOT NULL, epoch TEXT, offset INTEGER) STRICT, WITHOUT ROWID;
      """)
  }

  deinit { unsafe sqlite3_close(database) }

  /// Inserts all messages, with the given number in each transaction.
  mutating func insert(_ messages: [ShopMessage], batches: [Int]) throws {
    let statement = unsafe prepare(
      """
      INSERT INTO new_ids SELECT ?1, ?2, ?3
      WHERE NOT EXISTS (SELECT 1 FROM ids WHERE shop = ?1 AND id = ?2) ON CONFLICT DO NOTHING
      """)
    let content = unsafe prepare(
      """
      INSERT INTO messages VALUES (?, ?, ?, ?, ?, ?, NULL, 0, NULL, ?, ?, NULL, NULL)
      ON CONFLICT DO NOTHING
      """)
    defer {
      unsafe sqlite3_finalize(statement)
      unsafe sqlite3_finalize(content)
    }
    var rest = messages[...]
    for batch in batches where !rest.isEmpty {
      try run("BEGIN IMMEDIATE")
      for message in rest.prefix(batch) { unsafe insert(message, statement, content) }
      newIDs += batch
      if newIDs >= Self.mostNewIDs {
        try run("INSERT INTO ids SELECT * FROM new_ids ORDER BY shop, id; DELETE FROM new_ids")
        newIDs = 0
      }
      let offset = rest.prefix(batch).last?.position?.offset ?? 0
      try run("INSERT OR REPLACE INTO cursors VALUES ('bench', 'canned', \(offset)); COMMIT")
      rest = rest.dropFirst(batch)
    }
  }

  private func prepare(_ text: String) -> OpaquePointer? {
    var statement: OpaquePointer?
    unsafe sqlite3_prepare_v2(database, text, -1, &statement, nil)
    return unsafe statement
  }

  private func insert(
    _ message: ShopMessage, _ statement: OpaquePointer?, _ content: OpaquePointer?
  ) {
    // `SQLITE_TRANSIENT` is a macro with a cast, which Swift does not import.
    let copied = unsafe unsafeBitCast(-1, to: sqlite3_destructor_type.self)
    unsafe withUnsafeBytes(of: (message.id.high.bigEndian, message.id.low.bigEndian)) {
      unsafe sqlite3_bind_blob(statement, 2, $0.baseAddress, Int32($0.count), copied)
      unsafe sqlite3_bind_blob(content, 2, $0.baseAddress, Int32($0.count), copied)
    }
    unsafe sqlite3_bind_int64(statement, 1, 1)
    unsafe sqlite3_bind_int64(content, 1, 1)
    unsafe sqlite3_bind_int64(statement, 3, message.createdAt.nanoseconds)
    _ = unsafe sqlite3_step(statement)
    _ = unsafe sqlite3_reset(statement)
    unsafe sqlite3_bind_text(content, 3, message.user, -1, copied)
    unsafe sqlite3_bind_text(content, 4, message.username, -1, copied)
    unsafe sqlite3_bind_text(content, 5, message.text, -1, copied)
    unsafe sqlite3_bind_int64(content, 6, message.createdAt.nanoseconds)
    unsafe sqlite3_bind_text(content, 7, message.position?.epoch, -1, copied)
    unsafe sqlite3_bind_int64(content, 8, Int64(message.position?.offset ?? 0))
    _ = unsafe sqlite3_step(content)
    _ = unsafe sqlite3_reset(content)
  }

  private func run(_ text: String) throws {
    guard unsafe sqlite3_exec(database, text, nil, nil, nil) == SQLITE_OK else {
      throw Unavailable("SQLite: \(unsafe String(cString: sqlite3_errmsg(database)))")
    }
  }
}
