package import HoldfastCore
import HoldfastOwnerFiles
import HoldfastPorts
package import HoldfastServerData

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Android)
  import Android
#elseif canImport(Darwin)
  import Darwin
#endif

/// The files of a data directory, while their content is moved. Servers are locked out.
package actor SQLiteStores: MovableStores {
  private struct File {
    let database: Database
    let lock: FileLock?
    let moved: [MovedSQL]
  }

  /// A table that is being read.
  private struct Reading {
    let database: Database
    let statement: Statement
    let table: MovedTable
  }

  /// The kinds of stores in a data directory. The one that is written most often comes last.
  static let kinds = [RelayTables.kind, SessionTables.kind, SyncTables.kind, LogTables.kind]

  package nonisolated let place: String
  private let executor = QueueExecutor(label: "holdfast.move")
  private var files: [File] = []
  private var reading: Reading?
  /// The contents of images that were not read yet.
  private var unread: ArraySlice<UUID128> = []

  package nonisolated var unownedExecutor: UnownedSerialExecutor {
    unsafe executor.asUnownedSerialExecutor()
  }

  /// Opens the files of a directory.
  ///
  /// - Parameter isNew: Whether to create the directory if it does not exist.
  /// - Throws: `.denied` if it does not exist and should; `.locked` if a server uses it.
  package init(in directory: String, isNew: Bool) async throws(StoreFailure) {
    place = directory.isEmpty ? "." : directory
    if !isNew {
      let path = StoreFile(directory: directory, name: LogTables.kind.name).path
      guard unsafe access(path, F_OK) == 0 else {
        throw .denied(detail: "There is no store at \(path); check the directory.")
      }
    }
    files = [
      try Self.open(LogTables.self, in: directory), try Self.open(RelayTables.self, in: directory),
      try Self.open(SessionTables.self, in: directory),
      try Self.open(SyncTables.self, in: directory),
    ]
  }

  private static func open<T: MovableTables>(
    _ tables: T.Type, in directory: String
  ) throws(StoreFailure) -> File {
    let file = StoreFile(directory: directory, name: T.kind.name)
    let lock = try file.claim(for: .write)
    let database = try Database(
      path: file.path, access: .write, busyTimeout: .seconds(2), schema: T.kind.schema)
    lock?.noteMade(true)
    try database.execute(T.kind.settings)
    try database.execute(T.preparation)
    return File(database: database, lock: lock, moved: T.moved)
  }

  package func close() {
    (reading, files) = (nil, [])
  }

  // MARK: - Notes

  private static func noteFile(in directory: String) -> OwnerFile {
    OwnerFile("\(directory)/moved", maxBytes: 16_384, isSecret: false)
  }

  /// Returns what a directory says about a move of its stores.
  package static func note(in directory: String) throws(StoreFailure) -> MoveNote? {
    let file = noteFile(in: directory)
    let found: [UInt8]?
    do throws(OwnerFileError) { found = try file.read() } catch {
      // Whoever opens the stores reports that the directory is a file.
      if case .refused(_, code: ENOTDIR) = error { return nil }
      throw StoreFailure(error, at: file.path)
    }
    guard let found, !found.isEmpty else { return nil }
    let line = found.prefix { $0 != UInt8(ascii: "\n") }
    guard let note = MoveNote(String(decoding: line, as: UTF8.self)) else {
      throw .corrupt(
        detail: "\(file.path) is damaged. It says from or to which place the stores were moved; "
          + "write `to PLACE` or `from PLACE` into it, or remove it if they were not moved.")
    }
    return note
  }

  package func note() throws(StoreFailure) -> MoveNote? { try Self.note(in: place) }

  package func setNote(_ note: MoveNote?) throws(StoreFailure) {
    try Self.setNote(note, in: place)
  }

  /// Sets or removes the mark on a directory.
  package static func setNote(_ note: MoveNote?, in directory: String) throws(StoreFailure) {
    let file = noteFile(in: directory)
    do throws(OwnerFileError) {
      guard let note else { return try file.remove() }
      try file.replace(with: Array("\(note.text)\n".utf8))
    } catch {
      throw StoreFailure(error, at: file.path)
    }
  }

  // MARK: - Epochs

  /// Begins a new epoch in each store of a directory that has epochs, as `newEpoch` does when a server
  /// opens it.
  package static func beginEpochs(in directory: String) async throws(StoreFailure) {
    func isThere(_ kind: StoreKind) -> Bool {
      unsafe access(StoreFile(directory: directory, name: kind.name).path, F_OK) == 0
    }
    if isThere(LogTables.kind) {
      let log = try await SQLiteMessageLog.open(in: directory, newEpoch: true)
      await log.close()
    }
    if isThere(SyncTables.kind) {
      let samples = try await SQLiteSyncStore.open(in: directory, newEpoch: true)
      await samples.close()
    }
  }

  // MARK: - Rows

  private func find(
    _ table: MovedTable
  ) throws(StoreFailure) -> (database: Database, sql: MovedSQL) {
    for file in files {
      if let sql = file.moved.first(where: { $0.table == table }) { return (file.database, sql) }
    }
    throw .closed
  }

  package func count(_ table: MovedTable) throws(StoreFailure) -> Int {
    guard table != .imageContents else { return try contents.ids.count }
    let (database, sql) = try find(table)
    let rows = try database.query(
      "SELECT count(*) FROM (\(sql.select))"
    ) { row throws(StoreFailure) in try row.integer(0) }
    return Int(rows.first ?? 0)
  }

  package func open(_ table: MovedTable, after skipped: Int) throws(StoreFailure) {
    reading?.statement.reset()
    (reading, unread) = (nil, [])
    if table == .imageContents {
      unread = try contents.ids.dropFirst(skipped)
      return
    }
    let (database, sql) = try find(table)
    let statement = try database.statement("\(sql.select) LIMIT -1 OFFSET ?")
    statement.reset()
    statement.bind(Int64(skipped), at: 1)
    reading = Reading(database: database, statement: statement, table: table)
  }

  package func next(_ limit: Int) throws(StoreFailure) -> [[MovedValue]] {
    guard let reading else {
      defer { unread = unread.dropFirst(limit) }
      return try contents.rows(unread.prefix(limit))
    }
    var rows: [[MovedValue]] = []
    while rows.count < limit {
      guard try reading.database.advance(reading.statement) else {
        reading.statement.reset()
        self.reading = nil
        break
      }
      rows.append(try reading.statement.row.moved(reading.table))
    }
    return rows
  }

  private var contents: MovedContents { MovedContents(directory: "\(place)/images") }

  package func add(_ rows: [[MovedValue]], to table: MovedTable) throws(StoreFailure) {
    guard table != .imageContents else { return try contents.add(rows) }
    let (database, sql) = try find(table)
    try database.transaction(write: true) { () throws(StoreFailure) in
      for (statement, column) in sql.names {
        // Swift's equality of texts is not that of their bytes.
        var stored: Set<[UInt8]> = []
        for row in rows {
          guard case .text(let text) = row[column], stored.insert(Array(text.utf8)).inserted else {
            continue
          }
          try database.run(statement, [.text(text)])
        }
      }
      for row in rows {
        let values = row.map { SQLValue($0) }
        for statement in sql.inserts {
          let count = try database.statement(statement).parameterCount
          try database.run(statement, Array(values.prefix(count)))
        }
      }
    }
  }
}
