import CHoldfastSQLite
import HoldfastCore
import HoldfastOwnerFiles

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Android)
  import Android
#elseif canImport(Darwin)
  import Darwin
#endif

/// A connection to a SQLite file. A store owns it, and only one thread at a time may use it.
@safe package final class Database {
  /// The kind of failure that a commit survives once the call has returned.
  enum Durability: String {
    /// Commits survive the end of the process. A power failure may undo the newest commits, each
    /// completely.
    case processEnd = "NORMAL"
    /// Commits also survive a power failure, because the log is synced at each commit.
    case powerCut = "FULL"
  }

  private let handle: OpaquePointer
  private let path: String
  private let access: StoreAccess
  private let identity: FileIdentity?
  private let room: LogRoom
  /// Whether an earlier connection left a write-ahead log with content.
  let hadLog: Bool
  private var statements: [String: Statement] = [:]

  /// Whether the newest write failed. Only another write can then show whether the disk has
  /// recovered.
  private var mustProbe = false

  /// The durability of commits. It is changed only between transactions.
  private(set) var durability = Durability.powerCut

  /// Opens the file. Rejects a foreign file, and creates the tables in an empty one.
  ///
  /// - Parameter isGuest: Whether another program may use the file, whose settings and tables then
  ///   stay as they are.
  init(
    path: String, access: StoreAccess, busyTimeout: Duration, schema: Schema, isGuest: Bool = false
  ) throws(StoreFailure) {
    (self.path, self.access) = (path, access)
    identity = FileIdentity(of: path)
    room = LogRoom(path: path)
    var log = stat()
    hadLog = unsafe stat("\(path)-wal", &log) == 0 && log.st_size > 0
    let mode = access == .write ? SQLITE_OPEN_READWRITE : SQLITE_OPEN_READONLY
    var opened: OpaquePointer?
    let code = unsafe sqlite3_open_v2(
      path, &opened, mode | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, nil)
    guard let handle = unsafe opened else {
      throw .other(detail: "\(path): no memory for a connection.")
    }
    unsafe self.handle = unsafe handle
    try check(code)
    let (seconds, attoseconds) = busyTimeout.components
    let milliseconds = seconds * 1_000 + attoseconds / 1_000_000_000_000_000
    unsafe sqlite3_busy_timeout(handle, Int32(clamping: milliseconds))
    try execute(
      "PRAGMA foreign_keys = ON; PRAGMA cell_size_check = ON; PRAGMA trusted_schema = OFF")
    let hasTables = try schema.inspect(self, path: path)
    switch access {
    case .read,
      .write where isGuest:
      if !hasTables {
        throw .denied(
          detail: "\(path) is empty. If the disk was full, make room, and store or import again.")
      }
    case .write:
      try prepareToWrite()
      try setDurability(.powerCut)
      if hasTables { try schema.upgrade(self) } else { try schema.create(in: self) }
    }
  }

  /// Sets how the file is written.
  ///
  /// With a write-ahead log, `history` can read while `stream` writes. At 4,000 pages (16 MiB), the
  /// log is copied into the file, which waits for the disk. When it is empty, it is truncated to
  /// 4 MiB. On a small disk it is copied earlier (see `LogRoom`).
  ///
  /// `holdfast_clean` recognizes the pages of tables by their first byte. In every other page this
  /// byte begins a page number. So there are fewer than 2^25 pages (128 GiB). It must know whether
  /// there are pointer maps, which `auto_vacuum` adds.
  private func prepareToWrite() throws(StoreFailure) {
    try execute(
      """
      PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 4000;
      PRAGMA journal_size_limit = 4194304; PRAGMA max_page_count = 33554431
      """)
    try check(unsafe holdfast_clean(handle))
    try check(unsafe holdfast_expect_maps(handle, try number("PRAGMA auto_vacuum") == 0 ? 0 : 1))
  }

  /// Writes the file anew, so that unused pages can be given back (`PRAGMA incremental_vacuum`).
  ///
  /// - Throws: `.locked` if another program uses the file.
  func beginToShrink() throws(StoreFailure) {
    // What is in the log has no pointer maps.
    guard try truncateLog() else {
      throw .locked(detail: "\(path): another program is using the file; end that program.")
    }
    try check(unsafe holdfast_expect_maps(handle, 1))
    do throws(StoreFailure) {
      try execute("PRAGMA auto_vacuum = INCREMENTAL; VACUUM")
    } catch {
      _ = unsafe holdfast_expect_maps(handle, 0)
      try? execute("PRAGMA auto_vacuum = NONE")
      throw error
    }
    // `PRAGMA auto_vacuum` is compiled with its value.
    statements = [:]
    _ = shortenLog()
  }

  deinit {
    statements = [:]
    unsafe sqlite3_close_v2(handle)
  }

  func setDurability(_ wanted: Durability) throws(StoreFailure) {
    try execute("PRAGMA synchronous = \(wanted.rawValue)")
    durability = wanted
  }

  /// Runs statements without parameters, and ignores their rows.
  func execute(_ sql: String) throws(StoreFailure) {
    try check(unsafe sqlite3_exec(handle, sql, nil, nil, nil))
  }

  /// Runs a statement. Returns the number of changed rows.
  @discardableResult
  func run(_ sql: String, _ values: [SQLValue] = []) throws(StoreFailure) -> Int {
    let statement = try prepared(sql)
    defer { statement.reset() }
    try check(statement.bind(values))
    var code = statement.step()
    while code == SQLITE_ROW { code = statement.step() }
    if code != SQLITE_DONE { try check(code) }
    return unsafe Int(sqlite3_changes(handle))
  }

  /// Returns a prepared statement, which can be bound and passed to `finish` many times.
  func statement(_ sql: String) throws(StoreFailure) -> Statement { try prepared(sql) }

  /// Runs a statement whose values are bound. Returns the number of changed rows.
  func finish(_ statement: Statement) throws(StoreFailure) -> Int {
    try finish(statement, statement.step())
  }

  /// Ends a statement whose step returned `code`. Returns the number of changed rows.
  func finish(_ statement: Statement, _ code: Int32) throws(StoreFailure) -> Int {
    if code != SQLITE_DONE {
      defer { statement.reset() }
      try check(code)
    }
    unsafe sqlite3_reset(statement.pointer)
    return unsafe Int(sqlite3_changes(handle))
  }

  /// Continues a query whose values are bound. Returns false at its end.
  func advance(_ statement: Statement) throws(StoreFailure) -> Bool {
    let code = statement.step()
    guard code != SQLITE_ROW else { return true }
    defer { statement.reset() }
    if code != SQLITE_DONE { try check(code) }
    return false
  }

  /// Returns the number that a query finds; 0 if it finds none.
  func number(_ sql: String) throws(StoreFailure) -> Int64 {
    try query(sql) { row throws(StoreFailure) in try row.integer(0) }.first ?? 0
  }

  /// Runs a statement and reads each of its rows. `read` must not run the same `sql`.
  func query<Value>(
    _ sql: String, _ values: [SQLValue] = [], _ read: (Row) throws(StoreFailure) -> Value
  ) throws(StoreFailure) -> [Value] {
    let statement = try prepared(sql)
    defer { statement.reset() }
    try check(statement.bind(values))
    var found: [Value] = []
    while true {
      switch statement.step() {
      case SQLITE_ROW: found.append(try read(statement.row))
      case SQLITE_DONE: return found
      case let code: try check(code)
      }
    }
  }

  /// Runs `body` in a transaction. All of its changes are stored, or none.
  ///
  /// - Parameter write: True to take the write lock immediately, so that no later step can find it
  ///   taken; false to read one consistent snapshot.
  func transaction<Value>(
    write: Bool, _ body: () throws(StoreFailure) -> Value
  ) throws(StoreFailure) -> Value {
    // SQLite would continue with a file that has been unlinked, whose content would then be lost.
    guard FileIdentity(of: path) == identity else {
      throw .denied(
        detail: "\(path) was moved, deleted or replaced while it was open. Put it back, or start "
          + "again with what is there.")
    }
    do {
      try execute(write ? "BEGIN IMMEDIATE" : "BEGIN")
      let value = try body()
      try execute("COMMIT")
      if write {
        mustProbe = false
        room.limitLog { _ = shortenLog() }
      }
      return value
    } catch {
      if write { mustProbe = access == .write }
      // On some errors, such as a full disk, SQLite itself ends the transaction.
      if unsafe sqlite3_get_autocommit(handle) == 0 { try? execute("ROLLBACK") }
      throw error
    }
  }

  /// Copies the write-ahead log into the file and truncates the log. Returns false if that is not
  /// possible now.
  func shortenLog() -> Bool { (try? truncateLog()) ?? false }

  /// Copies the write-ahead log into the file and truncates the log. Returns false if another
  /// program uses the log.
  func truncateLog() throws(StoreFailure) -> Bool {
    guard access == .write else { return false }
    let isBusy = try query("PRAGMA wal_checkpoint(TRUNCATE)") { row throws(StoreFailure) in
      try row.integer(0)
    }
    return isBusy == [0]
  }

  /// The free space below which a check of a writer fails. One commit of large messages may need
  /// it: 16 pages of 4 KiB.
  private static let leastRoom: UInt64 = 65_536

  /// Checks that the file exists and can be read. For a writer, also checks that the disk has
  /// enough room and, after a failed write, that the file can be written.
  func check() throws(StoreFailure) {
    var disk = statvfs()
    if access == .write, unsafe statvfs(path, &disk) == 0,
      disk.free < Self.leastRoom
    {
      throw storeFailure(code: SQLITE_FULL, system: 0, text: "almost no room is left", path: path)
    }
    try transaction(write: mustProbe) { () throws(StoreFailure) in
      let version = try query("PRAGMA user_version") { row throws(StoreFailure) in
        try row.integer(0)
      }
      // This writes the first page without changing it.
      guard mustProbe, let version = version.first else { return }
      try execute("PRAGMA user_version = \(version)")
    }
  }

  private func prepared(_ sql: String) throws(StoreFailure) -> Statement {
    if let statement = statements[sql] { return statement }
    var pointer: OpaquePointer?
    try check(
      unsafe sqlite3_prepare_v3(handle, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &pointer, nil))
    guard let pointer = unsafe pointer else {
      throw .other(detail: "\(path): an empty statement.")
    }
    let statement = unsafe Statement(pointer)
    statements[sql] = statement
    return statement
  }

  private func check(_ code: Int32) throws(StoreFailure) {
    guard code != SQLITE_OK else { return }
    let kind = code & 0xFF
    let system = kind == SQLITE_IOERR || kind == SQLITE_CANTOPEN
    // If a value could not be bound but later ones were, the connection's error message belongs to
    // those.
    let isNewest = unsafe sqlite3_extended_errcode(handle) == code
    throw storeFailure(
      code: code, system: system ? unsafe sqlite3_system_errno(handle) : 0,
      text: unsafe String(cString: isNewest ? sqlite3_errmsg(handle) : sqlite3_errstr(code)),
      path: path)
  }
}

// Copies and checks of whole files.
extension Database {
  /// The number of pages that are copied at a time.
  private static let pagesOfStep: Int32 = 2_048

  /// Copies the content that this connection sees into an empty file. In a transaction, that is the
  /// content at its beginning, also while others write.
  ///
  /// - Parameter step: A function that is called with the numbers of copied and of all pages. If it
  ///   returns false, the copy ends.
  /// - Returns: Whether the copy is complete.
  func copy(
    to copy: String, _ step: (_ pages: Int, _ total: Int) -> Bool
  ) throws(StoreFailure) -> Bool {
    var opened: OpaquePointer?
    let mode = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE
    let code = unsafe sqlite3_open_v2(copy, &opened, mode, nil)
    defer { unsafe sqlite3_close_v2(opened) }
    guard let other = unsafe opened, code == SQLITE_OK else { throw unsafe failure(opened, copy) }
    // A copy that is not complete is of no use, so it needs neither a journal nor syncs.
    let settings = "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF"
    guard unsafe sqlite3_exec(other, settings, nil, nil, nil) == SQLITE_OK,
      let backup = unsafe sqlite3_backup_init(other, "main", handle, "main")
    else { throw unsafe failure(other, copy) }
    var result = SQLITE_OK
    var isWanted = true
    while result == SQLITE_OK, isWanted {
      result = unsafe sqlite3_backup_step(backup, Self.pagesOfStep)
      let total = unsafe Int(sqlite3_backup_pagecount(backup))
      let left = unsafe Int(sqlite3_backup_remaining(backup))
      isWanted = step(total - left, total)
    }
    // The message is that of the result, if there is a fault.
    unsafe sqlite3_backup_finish(backup)
    guard result == SQLITE_OK || result == SQLITE_DONE else { throw unsafe failure(other, copy) }
    return result == SQLITE_DONE
  }

  private func failure(_ other: OpaquePointer?, _ path: String) -> StoreFailure {
    let code = unsafe sqlite3_extended_errcode(other)
    return storeFailure(
      code: code, system: unsafe sqlite3_system_errno(other),
      text: unsafe String(cString: sqlite3_errmsg(other)), path: path)
  }

  /// The version of the tables.
  var version: Int {
    get throws(StoreFailure) {
      let found = try query("PRAGMA user_version") { row throws(StoreFailure) in
        try row.integer(0)
      }
      return Int(found.first ?? 0)
    }
  }

  /// Reads the whole file, and checks its structure.
  ///
  /// - Throws: `.corrupt` with the first fault that SQLite finds.
  func checkIntegrity() throws(StoreFailure) {
    let faults = try query("PRAGMA integrity_check(1)") { row throws(StoreFailure) in
      try row.text(0)
    }
    guard faults != ["ok"] else { return }
    throw .corrupt(detail: "\(path) is damaged: \(faults.first ?? "it cannot be read").")
  }
}

/// The identity of a file, independent of its path.
private struct FileIdentity: Equatable {
  private let device: dev_t
  private let number: ino_t

  /// Reads the identity of the file at a path; `nil` if the file does not exist.
  init?(of path: String) {
    var found = stat()
    guard unsafe stat(path, &found) == 0 else { return nil }
    (device, number) = (found.st_dev, found.st_ino)
  }
}

/// Converts SQLite's result code (sqlite.org/rescode.html) to a failure of the port.
///
/// - Parameters:
///   - code: The extended result code.
///   - system: The `errno` of an I/O error; 0 if there was none.
///   - text: SQLite's message. It contains names of tables and columns, but no values.
///   - rules: The rules by which the system refuses access. Apple's SQLite returns `SQLITE_AUTH` for
///     a file that the lock of the device protects; elsewhere only an authorizer does.
func storeFailure(
  code: Int32, system: Int32, text: String, path: String, under rules: FileRules = .current
) -> StoreFailure {
  let detail = "\(path): \(text) (SQLite \(code))."
  let isFull = StoreFailure.full(
    detail: "\(detail) The disk or a quota is full; free some space and try again.")
  switch rules.refusal(system) {
  case .full: return isFull
  case .locked: return .needsUnlock(detail)
  case .denied, .other: break
  }
  return switch code & 0xFF {
  case SQLITE_FULL: isFull
  case SQLITE_AUTH where rules == .deviceLock: .needsUnlock(detail)
  case SQLITE_BUSY, SQLITE_LOCKED, SQLITE_PROTOCOL:
    .locked(detail: "\(detail) Another program is using the file; end it or try again.")
  case SQLITE_CORRUPT, SQLITE_NOTADB:
    .corrupt(detail: "\(detail) The file was left as it is; move it away to begin anew.")
  case SQLITE_CANTOPEN, SQLITE_READONLY, SQLITE_PERM, SQLITE_AUTH:
    .denied(detail: "\(detail) Check the owner and the permissions of the file and its directory.")
  case _: .other(detail: detail)
  }
}
