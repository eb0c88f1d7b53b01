public import LinkRuntime
public import LinkWire

/// The relay's store in one SQLite file, `relay.sqlite`, apart from the messages: it can be deleted
/// at the price of pairing anew, and a backup of messages holds none of it.
///
/// A change that returned survives a power cut. What is deleted is overwritten in the file, and the
/// write-ahead log is emptied with it, and when the store is opened and closed.
public actor SQLiteRelayStore: RelayStore {
  private let executor = QueueExecutor(label: "holdfast.relay")
  private var tables: RelayTables?
  private var lock: FileLock?

  public nonisolated var unownedExecutor: UnownedSerialExecutor {
    unsafe executor.asUnownedSerialExecutor()
  }

  private init() {}

  /// Opens the store of a directory, which is made when missing; the file is its owner's (0600).
  ///
  /// - Parameters:
  ///   - name: The file's name without `.sqlite`.
  ///   - busyTimeout: How long to wait for a foreign program that uses the file.
  /// - Throws: `.locked` when another process has it, `.fromTheFuture`, `.corrupt`, `.denied`,
  ///   `.full`. A file that cannot be used is left as it is.
  public static func open(
    in directory: String, named name: String = "relay", busyTimeout: Duration = .seconds(2)
  ) async throws(StoreFailure) -> SQLiteRelayStore {
    let store = SQLiteRelayStore()
    try await store.connect(StoreFile(directory: directory, name: name), busyTimeout: busyTimeout)
    return store
  }

  private func connect(_ file: StoreFile, busyTimeout: Duration) throws(StoreFailure) {
    lock = try file.claim(for: .write)
    let database = try Database(
      path: file.path, access: .write, busyTimeout: busyTimeout, schema: RelayTables.schema)
    try database.execute("PRAGMA secure_delete = ON")
    try database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    tables = RelayTables(database: database)
  }

  public func kept() throws(StoreFailure) -> RelayKept {
    let tables = try connection()
    return try tables.database.transaction(write: false) { () throws(StoreFailure) in
      try tables.kept()
    }
  }

  public func apply(_ changes: [RelayChange]) throws(StoreFailure) {
    let tables = try connection()
    try tables.database.transaction(write: true) { () throws(StoreFailure) in
      for change in changes { try tables.apply(change) }
    }
    guard changes.contains(where: \.forgets) else { return }
    try tables.database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
  }

  public func check() throws(StoreFailure) { _ = try connection() }

  public func close() {
    try? tables?.database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    tables = nil
    lock = nil
  }

  private func connection() throws(StoreFailure) -> RelayTables {
    guard let tables else { throw .other(detail: "The relay's store is closed.") }
    return tables
  }
}

extension RelayChange {
  /// Whether it takes something away that must not be found in a file.
  fileprivate var forgets: Bool {
    switch self {
    case .endPhone, .endAccess, .endQuestion: true
    case .phone, .access, .question: false
    }
  }
}
