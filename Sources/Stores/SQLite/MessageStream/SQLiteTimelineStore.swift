package import HoldfastCore
import HoldfastFeaturePorts
package import HoldfastMessageData

/// A phone's timelines in one SQLite file, `timeline.sqlite`.
///
/// Each commit is one transaction, so the cursor and the messages are always consistent. A commit
/// survives the end of the process. A commit with outbox entries also survives a power failure,
/// because the user's texts are stored nowhere else. Lost messages are fetched again from the older
/// cursor.
///
/// Deleted bytes are overwritten. After an edit or a deletion, the write-ahead log is copied and
/// truncated, so that the earlier text leaves it too.
package typealias SQLiteTimelineStore = SQLiteFile<TimelineFile>

/// The tables of all shops in a timeline file.
package final class TimelineFile: Tables {
  package static let kind = StoreKind(
    name: "timeline", schema: TimelineTables.schema, settings: "PRAGMA secure_delete = ON")

  package let database: Database
  /// The number of IDs in the small table; `nil` if it is not known yet.
  private var newIDs: Int?
  /// Whether the write-ahead log may contain texts that were edited or deleted since. A log that an
  /// earlier run left behind may.
  private var hasStaleLog: Bool
  private let version: Int

  package init(_ database: Database) throws(StoreFailure) {
    self.database = database
    hasStaleLog = database.hadLog
    let version = try database.query("PRAGMA user_version") { row throws(StoreFailure) in
      try row.integer(0)
    }
    self.version = Int(version.first ?? 0)
  }

  package func forget() { newIDs = nil }

  func commit(_ change: TimelineChange, to shop: ShopID) throws(StoreFailure) -> TimelineCommit {
    let tables = tables(of: shop)
    var counts = TimelineCounts()
    try delete(change.deletions, in: tables, &counts)
    for (range, kept) in zip(change.covered, change.keptIDs) {
      let others = try tables.others(in: range).filter { !kept.contains($0.id) }
      try delete(others.map { DeletedMessage(id: $0.id) }, in: tables, &counts)
    }
    var rewritten: [MessageID] = []
    for text in change.texts where try tables.edit(text) {
      counts.edit(text.id)
      rewritten.append(text.id)
    }
    try store(change.messages, in: tables, &counts)
    for message in change.edits where try tables.edit(message) { counts.edit(message.id) }
    try consumers(of: shop).add(counts)
    var commit = counts.commit
    for id in rewritten { commit.rewritten += try tables.message(id).map { [$0] } ?? [] }
    try moveNewIDs(adding: commit.inserted.count)
    if let cursor = change.cursor { try tables.set(cursor) }
    if let gaps = change.gaps { try tables.set(gaps) }
    for entry in change.outboxPut { try tables.put(entry) }
    for entry in change.outboxRemove { try tables.remove(entry) }
    return commit
  }

  /// Truncates the write-ahead log after a commit that made its content stale. If a reader holds the
  /// log, a later commit truncates it.
  ///
  /// The outbox may contain an edit of a message that was deleted.
  func shortenLog(after commit: TimelineCommit, of change: TimelineChange) {
    if !commit.edited.isEmpty || !commit.deleted.isEmpty { hasStaleLog = true }
    if !change.deletions.isEmpty, !change.outboxRemove.isEmpty { hasStaleLog = true }
    if hasStaleLog { hasStaleLog = !database.shortenLog() }
  }

  func tables(of shop: ShopID) -> TimelineTables {
    TimelineTables(database: database, shop: shop, version: version)
  }

  func consumers(of shop: ShopID) -> ConsumerTables {
    ConsumerTables(database: database, shop: shop, isCurrent: version > 1)
  }

  private func delete(
    _ deletions: [DeletedMessage], in tables: TimelineTables, _ counts: inout TimelineCounts
  ) throws(StoreFailure) {
    for deletion in deletions {
      guard let removed = try tables.remove(message: deletion.id) else { continue }
      counts.delete(removed.key, as: deletion)
      if removed.isNew, let count = newIDs { newIDs = count - 1 }
    }
  }

  private func store(
    _ messages: [ShopMessage], in tables: TimelineTables, _ counts: inout TimelineCounts
  ) throws(StoreFailure) {
    guard !messages.isEmpty else { return }
    let insertion = try tables.insertion()
    for message in messages {
      if try insertion.insert(message) {
        counts.insert(message.key)
      } else if try tables.edit(message) {
        counts.edit(message.id)
      }
    }
  }

  /// Moves the IDs to the large table once the small table contains too many.
  private func moveNewIDs(adding count: Int) throws(StoreFailure) {
    guard count > 0 else { return }
    let total: Int
    if let newIDs {
      total = newIDs + count
    } else {
      total = try TimelineTables.newIDs(database)
    }
    newIDs = total
    guard total >= TimelineTables.mostNewIDs else { return }
    try TimelineTables.moveNewIDs(database)
    newIDs = 0
  }
}

extension SQLiteFile: TimelineStore where T == TimelineFile {
  package func load(_ shop: ShopID, limit: Int) throws(StoreFailure) -> TimelineSnapshot {
    try read { file throws(StoreFailure) in
      let tables = file.tables(of: shop)
      let wanted = limit.asLimit
      let found = try tables.newest(limit: wanted + 1)
      return TimelineSnapshot(
        messages: found.prefix(wanted).reversed(), hasOlder: found.count > wanted,
        cursor: try tables.cursor(), gaps: try tables.gaps(), outbox: try tables.outbox())
    }
  }

  package func commit(
    _ change: TimelineChange, to shop: ShopID
  ) throws(StoreFailure) -> TimelineCommit {
    try change.requireOnly(shop)
    let durability: Database.Durability = change.outboxPut.isEmpty ? .processEnd : .powerCut
    if let database = tables?.database, database.durability != durability {
      try database.setDurability(durability)
    }
    let commit = try write { file throws(StoreFailure) in try file.commit(change, to: shop) }
    tables?.shortenLog(after: commit, of: change)
    return commit
  }

  package func older(
    than key: TimelineKey, in shop: ShopID, limit: Int
  ) throws(StoreFailure) -> [ShopMessage] {
    try read { file throws(StoreFailure) in
      let tables = file.tables(of: shop)
      return try tables.newest(before: key, limit: limit.asLimit).reversed()
    }
  }

  package func shops() throws(StoreFailure) -> [ShopID] {
    try read { file throws(StoreFailure) in try TimelineTables.shops(file.database) }
  }

  package func consumers(of shop: ShopID) throws(StoreFailure) -> [ConsumerState] {
    try read { file throws(StoreFailure) in try file.consumers(of: shop).consumers() }
  }

  package func addConsumer(
    _ name: ConsumerName, of shop: ShopID, from start: ConsumerStart
  ) throws(StoreFailure) {
    try write { file throws(StoreFailure) in
      try file.consumers(of: shop).add(name, from: start)
    }
  }

  package func deliveries(
    to name: ConsumerName, of shop: ShopID, after number: UInt64, limit: Int
  ) throws(StoreFailure) -> [ShopDelivery] {
    try read { file throws(StoreFailure) in
      try file.consumers(of: shop).deliveries(to: name, after: number, limit: limit)
    }
  }

  package func acknowledge(
    _ name: ConsumerName, of shop: ShopID, through number: UInt64
  ) throws(StoreFailure) {
    try write { file throws(StoreFailure) in
      try file.consumers(of: shop).acknowledge(name, through: number)
    }
  }

  package func removeConsumer(
    _ name: ConsumerName, of shop: ShopID
  ) throws(StoreFailure) -> Bool {
    try write { file throws(StoreFailure) in try file.consumers(of: shop).remove(name) }
  }
}
