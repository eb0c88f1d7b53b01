package import HoldfastCore
import HoldfastMessageData

/// The SQL statements of the backend's log.
///
/// Each message has one row with its last version. `offset` is the position of its post, `changed`
/// that of its newest edit or deletion, and `place` its number among the posts of the shop. A deleted
/// message has no text, author or time. Its idempotency key remains, so that a repeated post is
/// recognized.
package final class LogTables: Tables {
  private static let tables = """
    CREATE TABLE shops(number INTEGER PRIMARY KEY, shop TEXT NOT NULL UNIQUE) STRICT;
    CREATE TABLE messages(
      shop INTEGER NOT NULL, offset INTEGER NOT NULL, place INTEGER NOT NULL, id BLOB NOT NULL,
      user TEXT, username TEXT, text TEXT, created_at INTEGER, updated_at INTEGER,
      is_edited INTEGER NOT NULL, parent BLOB, key BLOB, changed INTEGER) STRICT;
    CREATE TABLE edits(
      shop INTEGER NOT NULL, key BLOB NOT NULL, offset INTEGER NOT NULL, changed INTEGER NOT NULL,
      PRIMARY KEY (shop, key, offset)) STRICT, WITHOUT ROWID;
    """
  private static let indices = """
    CREATE UNIQUE INDEX offsets ON messages(shop, offset);
    CREATE UNIQUE INDEX ids ON messages(id, shop);
    CREATE INDEX timeline ON messages(shop, created_at, id);
    CREATE UNIQUE INDEX keys ON messages(shop, user, key) WHERE key IS NOT NULL;
    CREATE INDEX changes ON messages(shop, changed) WHERE changed IS NOT NULL;
    CREATE INDEX deletions ON messages(shop, offset) WHERE text IS NULL;
    CREATE INDEX edited ON edits(shop, offset);
    """

  static let schema = Schema(
    applicationID: 0x4846_6D6C,  // "HFml"
    tables: """
      CREATE TABLE log(epoch TEXT NOT NULL) STRICT;
      INSERT INTO log VALUES (lower(hex(randomblob(8))));
      \(tables)
      \(indices)
      \(images)
      \(retention)
      """, upgrades: [numbersShops, images, retention])

  /// The upgrade of a log without edits, deletions and numbers of shops. Its offsets have no holes.
  private static let numbersShops = """
    PRAGMA secure_delete = ON;
    DROP INDEX timeline;
    DROP INDEX keys;
    ALTER TABLE messages RENAME TO old_messages;
    \(tables)
    INSERT INTO shops(shop) SELECT DISTINCT shop FROM old_messages ORDER BY shop;
    INSERT INTO messages
      SELECT shops.number, offset, offset, id, user, username, text, created_at, updated_at,
        is_edited, parent, key, NULL
      FROM old_messages CROSS JOIN shops USING (shop) ORDER BY old_messages.rowid;
    DROP TABLE old_messages;
    \(indices)
    """

  package static let kind = StoreKind(
    name: "messages", schema: schema, settings: "PRAGMA secure_delete = ON")

  /// Requests that wait for the next commit.
  private struct Waiting {
    let requests: [LogRequest]
    let caller: CheckedContinuation<[Result<LogOutcome, StoreFailure>], Never>
  }

  /// The end of a shop's log.
  struct End {
    /// The offset of the newest event.
    var offset: UInt64
    /// The number of posts.
    var place: UInt64
  }

  package let database: Database
  private(set) var epoch: String
  private var waiting: [Waiting] = []
  private var numbers: [ShopID: Int64] = [:]
  /// The ends of logs that are known within a commit.
  private var ends: [Int64: End] = [:]
  /// Whether keys of removed posts are remembered; `nil` if that is unknown.
  var hasKeysOfRemoved: Bool?

  package init(_ database: Database) throws(StoreFailure) {
    self.database = database
    epoch = try Self.epoch(database)
    // If the last run was killed, its write-ahead log may contain texts that were deleted since.
    _ = database.shortenLog()
  }

  private static func epoch(_ database: Database) throws(StoreFailure) -> String {
    let found = try database.query("SELECT epoch FROM log") { row throws(StoreFailure) in
      try row.text(0)
    }
    guard let epoch = found.first, found.count == 1 else {
      throw .corrupt(detail: "The log contains no epoch. The file was left as it is.")
    }
    return epoch
  }

  package func forget() { (numbers, ends, hasKeysOfRemoved) = ([:], [:], nil) }

  /// Begins a new epoch for the same messages, so that earlier positions become unknown.
  func beginEpoch() throws(StoreFailure) {
    try database.run("UPDATE log SET epoch = lower(hex(randomblob(8)))")
    epoch = try Self.epoch(database)
  }

  // MARK: - Group commit

  /// Queues requests for the next commit. Returns the number of waiting callers.
  func wait(
    _ requests: [LogRequest],
    _ caller: CheckedContinuation<[Result<LogOutcome, StoreFailure>], Never>
  ) -> Int {
    waiting.append(Waiting(requests: requests, caller: caller))
    return waiting.count
  }

  /// Processes all waiting requests in one commit.
  package func finish() {
    let batch = waiting
    waiting = []
    guard !batch.isEmpty else { return }
    let results: [[Result<LogOutcome, StoreFailure>]]
    do throws(StoreFailure) {
      results = try change { tables throws(StoreFailure) in
        tables.ends = [:]
        var results: [[Result<LogOutcome, StoreFailure>]] = []
        for one in batch { results.append(try tables.append(one.requests)) }
        return results
      }
    } catch {
      results = batch.map { $0.requests.map { _ in .failure(error) } }
    }
    for (one, result) in zip(batch, results) { one.caller.resume(returning: result) }
  }

  // MARK: - Shops

  /// Returns a shop with its number, or `nil` if nothing was ever posted in it.
  func find(_ name: ShopID) throws(StoreFailure) -> LogShop? {
    if let known = numbers[name] { return LogShop(name: name, number: known) }
    let found = try database.query(
      "SELECT number FROM shops WHERE shop = ?", [.text(name.text)]
    ) { row throws(StoreFailure) in try row.integer(0) }
    if numbers.count > 20_000 { numbers = [:] }
    numbers[name] = found.first
    return found.first.map { LogShop(name: name, number: $0) }
  }

  /// Returns a shop with its number. Assigns one to a new shop.
  func enter(_ name: ShopID) throws(StoreFailure) -> LogShop {
    if let known = try find(name) { return known }
    try database.run("INSERT INTO shops(shop) VALUES (?)", [.text(name.text)])
    guard let shop = try find(name) else {
      throw .corrupt(detail: "A shop that was stored is missing.")
    }
    return shop
  }

  /// Returns the shop of a message, deleted or not.
  func shop(of id: MessageID) throws(StoreFailure) -> ShopID? {
    try database.query(
      """
      SELECT shops.shop FROM messages JOIN shops ON number = messages.shop WHERE id = ?
      ORDER BY shops.shop LIMIT 1
      """, [.uuid(id)]
    ) { row throws(StoreFailure) in try row.shop(0) }.first
  }

  // MARK: - Positions

  func position(_ offset: UInt64) -> ShopPosition { ShopPosition(epoch: epoch, offset: offset) }

  func head(of shop: ShopID) throws(StoreFailure) -> ShopPosition {
    guard let shop = try find(shop) else { return position(0) }
    return position(try readEnd(shop).offset)
  }

  func readEnd(_ shop: LogShop) throws(StoreFailure) -> End {
    let last = try database.query(
      "SELECT offset, place FROM messages WHERE shop = ? ORDER BY offset DESC LIMIT 1",
      [.integer(shop.number)]
    ) { row throws(StoreFailure) in End(offset: try row.unsigned(0), place: try row.unsigned(1)) }
    let changed = try database.query(
      "SELECT coalesce(max(changed), 0) FROM messages WHERE shop = ? AND changed IS NOT NULL",
      [.integer(shop.number)]
    ) { row throws(StoreFailure) in try row.unsigned(0) }
    var end = last.first ?? End(offset: 0, place: 0)
    end.offset = max(end.offset, changed.first ?? 0)
    return end
  }

  /// Returns the end of a shop's log within a commit.
  private func end(_ shop: LogShop) throws(StoreFailure) -> End {
    if let known = ends[shop.number] { return known }
    let end = try readEnd(shop)
    ends[shop.number] = end
    return end
  }

  // MARK: - Requests

  /// Processes requests in the given order.
  ///
  /// - Throws: A failure that aborts the whole transaction.
  func append(
    _ requests: [LogRequest]
  ) throws(StoreFailure) -> [Result<LogOutcome, StoreFailure>] {
    var results: [Result<LogOutcome, StoreFailure>] = []
    for request in requests {
      switch request {
      case .post(let entry): results.append(try post(entry))
      case .edit(let edit): results.append(.success(try self.edit(edit)))
      case .delete(let deletion): results.append(.success(try delete(deletion)))
      }
    }
    return results
  }

  private func post(
    _ entry: LogEntry
  ) throws(StoreFailure) -> Result<LogOutcome, StoreFailure> {
    let shop = try enter(entry.message.shop)
    if let key = entry.key, try isSpent(key, shop),
      let known = try refusal(of: entry, key, shop)
    {
      return .success(known)
    }
    var end = try end(shop)
    end = End(offset: end.offset + 1, place: end.place + 1)
    guard try insert(entry, shop, end) else {
      if let key = entry.key, let stored = try posted(key, by: entry.message.user, shop) {
        return .success(.posted(stored, isNew: false))
      }
      return .failure(.known(entry.message.id))
    }
    ends[shop.number] = end
    try claimImages(of: entry.message.text, by: entry.message.user, for: end.offset, shop)
    var stored = entry.message
    (stored.position, stored.changed) = (position(end.offset), nil)
    return .success(.posted(try withoutDeletedParent(stored, shop), isNew: true))
  }

  /// Returns whether a key is that of an edit, or of a deleted or removed message.
  private func isSpent(_ key: UUID128, _ shop: LogShop) throws(StoreFailure) -> Bool {
    if try isKeyOfRemoved(key, shop) { return true }
    return try !database.query(
      """
      SELECT 1 FROM edits WHERE shop = ?1 AND key = ?2 UNION ALL
      SELECT 1 FROM messages WHERE shop = ?1 AND user IS NULL AND key = ?2 LIMIT 1
      """, [.integer(shop.number), .uuid(key)]
    ) { row throws(StoreFailure) in try row.integer(0) }.isEmpty
  }

  /// Returns the result of a post whose key is that of an edit or of a deleted message; `nil` if the
  /// message can be added.
  private func refusal(
    of entry: LogEntry, _ key: UUID128, _ shop: LogShop
  ) throws(StoreFailure) -> LogOutcome? {
    if let stored = try posted(key, by: entry.message.user, shop) {
      return .posted(stored, isNew: false)
    }
    if try edit(with: key, by: entry.message.user, shop) != nil {
      return .refused(.keyUsedForAnother)
    }
    return try isKeyOfDeleted(key, shop) ? .refused(.deleted) : nil
  }

  private func isKeyOfDeleted(_ key: UUID128, _ shop: LogShop) throws(StoreFailure) -> Bool {
    if try isKeyOfRemoved(key, shop) { return true }
    return try !rows(shop, "user IS NULL AND key = ?2", [.uuid(key)]).isEmpty
  }

  /// Returns the message that a user posted with a key.
  private func posted(
    _ key: UUID128, by user: String, _ shop: LogShop
  ) throws(StoreFailure) -> ShopMessage? {
    try messages(shop, "user = ?2 AND key = ?3", [.text(user), .uuid(key)]).first
  }

  /// Returns the offsets of the message that a user edited with a key, and of the edit.
  private func edit(
    with key: UUID128, by user: String, _ shop: LogShop
  ) throws(StoreFailure) -> (message: UInt64, version: UInt64)? {
    try database.query(
      """
      SELECT edits.offset, edits.changed FROM edits JOIN messages USING (shop, offset)
      WHERE edits.shop = ? AND edits.key = ? AND user = ?
      """, [.integer(shop.number), .uuid(key), .text(user)]
    ) { row throws(StoreFailure) in
      (message: try row.unsigned(0), version: try row.unsigned(1))
    }.first
  }

  /// Adds a message. Returns false if its ID or its key already exists.
  private func insert(
    _ entry: LogEntry, _ shop: LogShop, _ end: End
  ) throws(StoreFailure) -> Bool {
    let statement = try database.statement(Self.insertion)
    statement.bind(shop.number, at: 1)
    statement.bind(Int64(bitPattern: end.offset), at: 2)
    statement.bind(Int64(bitPattern: end.place), at: 3)
    statement.bind(entry.key, at: 4)
    statement.bind(entry.message, from: 5)
    return try database.finish(statement) == 1
  }

  private static let insertion = """
    INSERT INTO messages(shop, offset, place, key, \(ShopMessage.columns))
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING
    """

  private func edit(_ edit: LogEdit) throws(StoreFailure) -> LogOutcome {
    guard let shop = try find(edit.shop), let row = try row(of: edit.id, shop) else {
      return .refused(.unknown)
    }
    guard case .message(let message) = row.content else { return .refused(.deleted) }
    guard message.user == edit.by.user else { return .refused(.notTheAuthor) }
    let present = try withoutDeletedParent(message, shop)
    if let key = edit.key {
      if let earlier = try self.edit(with: key, by: edit.by.user, shop) {
        let isNewest = row.changed ?? row.offset == earlier.version
        guard earlier.message == row.offset, !isNewest || message.text == edit.text else {
          return .refused(.keyUsedForAnother)
        }
        return .edited(present, isNew: false)
      }
      let post = try posted(key, by: edit.by.user, shop)
      let isOfDeleted = try isKeyOfDeleted(key, shop)
      if post != nil || isOfDeleted { return .refused(.keyUsedForAnother) }
    }
    guard !message.isTooOld(for: edit) else { return .refused(.tooLate) }
    guard message.text != edit.text else {
      try keep(edit.key, of: row.offset, version: row.changed ?? row.offset, shop)
      return .edited(present, isNew: false)
    }
    let changed = try nextChange(shop)
    let edited = present.edited(to: edit.text, at: edit.at, changed: changed)
    try database.run(
      """
      UPDATE messages SET text = ?3, updated_at = ?4, is_edited = 1, changed = ?5
      WHERE shop = ?1 AND offset = ?2
      """,
      [
        .integer(shop.number), .offset(row.offset), .text(edited.text), .time(edited.updatedAt),
        .offset(changed.offset),
      ])
    try keep(edit.key, of: row.offset, version: changed.offset, shop)
    try deleteImages(of: row.offset, without: edit.text, shop)
    try claimImages(of: edit.text, by: edit.by.user, for: row.offset, shop)
    return .edited(edited, isNew: true)
  }

  /// Stores the key of an edit, with the version of the message after it.
  private func keep(
    _ key: UUID128?, of message: UInt64, version: UInt64, _ shop: LogShop
  ) throws(StoreFailure) {
    guard let key else { return }
    try database.run(
      "INSERT INTO edits(shop, key, offset, changed) VALUES (?, ?, ?, ?)",
      [.integer(shop.number), .uuid(key), .offset(message), .offset(version)])
  }

  private func delete(_ request: LogDeletion) throws(StoreFailure) -> LogOutcome {
    guard let shop = try find(request.shop), let row = try row(of: request.id, shop) else {
      return .refused(.unknown)
    }
    switch row.content {
    case .deletion(let deletion): return .deleted(deletion, isNew: false)
    case .message(let message):
      guard request.by.isAdmin || message.user == request.by.user else {
        return .refused(.notTheAuthor)
      }
      let changed = try nextChange(shop)
      let which: [SQLValue] = [.integer(shop.number), .offset(row.offset)]
      try database.run(
        """
        UPDATE messages SET user = NULL, username = NULL, text = NULL, created_at = NULL,
          updated_at = NULL, is_edited = 0, parent = NULL, changed = ?3
        WHERE shop = ?1 AND offset = ?2
        """, which + [.offset(changed.offset)])
      try database.run("DELETE FROM edits WHERE shop = ? AND offset = ?", which)
      try deleteImages(of: row.offset, without: nil, shop)
      return .deleted(
        ShopDeletion(
          id: request.id, shop: request.shop, position: position(row.offset), changed: changed),
        isNew: true)
    }
  }

  /// Takes the next offset of a shop for an edit or a deletion.
  private func nextChange(_ shop: LogShop) throws(StoreFailure) -> ShopPosition {
    var end = try end(shop)
    end.offset += 1
    ends[shop.number] = end
    return position(end.offset)
  }
}
