package import LinkCore
import LinkRuntime

/// The properties of one kind of store file.
package struct StoreKind: Sendable {
  /// The file's name without `.sqlite`.
  let name: String
  let schema: Schema
  /// Additional settings of a writer's connection, as SQL.
  var settings = ""
}

/// The tables of an open store file: statements, and the state cached between them.
///
/// Used only on the executor of one `SQLiteFile`.
package protocol Tables {
  static var kind: StoreKind { get }

  var database: Database { get }

  init(_ database: Database) throws(StoreFailure)

  /// Drops cached state that a failed transaction may have left in memory.
  func forget()

  /// Throws if the tables have a problem that `Database.check` does not detect.
  func check() throws(StoreFailure)

  /// Completes pending work before the file is closed.
  func finish()
}

extension Tables {
  package func forget() {}

  package func check() throws(StoreFailure) {}

  package func finish() {}

  /// Runs `body` completely or not at all. On a full disk, runs it a second time if the write-ahead
  /// log could be shortened.
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
/// Every write is one transaction. The file is accessible to its owner only (0600), and so is its
/// directory if it is created here (0700). The conformances to the ports contain the operations.
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

  /// Opens the store in a directory, which is created if it is missing.
  ///
  /// - Parameters:
  ///   - name: The file's name without `.sqlite`.
  ///   - access: `.write` takes an advisory lock on `name.lock`; `.read` works together with a
  ///     writer.
  ///   - busyTimeout: The longest wait for a foreign program that uses the file.
  /// - Throws: `.locked` if another process writes, `.fromTheFuture`, `.corrupt`, `.denied`,
  ///   `.full`. A file that cannot be used is left unchanged.
  package static func open(
    in directory: String, named name: String = T.kind.name, access: StoreAccess = .write,
    busyTimeout: Duration = .seconds(2)
  ) async throws(StoreFailure) -> SQLiteFile {
    let store = SQLiteFile()
    let file = StoreFile(directory: directory, name: name)
    try await store.connect(file, access: access, busyTimeout: busyTimeout)
    return store
  }

  /// Checks that a store exists without creating anything; throws `.denied` if there is none.
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
      // A store may change the durability for single commits.
      try database.setDurability(.powerCut)
      try database.execute(kind.settings)
    }
    tables = try T(database)
  }

  /// Reads one consistent snapshot.
  func read<Value>(
    _ body: (T) throws(StoreFailure) -> Value
  ) throws(StoreFailure) -> Value {
    let tables = try opened()
    return try tables.database.transaction(write: false) { () throws(StoreFailure) in
      try body(tables)
    }
  }

  /// Runs `body` completely or not at all.
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

/// The arguments with which a store was opened, to open it again.
private struct Opening {
  let file: StoreFile
  let access: StoreAccess
  let busyTimeout: Duration
}
