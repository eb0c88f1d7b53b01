public import LinkRuntime
public import LinkWire

/// The phone's timelines in one SQLite file, `timeline.sqlite`.
///
/// Every commit is one transaction, so cursor and messages never disagree. A commit survives the
/// end of the process; one that carries outbox entries also survives a power cut, since the user's
/// own words exist nowhere else, while messages are fetched again from the cursor that was lost
/// with them. The file is for its owner only (0600), the directory too when it is made here (0700).
public actor SQLiteTimelineStore: TimelineStore {
  private let executor = QueueExecutor(label: "holdfast.timeline")
  private var database: Database?
  private var lock: FileLock?
  /// How many ids gathered in their small table, once that is known.
  private var newIDs: Int?

  public nonisolated var unownedExecutor: UnownedSerialExecutor {
    unsafe executor.asUnownedSerialExecutor()
  }

  private init() {}

  /// Opens the store of a directory, which is made when missing.
  ///
  /// - Parameters:
  ///   - access: `.write` holds an advisory lock on `timeline.lock`; `.read` works beside a writer.
  ///   - busyTimeout: How long to wait for a foreign program that uses the file.
  /// - Throws: `.locked` when another process writes, `.fromTheFuture`, `.corrupt`, `.denied`,
  ///   `.full`. A file that cannot be used is left as it is.
  public static func open(
    in directory: String, access: StoreAccess = .write, busyTimeout: Duration = .seconds(2)
  ) async throws(StoreFailure) -> SQLiteTimelineStore {
    let store = SQLiteTimelineStore()
    try await store.connect(
      StoreFile(directory: directory, name: "timeline"), access: access, busyTimeout: busyTimeout)
    return store
  }

  /// Makes nothing, and throws `.denied` where no store is.
  public static func expect(in directory: String) throws(StoreFailure) {
    _ = try StoreFile(directory: directory, name: "timeline").claim(for: .read)
  }

  private func connect(
    _ file: StoreFile, access: StoreAccess, busyTimeout: Duration
  ) throws(StoreFailure) {
    lock = try file.claim(for: access)
    database = try Database(
      path: file.path, access: access, busyTimeout: busyTimeout, schema: TimelineTables.schema)
  }

  public func load(_ shop: ShopID, limit: Int) throws(StoreFailure) -> TimelineSnapshot {
    let tables = TimelineTables(database: try connection(), shop: shop)
    return try tables.database.transaction(write: false) { () throws(StoreFailure) in
      let wanted = limit.asLimit
      let found = try tables.newest(limit: wanted + 1)
      return TimelineSnapshot(
        messages: found.prefix(wanted).reversed(), hasOlder: found.count > wanted,
        cursor: try tables.cursor(), gaps: try tables.gaps(), outbox: try tables.outbox())
    }
  }

  public func commit(
    _ change: TimelineChange, to shop: ShopID
  ) throws(StoreFailure) -> TimelineCommit {
    let tables = TimelineTables(database: try connection(), shop: shop)
    guard change.messages.allSatisfy({ $0.shop == shop }),
      change.outboxPut.allSatisfy({ $0.shop == shop })
    else { throw .other(detail: "A change for the shop \(shop) holds something of another shop.") }
    let durability: Database.Durability = change.outboxPut.isEmpty ? .processEnd : .powerCut
    if tables.database.durability != durability { try tables.database.setDurability(durability) }
    // Unknown where the transaction fails.
    let newIDs = newIDs
    self.newIDs = nil
    let (result, gathered) = try tables.database.transaction(write: true) {
      () throws(StoreFailure) in
      let result = try store(change.messages, in: tables)
      let gathered = try settle(tables.database, newIDs, adding: result.inserted.count)
      if let cursor = change.cursor { try tables.set(cursor) }
      if let gaps = change.gaps { try tables.set(gaps) }
      for entry in change.outboxPut { try tables.put(entry) }
      for entry in change.outboxRemove { try tables.remove(entry) }
      return (result, gathered)
    }
    self.newIDs = gathered
    return result
  }

  public func older(
    than key: TimelineKey, in shop: ShopID, limit: Int
  ) throws(StoreFailure) -> [Message] {
    let tables = TimelineTables(database: try connection(), shop: shop)
    return try tables.newest(before: key, limit: limit.asLimit).reversed()
  }

  public func shops() throws(StoreFailure) -> [ShopID] {
    try connection().query(
      """
      SELECT shop FROM shops UNION SELECT shop FROM cursors UNION SELECT shop FROM gaps
      UNION SELECT shop FROM outbox ORDER BY shop
      """
    ) { row throws(StoreFailure) in try row.shop(0) }
  }

  public func check() throws(StoreFailure) { _ = try connection() }

  public func close() {
    database = nil
    lock = nil
  }

  private func connection() throws(StoreFailure) -> Database {
    guard let database else { throw .other(detail: "The timeline store is closed.") }
    return database
  }

  private func store(
    _ messages: [Message], in tables: TimelineTables
  ) throws(StoreFailure) -> TimelineCommit {
    guard !messages.isEmpty else { return TimelineCommit() }
    let insertion = try tables.insertion()
    var inserted: [TimelineKey] = []
    var edited: [MessageID] = []
    for message in messages {
      if try insertion.insert(message) {
        inserted.append(message.key)
      } else if try tables.edit(message), !inserted.contains(where: { $0.id == message.id }),
        !edited.contains(message.id)
      {
        edited.append(message.id)
      }
    }
    return TimelineCommit(inserted: inserted.sorted().map(\.id), edited: edited)
  }

  /// Keeps the small table of ids small; answers with how many are in it.
  private func settle(
    _ database: Database, _ known: Int?, adding count: Int
  ) throws(StoreFailure) -> Int? {
    guard count > 0 else { return known }
    let gathered: Int
    if let known {
      gathered = known + count
    } else {
      gathered = try TimelineTables.newIDs(database)
    }
    guard gathered >= TimelineTables.mostNewIDs else { return gathered }
    try TimelineTables.settle(database)
    return 0
  }
}
