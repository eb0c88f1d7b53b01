package import HoldfastCore
import HoldfastPorts

/// The properties of one kind of store file.
package struct StoreKind: Sendable {
  /// The name of the file without `.sqlite`.
  let name: String
  let schema: Schema
  /// Additional settings of a writer's connection, as SQL.
  var settings = ""
}

/// The tables of an open store file: their SQL statements, and state that is cached between them.
///
/// The tables are used only on the executor of one `SQLiteFile`.
package protocol Tables {
  static var kind: StoreKind { get }

  var database: Database { get }

  init(_ database: Database) throws(StoreFailure)

  /// Drops cached state that may be invalid after a failed transaction.
  func forget()

  /// Throws an error if the tables have a problem that `Database.check` does not detect.
  func check() throws(StoreFailure)

  /// Completes pending work before the file is closed.
  func finish()
}

extension Tables {
  package func forget() {}

  package func check() throws(StoreFailure) {}

  package func finish() {}

  /// Runs `body` in a transaction. All of its changes are stored, or none. If the disk is full,
  /// runs `body` again if the write-ahead log could be shortened.
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

/// A store in one SQLite file, with an advisory lock and a separate queue.
///
/// Each write is one transaction, except those of `writeTogether`, which share one. Only its owner
/// can access the file (0600), and also the directory if the store creates it (0700). The
/// conformances to the ports contain the operations.
package actor SQLiteFile<T: Tables>: SuspendableStore {
  private let executor = QueueExecutor(label: "holdfast.\(T.kind.name)")
  private(set) var tables: T?
  private var lock: FileLock?
  private var opening: Opening?
  private var isSuspended = false
  /// The writes that have not begun. If there are any, a task that runs them is waiting.
  private var waiting: [Waiting<T>] = []

  package nonisolated var unownedExecutor: UnownedSerialExecutor {
    unsafe executor.asUnownedSerialExecutor()
  }

  /// The directory of the file.
  package nonisolated let directory: String?

  private init(in directory: String) { self.directory = directory }

  /// Opens the store in a directory. Creates the directory if it does not exist.
  ///
  /// - Parameters:
  ///   - name: The name of the file without `.sqlite`.
  ///   - access: `.write` takes an advisory lock on `name.lock`. `.read` is possible while another
  ///     process writes.
  ///   - busyTimeout: The maximum time to wait for another program that uses the file.
  /// - Throws: `.locked` if another process writes, `.fromTheFuture`, `.corrupt`, `.denied` or
  ///   `.full`. A file that cannot be used is not changed.
  package static func open(
    in directory: String, named name: String = T.kind.name, access: StoreAccess = .write,
    busyTimeout: Duration = .seconds(2)
  ) async throws(StoreFailure) -> SQLiteFile {
    let file = StoreFile(directory: directory, name: name)
    let store = SQLiteFile(in: file.directory)
    try await store.connect(file, access: access, busyTimeout: busyTimeout)
    return store
  }

  /// Checks that a store exists, without creating anything.
  ///
  /// - Throws: `.denied` if it does not exist.
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

  /// Whether a process, which may be this one, has opened the store for writing.
  var hasWriter: Bool {
    lock != nil || opening.map { FileLock.isHeld($0.file.lockPath) } ?? false
  }

  /// Runs `body` with a consistent snapshot of the store.
  func read<Value>(
    _ body: (T) throws(StoreFailure) -> Value
  ) throws(StoreFailure) -> Value {
    let tables = try opened()
    return try tables.database.transaction(write: false) { () throws(StoreFailure) in
      try body(tables)
    }
  }

  /// Runs `body` in a transaction. All of its changes are stored, or none.
  func write<Value>(
    _ body: (T) throws(StoreFailure) -> Value
  ) throws(StoreFailure) -> Value {
    flush()
    return try opened().change(body)
  }

  /// The maximum number of writes in one transaction, so that the first of them does not wait long.
  private static var mostTogether: Int { 8 }
  /// The maximum size of writes in one transaction, unless one write alone is larger: a fourth of
  /// the size at which the write-ahead log is copied into the file.
  private static var mostBytesTogether: Int { 4 << 20 }

  /// Runs `body` in a transaction, together with other writes that are waiting.
  ///
  /// All of its changes are stored, or none. One sync of the disk then serves all these writes. If
  /// one of them fails, each runs in its own transaction.
  ///
  /// - Parameters:
  ///   - bytes: The approximate size of the changes.
  ///   - body: A function that changes nothing but the tables, since it may run several times.
  func writeTogether<Value: Sendable>(
    bytes: Int, _ body: @escaping (T) throws(StoreFailure) -> Value
  ) async throws(StoreFailure) -> Value {
    let result: Result<Value, StoreFailure> = await withCheckedContinuation { continuation in
      waiting.append(
        Waiting(bytes: bytes) { tables throws(StoreFailure) in
          let value = try body(tables)
          return { continuation.resume(returning: .success(value)) }
        } fail: {
          continuation.resume(returning: .failure($0))
        })
      if waiting.count == 1 { Task { flush() } }
    }
    return try result.get()
  }

  /// Runs all waiting writes. Later calls therefore do not overtake them.
  private func flush() {
    while !waiting.isEmpty {
      var bytes = 0
      let count = waiting.prefix(Self.mostTogether).prefix {
        bytes += $0.bytes
        return bytes <= Self.mostBytesTogether
      }.count
      let writes = Array(waiting.prefix(max(1, count)))
      waiting.removeFirst(writes.count)
      run(writes)
    }
  }

  /// Runs writes in one transaction, or each in its own if one of them fails.
  private func run(_ writes: [Waiting<T>]) {
    var hasBegun = false
    do throws(StoreFailure) {
      try commit(writes) { hasBegun = true }
    } catch {
      // Without a transaction, the cause concerns the store and not a write.
      guard hasBegun, writes.count > 1 else {
        for write in writes { write.fail(error) }
        return
      }
      for write in writes { run([write]) }
    }
  }

  /// Runs writes in one transaction, and then returns their values to the callers.
  private func commit(
    _ writes: [Waiting<T>], _ noteBegin: () -> Void
  ) throws(StoreFailure) {
    let ends = try opened().change { tables throws(StoreFailure) in
      noteBegin()
      var ends: [() -> Void] = []
      for write in writes { ends.append(try write.change(tables)) }
      return ends
    }
    for end in ends { end() }
  }

  package func check() throws(StoreFailure) {
    let tables = try opened()
    try tables.database.check()
    try tables.check()
  }

  package func close() {
    flush()
    release()
    isSuspended = false
    opening = nil
  }

  package func suspend() {
    flush()
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

/// A write that waits for a transaction.
private struct Waiting<T: Tables> {
  /// The approximate size of the changes in bytes.
  let bytes: Int
  /// Makes the changes. The result returns the value to the caller, after the commit.
  let change: (T) throws(StoreFailure) -> () -> Void
  let fail: (StoreFailure) -> Void
}

/// The arguments that a store was opened with, which are needed to open it again.
private struct Opening {
  let file: StoreFile
  let access: StoreAccess
  let busyTimeout: Duration
}
