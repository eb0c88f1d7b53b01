public import LinkRuntime
public import LinkWire

/// The backend's message log in one SQLite file, `messages.sqlite`.
///
/// An append that returned survives a power cut: the write-ahead log is synced at each commit, and
/// appends that wait together share one. The epoch is drawn at random when the file is made; a file
/// put back from a backup keeps it, so positions given out after the backup are then unknown or,
/// once the log grew past them, wrong, unless it is opened with `newEpoch`.
public actor SQLiteMessageLog: MessageLog {
  /// Appends that wait for the next commit.
  private struct Waiting {
    let entries: [LogEntry]
    let caller: CheckedContinuation<[Result<Appended, StoreFailure>], Never>
  }

  private let executor = QueueExecutor(label: "holdfast.messages")
  private var tables: LogTables?
  private var lock: FileLock?
  private var waiting: [Waiting] = []

  public nonisolated var unownedExecutor: UnownedSerialExecutor {
    unsafe executor.asUnownedSerialExecutor()
  }

  private init() {}

  /// Opens the log of a directory, which is made when missing.
  ///
  /// - Parameters:
  ///   - name: The file's name without `.sqlite`.
  ///   - access: `.write` holds an advisory lock on `name.lock`; `.read` works beside a writer.
  ///   - busyTimeout: How long to wait for a foreign program that uses the file.
  ///   - newEpoch: Whether a new epoch begins over the same messages, after a backup was put back.
  /// - Throws: `.locked` when another process writes, `.fromTheFuture`, `.corrupt`, `.denied`,
  ///   `.full`. A file that cannot be used is left as it is.
  public static func open(
    in directory: String, named name: String = "messages", access: StoreAccess = .write,
    busyTimeout: Duration = .seconds(2), newEpoch: Bool = false
  ) async throws(StoreFailure) -> SQLiteMessageLog {
    let log = SQLiteMessageLog()
    try await log.connect(
      StoreFile(directory: directory, name: name), access: access, busyTimeout: busyTimeout,
      newEpoch: newEpoch)
    return log
  }

  private func connect(
    _ file: StoreFile, access: StoreAccess, busyTimeout: Duration, newEpoch: Bool
  ) throws(StoreFailure) {
    lock = try file.claim(for: access)
    let database = try Database(
      path: file.path, access: access, busyTimeout: busyTimeout, schema: LogTables.schema)
    if newEpoch { try LogTables.beginEpoch(database) }
    tables = try LogTables(database)
  }

  public func append(_ entries: [LogEntry]) async -> [Result<Appended, StoreFailure>] {
    await withCheckedContinuation { caller in
      waiting.append(Waiting(entries: entries, caller: caller))
      // Others queue up behind these while the disk works; all of them go into the next commit.
      if waiting.count == 1 { Task { flush() } }
    }
  }

  public func page(_ query: PageQuery, of shop: ShopID) throws(StoreFailure) -> Page {
    let tables = try connection()
    return try tables.database.transaction(write: false) { () throws(StoreFailure) in
      try tables.page(query, of: shop)
    }
  }

  public func count(_ query: PageQuery, of shop: ShopID) throws(StoreFailure) -> UInt64 {
    let tables = try connection()
    return try tables.database.transaction(write: false) { () throws(StoreFailure) in
      try tables.count(query, of: shop)
    }
  }

  public func head(of shop: ShopID) throws(StoreFailure) -> Position {
    try connection().head(of: shop)
  }

  public func check() throws(StoreFailure) { _ = try connection() }

  public func close() {
    flush()
    tables = nil
    lock = nil
  }

  private func flush() {
    let batch = waiting
    waiting = []
    guard !batch.isEmpty else { return }
    let results: [[Result<Appended, StoreFailure>]]
    do {
      results = try store(batch)
    } catch {
      results = batch.map { $0.entries.map { _ in .failure(error) } }
    }
    for (request, result) in zip(batch, results) { request.caller.resume(returning: result) }
  }

  private func store(
    _ batch: [Waiting]
  ) throws(StoreFailure) -> [[Result<Appended, StoreFailure>]] {
    let tables = try connection()
    return try tables.database.transaction(write: true) { () throws(StoreFailure) in
      var results: [[Result<Appended, StoreFailure>]] = []
      for request in batch { results.append(try tables.append(request.entries)) }
      return results
    }
  }

  private func connection() throws(StoreFailure) -> LogTables {
    guard let tables else { throw .other(detail: "The message log is closed.") }
    return tables
  }
}
