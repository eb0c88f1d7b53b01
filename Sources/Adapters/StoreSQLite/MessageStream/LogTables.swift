package import HoldfastCore
import HoldfastStorage
import HoldfastWire

/// The SQL statements of the backend's log.
package final class LogTables: Tables {
  static let schema = Schema(
    applicationID: 0x4846_6D6C,  // "HFml"
    tables: """
      CREATE TABLE log(epoch TEXT NOT NULL) STRICT;
      INSERT INTO log VALUES (lower(hex(randomblob(8))));
      CREATE TABLE messages(
        shop TEXT NOT NULL, offset INTEGER NOT NULL, \(ShopMessage.columnTypes), key BLOB,
        PRIMARY KEY (shop, offset), UNIQUE (shop, id)) STRICT;
      CREATE INDEX timeline ON messages(shop, created_at, id);
      CREATE UNIQUE INDEX keys ON messages(shop, user, key) WHERE key IS NOT NULL;
      """)

  package static let kind = StoreKind(name: "messages", schema: schema)

  /// An append that waits for the next commit.
  private struct Waiting {
    let entries: [LogEntry]
    let caller: CheckedContinuation<[Result<Appended, StoreFailure>], Never>
  }

  package let database: Database
  private(set) var epoch: String
  private var waiting: [Waiting] = []

  package init(_ database: Database) throws(StoreFailure) {
    self.database = database
    epoch = try Self.epoch(database)
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

  /// Begins a new epoch for the same messages, so that earlier positions become unknown.
  func beginEpoch() throws(StoreFailure) {
    try database.run("UPDATE log SET epoch = lower(hex(randomblob(8)))")
    epoch = try Self.epoch(database)
  }

  // MARK: Group commit

  /// Queues an append for the next commit. Returns the number of waiting callers.
  func wait(
    _ entries: [LogEntry],
    _ caller: CheckedContinuation<[Result<Appended, StoreFailure>], Never>
  ) -> Int {
    waiting.append(Waiting(entries: entries, caller: caller))
    return waiting.count
  }

  /// Stores all waiting appends in one commit.
  package func finish() {
    let batch = waiting
    waiting = []
    guard !batch.isEmpty else { return }
    let results: [[Result<Appended, StoreFailure>]]
    do throws(StoreFailure) {
      results = try change { tables throws(StoreFailure) in
        var results: [[Result<Appended, StoreFailure>]] = []
        for request in batch { results.append(try tables.append(request.entries)) }
        return results
      }
    } catch {
      results = batch.map { $0.entries.map { _ in .failure(error) } }
    }
    for (request, result) in zip(batch, results) { request.caller.resume(returning: result) }
  }

  // MARK: Statements

  func head(of shop: ShopID) throws(StoreFailure) -> ShopPosition {
    let found = try database.query(
      "SELECT coalesce(max(offset), 0) FROM messages WHERE shop = ?", [.text(shop.text)]
    ) { row throws(StoreFailure) in try row.unsigned(0) }
    return ShopPosition(epoch: epoch, offset: found.first ?? 0)
  }

  /// Stores messages in the given order.
  ///
  /// - Throws: A failure that aborts the whole transaction.
  func append(
    _ entries: [LogEntry]
  ) throws(StoreFailure) -> [Result<Appended, StoreFailure>] {
    var results: [Result<Appended, StoreFailure>] = []
    for entry in entries { results.append(try append(entry.message, key: entry.key)) }
    return results
  }

  /// Stores a message at the next offset, or returns the message that was stored earlier with the
  /// key.
  ///
  /// The result is `.other` if the shop has a different message with this ID.
  ///
  /// - Throws: A failure that aborts the whole transaction.
  func append(
    _ message: ShopMessage, key: UUID128?
  ) throws(StoreFailure) -> Result<Appended, StoreFailure> {
    if let key {
      let known = try select(
        message.shop, "user = ?2 AND key = ?3", [.text(message.user), .uuid(key)])
      if let stored = known.first { return .success(Appended(message: stored, isNew: false)) }
    }
    guard try select(message.shop, "id = ?2", [.uuid(message.id)]).isEmpty else {
      return .failure(.known(message.id))
    }
    var stored = message
    let offset = try head(of: message.shop).offset + 1
    stored.position = ShopPosition(epoch: epoch, offset: offset)
    try database.run(
      """
      INSERT INTO messages(shop, \(ShopMessage.columns), offset, key)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
      """,
      [.text(message.shop.text)] + message.values
        + [.integer(Int64(bitPattern: offset)), .uuid(key)])
    return .success(Appended(message: stored, isNew: true))
  }

  func page(_ query: PageQuery, of shop: ShopID) throws(StoreFailure) -> Page {
    let head = try head(of: shop)
    switch query {
    case .page(let number, let limit):
      return try numbered(shop, "TRUE ORDER BY offset DESC", [], number, limit, head)
    case .since(let time, let number, let limit):
      return try numbered(
        shop, "created_at > ?4 ORDER BY created_at, id", [.time(time)], number, limit, head)
    case .after(let position, let limit):
      guard knows(position, head) else { return try newest(of: shop, limit, head) }
      return try beside(shop, "offset > ?2 ORDER BY offset", position, limit, head)
    case .before(let position, let limit):
      guard knows(position, head) else { return try newest(of: shop, limit, head) }
      return try beside(shop, "offset < ?2 ORDER BY offset DESC", position, limit, head)
    }
  }

  func count(_ query: PageQuery, of shop: ShopID) throws(StoreFailure) -> UInt64 {
    let head = try head(of: shop)
    switch query {
    case .page: return head.offset
    case .since(let time, _, _):
      let found = try database.query(
        "SELECT count(*) FROM messages WHERE shop = ? AND created_at > ?",
        [.text(shop.text), .time(time)]
      ) { row throws(StoreFailure) in try row.unsigned(0) }
      return found.first ?? 0
    case .after(let position, _):
      return knows(position, head) ? head.offset - position.offset : head.offset
    case .before(let position, _):
      return knows(position, head) ? max(position.offset, 1) - 1 : head.offset
    }
  }

  /// Returns whether this log assigned a position.
  private func knows(_ position: ShopPosition, _ head: ShopPosition) -> Bool {
    position.epoch == head.epoch && position.offset <= head.offset
  }

  /// Returns page `number` (counted from 1) of the messages that `condition` selects and orders.
  private func numbered(
    _ shop: ShopID, _ condition: String, _ values: [SQLValue], _ number: Int, _ limit: Int,
    _ head: ShopPosition
  ) throws(StoreFailure) -> Page {
    let (skipped, overflow) = (max(number, 1) - 1).multipliedReportingOverflow(by: limit.asLimit)
    guard !overflow else { return Page(messages: [], hasNext: false, head: head) }
    let found = try select(
      shop, "\(condition) LIMIT ?2 OFFSET ?3",
      [.integer(limit.asLimit + 1), .integer(skipped)] + values)
    return page(found, limit, head)
  }

  private func beside(
    _ shop: ShopID, _ condition: String, _ position: ShopPosition, _ limit: Int,
    _ head: ShopPosition
  ) throws(StoreFailure) -> Page {
    let found = try select(
      shop, "\(condition) LIMIT ?3",
      [.integer(Int64(bitPattern: position.offset)), .integer(limit.asLimit + 1)])
    return page(found, limit, head)
  }

  private func page(_ found: [ShopMessage], _ limit: Int, _ head: ShopPosition) -> Page {
    Page(
      messages: Array(found.prefix(limit.asLimit)), hasNext: found.count > limit.asLimit,
      head: head)
  }

  /// Returns the page for an unknown position, which contains the newest messages.
  private func newest(of shop: ShopID, _ limit: Int, _ head: ShopPosition) throws(StoreFailure)
    -> Page
  {
    let found = try select(
      shop, "TRUE ORDER BY offset DESC LIMIT ?2", [.integer(limit.asLimit)])
    return Page(messages: found.reversed(), hasNext: false, head: head, recovered: false)
  }

  private func select(
    _ shop: ShopID, _ rest: String, _ values: [SQLValue]
  ) throws(StoreFailure) -> [ShopMessage] {
    try database.query(
      "SELECT \(ShopMessage.columns), offset FROM messages WHERE shop = ?1 AND \(rest)",
      [.text(shop.text)] + values
    ) { row throws(StoreFailure) in
      var message = try ShopMessage(row, shop: shop)
      message.position = ShopPosition(epoch: epoch, offset: try row.unsigned(8))
      return message
    }
  }
}
