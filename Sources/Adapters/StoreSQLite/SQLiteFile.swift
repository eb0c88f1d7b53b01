package import LinkCore
import LinkRuntime

/// What tells one kind of store file from the others.
package struct StoreKind: Sendable {
  /// The file's name without `.sqlite`.
  let name: String
  let schema: Schema
  /// More settings of a writer's connection, as SQL.
  var settings = ""
}

/// The tables of an open store file: statements, and what is remembered between them.
///
/// Used on the executor of one `SQLiteFile` only.
package protocol Tables {
  static var kind: StoreKind { get }

  var database: Database { get }

  init(_ database: Database) throws(StoreFailure)

  /// Forgets what a transaction that failed may have left in memory.
  func forget()

  /// Throws if the tables owe something that `Database.check` does not see.
  func check() throws(StoreFailure)

  /// Completes what waits, before the file is closed.
  func finish()
}

extension Tables {
  package func forget() {}

  package func check() throws(StoreFailure) {}

  package func finish() {}

  /// Carries out `body` completely or not at all. On a full disk it is carried out a second time if
  /// the write-ahead log could be made shorter.
  func change<Value>(
    _ body: (Self) throws(StoreFailure) -> Value
  ) throws(StoreFailure) -> Value {
    do {
      return try changeOnce(body)
    } catch {
      guard case .full = error, database.shortenLog() else { throw error }
      return try changeOnce(body)
    }
  }

  private func changeOnce<Value>(
    _ body: (Self) throws(StoreFailure) -> Value
  ) throws(StoreFailure) -> Value {
    do {
      return try database.transaction(write: true) { () throws(StoreFailure) in try body(self) }
    } catch {
      forget()
      throw error
    }
  }
}

/// A store in one SQLite file, with an advisory lock and a queue of its own.
///
/// Every write is one transaction. The file is for its owner only (0600), its directory too if it
/// is created here (0700). What the tables are for is in the conformances to the ports.
package actor SQLiteFile<T: Tables>: Store {
  private let executor = QueueExecutor(label: "holdfast.\(T.kind.name)")
  private(set) var tables: T?
  private var lock: FileLock?
  private var opening: Opening?
  private var isSuspended = false

  package nonisolated var unownedExecutor: UnownedSerialExecutor {
    unsafe executor.asUnownedSerialExecutor()
  }

  private init() {}

  /// Opens the store of a directory, which is created if it is missing.
  ///
  /// - Parameters:
  ///   - name: The file's name without `.sqlite`.
  ///   - access: `.write` holds an advisory lock on `name.lock`; `.read` works beside a writer.
  ///   - busyTimeout: How long to wait for a foreign program that uses the file.
  /// - Throws: `.locked` if another process writes, `.fromTheFuture`, `.corrupt`, `.denied`,
  ///   `.full`. A file that cannot be used is left as it is.
  package static func open(
    in directory: String, named name: String = T.kind.name, access: StoreAccess = .write,
    busyTimeout: Duration = .seconds(2)
  ) async throws(StoreFailure) -> SQLiteFile {
    let store = SQLiteFile()
    let file = StoreFile(directory: directory, name: name)
    try await store.connect(file, access: access, busyTimeout: busyTimeout)
    return store
  }

  /// Creates nothing, and throws `.denied` if there is no store.
  package static func expect(in directory: String) throws(StoreFailure) {
    _ = try StoreFile(directory: directory, name: T.kind.name).claim(for: .read)
  }

  private func connect(
    _ file: StoreFile, access: StoreAccess, busyTimeout: Duration
  ) throws(StoreFailure) {
    opening = Opening(file: file, access: access, busyTimeout: busyTimeout)
    lock = try file.claim(for: access)
    let kind = T.kind
    let database = try Database(
      path: file.path, access: access, busyTimeout: busyTimeout, schema: kind.schema)
    if access == .write {
      lock?.noteMade(true)
      // A store may choose otherwise for single commits.
      try database.setDurability(.powerCut)
      try database.execute(kind.settings)
    }
    tables = try T(database)
  }

  /// Reads one unchanging picture.
  func read<Value>(
    _ body: (T) throws(StoreFailure) -> Value
  ) throws(StoreFailure) -> Value {
    let tables = try opened()
    return try tables.database.transaction(write: false) { () throws(StoreFailure) in
      try body(tables)
    }
  }

  /// Carries out `body` completely or not at all.
  func write<Value>(
    _ body: (T) throws(StoreFailure) -> Value
  ) throws(StoreFailure) -> Value {
    try opened().change(body)
  }

  package func check() throws(StoreFailure) {
    let tables = try opened()
    try tables.database.check()
    try tables.check()
  }

  package func close() {
    release()
    isSuspended = false
    opening = nil
  }

  package func suspend() {
    guard tables != nil else { return }
    release()
    isSuspended = true
  }

  package func resume() throws(StoreFailure) {
    guard isSuspended, let opening else { return }
    do throws(StoreFailure) {
      try connect(opening.file, access: opening.access, busyTimeout: opening.busyTimeout)
    } catch {
      release()
      throw error
    }
    isSuspended = false
  }

  private func release() {
    tables?.finish()
    tables = nil
    lock = nil
  }

  private func opened() throws(StoreFailure) -> T {
    if isSuspended { throw .suspended }
    guard let tables else { throw .closed }
    return tables
  }
}

/// How a store was opened, to open it again.
private struct Opening {
  let file: StoreFile
  let access: StoreAccess
  let busyTimeout: Duration
}
