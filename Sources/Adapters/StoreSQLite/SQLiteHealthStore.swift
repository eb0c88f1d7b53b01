public import LinkHealth
public import LinkRuntime
public import LinkWire

/// The health samples of a person in one SQLite file, `health.sqlite`.
///
/// Each `add` is one transaction and survives the end of the process; a power cut may undo the
/// newest ones, each as a whole, and what they held can be imported again. The file is for its
/// owner only (0600), the directory too when it is made here (0700).
public actor SQLiteHealthStore: HealthStore {
  private let executor = QueueExecutor(label: "holdfast.health")
  private var tables: HealthTables?
  private var lock: FileLock?

  public nonisolated var unownedExecutor: UnownedSerialExecutor {
    unsafe executor.asUnownedSerialExecutor()
  }

  private init() {}

  /// Opens the store of a directory, which is made when missing.
  ///
  /// - Parameters:
  ///   - access: `.write` holds an advisory lock on `health.lock`; `.read` works beside a writer.
  ///   - busyTimeout: How long to wait for a foreign program that uses the file.
  /// - Throws: `.locked` when another process writes, `.fromTheFuture`, `.corrupt`, `.denied`,
  ///   `.full`. A file that cannot be used is left as it is.
  public static func open(
    in directory: String, access: StoreAccess = .write, busyTimeout: Duration = .seconds(2)
  ) async throws(StoreFailure) -> SQLiteHealthStore {
    let store = SQLiteHealthStore()
    try await store.connect(
      StoreFile(directory: directory, name: "health"), access: access, busyTimeout: busyTimeout)
    return store
  }

  private func connect(
    _ file: StoreFile, access: StoreAccess, busyTimeout: Duration
  ) throws(StoreFailure) {
    lock = try file.claim(for: access)
    let database = try Database(
      path: file.path, access: access, busyTimeout: busyTimeout, schema: HealthTables.schema)
    if access == .write {
      try database.setDurability(.processEnd)
      // 8 MiB hold the ends of many types at once.
      try database.execute("PRAGMA cache_size = -8192")
    }
    tables = HealthTables(database)
  }

  public func add(_ batch: HealthBatch) throws(StoreFailure) -> HealthAddition {
    let tables = try connection()
    do {
      return try tables.database.transaction(write: true) { () throws(StoreFailure) in
        try tables.add(batch)
      }
    } catch {
      tables.forget()
      throw error
    }
  }

  public func samples(
    _ query: HealthSampleQuery
  ) throws(StoreFailure) -> HealthSamplePage {
    let tables = try connection()
    return try tables.database.transaction(write: false) { () throws(StoreFailure) in
      try tables.page(query)
    }
  }

  public func summary() throws(StoreFailure) -> [HealthTypeSummary] {
    try connection().summary()
  }

  public func check() throws(StoreFailure) { _ = try connection() }

  public func close() {
    tables = nil
    lock = nil
  }

  private func connection() throws(StoreFailure) -> HealthTables {
    guard let tables else { throw .other(detail: "The health store is closed.") }
    return tables
  }
}

extension HealthTables {
  /// One page over all types of a query, from its place on.
  func page(_ query: HealthSampleQuery) throws(StoreFailure) -> HealthSamplePage {
    let wanted = max(1, query.limit.asLimit)
    guard query.from < query.to else { return HealthSamplePage(samples: []) }
    var samples: [HealthSample] = []
    var last: HealthSamplePlace?
    for type in query.typesLeft {
      let after = query.after.flatMap { $0.type == type ? $0 : nil }
      let found = try self.samples(
        type, query, after: after, limit: wanted - samples.count + 1)
      for (key, sample) in found {
        guard samples.count < wanted else {
          return HealthSamplePage(samples: samples, next: last ?? query.after)
        }
        samples.append(sample)
        last = HealthSamplePlace(type: type, start: sample.start, key: key)
      }
    }
    return HealthSamplePage(samples: samples)
  }
}
