import CHoldfastSQLite
import HoldfastCore
import HoldfastHealthSamples
import HoldfastSyncData
import HoldfastTestKit

/// The inserts of a health sync backend and nothing else. They are an upper limit for its speed.
///
/// The inserts use the same rows, batches, tables and durability as the store.
@safe struct PlainSyncInserts: ~Copyable {
  private var database: OpaquePointer?
  private var row: Int64 = 0

  init(path: String) throws {
    guard unsafe sqlite3_open(path, &database) == SQLITE_OK else {
      throw Unavailable("SQLite cannot open \(path)")
    }
    try run(
      """
      PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 4000;
      PRAGMA cache_size = -16384;
      CREATE TABLE samples(
        id INTEGER PRIMARY KEY, user INTEGER NOT NULL, type INTEGER NOT NULL,
        start INTEGER NOT NULL, hash BLOB NOT NULL, duration INTEGER NOT NULL,
        source INTEGER NOT NULL, unit INTEGER, quantity REAL, text INTEGER, lasted INTEGER,
        distance REAL, energy REAL, uuids INTEGER NOT NULL, raw BLOB NOT NULL) STRICT;
      CREATE UNIQUE INDEX places ON samples(user, type, start, hash);
      CREATE TABLE identities(
        user INTEGER NOT NULL, uuid BLOB NOT NULL, sample INTEGER, deleted INTEGER,
        PRIMARY KEY (user, uuid)) STRICT, WITHOUT ROWID;
      """)
  }

  deinit { unsafe sqlite3_close(database) }

  /// Inserts the samples of a batch in one transaction.
  mutating func insert(_ delivery: SyncDelivery) throws {
    let content = unsafe prepare(
      """
      INSERT INTO samples VALUES (?, 1, 1, ?, ?, ?, 1, 1, ?, NULL, NULL, NULL, NULL, 1, ?)
      ON CONFLICT (user, type, start, hash) DO NOTHING
      """)
    let naming = unsafe prepare(
      "INSERT INTO identities VALUES (1, ?, ?, ?) ON CONFLICT DO NOTHING")
    defer {
      unsafe sqlite3_finalize(content)
      unsafe sqlite3_finalize(naming)
    }
    try run("BEGIN IMMEDIATE")
    for sample in delivery.samples {
      row += 1
      unsafe insert(sample, made: delivery.made?.nanoseconds ?? 0, content, naming)
    }
    try run("COMMIT")
  }

  private func insert(
    _ sample: SyncSample, made: Int64, _ content: OpaquePointer?, _ naming: OpaquePointer?
  ) {
    // `SQLITE_TRANSIENT` is a macro with a cast, which Swift does not import.
    let copied = unsafe unsafeBitCast(-1, to: sqlite3_destructor_type.self)
    unsafe sqlite3_bind_int64(content, 1, row)
    unsafe sqlite3_bind_int64(content, 2, sample.start.nanoseconds)
    let words = sample.hash.words
    unsafe withUnsafeBytes(
      of: (
        words[0].bigEndian, words[1].bigEndian, words[2].bigEndian, words[3].bigEndian
      )
    ) {
      _ = unsafe sqlite3_bind_blob(content, 3, $0.baseAddress, Int32($0.count), copied)
    }
    unsafe sqlite3_bind_int64(content, 4, sample.duration)
    if case .quantity(let quantity)? = sample.value {
      unsafe sqlite3_bind_double(content, 5, quantity)
    }
    unsafe sample.raw.withUnsafeBytes {
      _ = unsafe sqlite3_bind_blob(content, 6, $0.baseAddress, Int32($0.count), copied)
    }
    _ = unsafe sqlite3_step(content)
    _ = unsafe sqlite3_reset(content)
    guard let uuid = sample.uuid else { return }
    unsafe withUnsafeBytes(of: (uuid.high.bigEndian, uuid.low.bigEndian)) {
      _ = unsafe sqlite3_bind_blob(naming, 1, $0.baseAddress, Int32($0.count), copied)
    }
    unsafe sqlite3_bind_int64(naming, 2, row)
    unsafe sqlite3_bind_int64(naming, 3, made)
    _ = unsafe sqlite3_step(naming)
    _ = unsafe sqlite3_reset(naming)
  }

  private func prepare(_ text: String) -> OpaquePointer? {
    var statement: OpaquePointer?
    unsafe sqlite3_prepare_v2(database, text, -1, &statement, nil)
    return unsafe statement
  }

  private func run(_ text: String) throws {
    guard unsafe sqlite3_exec(database, text, nil, nil, nil) == SQLITE_OK else {
      throw Unavailable("SQLite: \(unsafe String(cString: sqlite3_errmsg(database)))")
    }
  }
}
