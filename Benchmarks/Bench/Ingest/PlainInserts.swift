import CSQLite
import HoldfastTestKit
import LinkCore
import LinkWire

/// The limit: the same rows in the same batches into the same tables with the same durability, and
/// nothing else.
@safe struct PlainInserts: ~Copyable {
  private var database: OpaquePointer?

  init(path: String) throws {
    guard unsafe sqlite3_open(path, &database) == SQLITE_OK else {
      throw Unavailable("SQLite cannot open \(path)")
    }
    try run(
      """
      PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;
      CREATE TABLE messages(
        shop TEXT NOT NULL, id BLOB NOT NULL, user TEXT NOT NULL, username TEXT,
        text TEXT NOT NULL, created_at INTEGER NOT NULL, updated_at INTEGER,
        is_edited INTEGER NOT NULL, parent BLOB, epoch TEXT, offset INTEGER,
        PRIMARY KEY(shop, id)) STRICT;
      CREATE INDEX timeline ON messages(shop, created_at, id);
      CREATE TABLE cursors(
        shop TEXT PRIMARY KEY NOT NULL, epoch TEXT, offset INTEGER) STRICT, WITHOUT ROWID;
      """)
  }

  deinit { unsafe sqlite3_close(database) }

  /// Inserts all messages, so many in each transaction.
  mutating func insert(_ messages: [Message], batches: [Int]) throws {
    var statement: OpaquePointer?
    unsafe sqlite3_prepare_v2(
      database,
      "INSERT INTO messages VALUES (?, ?, ?, ?, ?, ?, NULL, 0, NULL, ?, ?) ON CONFLICT DO NOTHING",
      -1, &statement, nil)
    defer { unsafe sqlite3_finalize(statement) }
    var rest = messages[...]
    for batch in batches where !rest.isEmpty {
      try run("BEGIN IMMEDIATE")
      for message in rest.prefix(batch) { unsafe insert(message, statement) }
      let offset = rest.prefix(batch).last?.position?.offset ?? 0
      try run("INSERT OR REPLACE INTO cursors VALUES ('bench', 'canned', \(offset)); COMMIT")
      rest = rest.dropFirst(batch)
    }
  }

  private func insert(_ message: Message, _ statement: OpaquePointer?) {
    // SQLITE_TRANSIENT, a cast that C macros do not bring along.
    let copied = unsafe unsafeBitCast(-1, to: sqlite3_destructor_type.self)
    let id = unsafe withUnsafeBytes(of: (message.id.high.bigEndian, message.id.low.bigEndian)) {
      unsafe Array($0)
    }
    unsafe sqlite3_bind_text(statement, 1, message.shop.text, -1, copied)
    unsafe sqlite3_bind_blob(statement, 2, id, Int32(id.count), copied)
    unsafe sqlite3_bind_text(statement, 3, message.user, -1, copied)
    unsafe sqlite3_bind_text(statement, 4, message.username, -1, copied)
    unsafe sqlite3_bind_text(statement, 5, message.text, -1, copied)
    unsafe sqlite3_bind_int64(statement, 6, message.createdAt.nanoseconds)
    unsafe sqlite3_bind_text(statement, 7, message.position?.epoch, -1, copied)
    unsafe sqlite3_bind_int64(statement, 8, Int64(message.position?.offset ?? 0))
    _ = unsafe sqlite3_step(statement)
    _ = unsafe sqlite3_reset(statement)
  }

  private func run(_ text: String) throws {
    guard unsafe sqlite3_exec(database, text, nil, nil, nil) == SQLITE_OK else {
      throw Unavailable("SQLite: \(unsafe String(cString: sqlite3_errmsg(database)))")
    }
  }
}
