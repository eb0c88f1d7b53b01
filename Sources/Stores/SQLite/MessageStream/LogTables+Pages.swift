import HoldfastCore
import HoldfastMessageData

// These functions read pages of the log. Deleted messages occur only in the pages of changes.
extension LogTables {
  func page(_ query: PageQuery, of shop: ShopID) throws(StoreFailure) -> Page {
    let head = try head(of: shop)
    guard let shop = try find(shop) else { return emptyPage(query, head) }
    let reading = Reading(tables: self, shop: shop, head: head, oldest: try oldest(of: shop))
    var page = try page(query, reading)
    if reading.oldest > 1 { page.oldest = position(reading.oldest) }
    return page
  }

  private func page(_ query: PageQuery, _ reading: Reading) throws(StoreFailure) -> Page {
    let (shop, head) = (reading.shop, reading.head)
    switch query {
    case .page(let number, let limit): return try reading.numbered(number, limit)
    case .since(let time, let number, let limit):
      return try reading.numbered(
        number, limit, "created_at > ?4 ORDER BY created_at, id", [.time(time)])
    case .after(let position, let limit):
      guard reading.goesOn(after: position) else { return try reading.newest(limit) }
      return try reading.beside("offset > ?2 ORDER BY offset", position.offset, limit)
    case .before(let position, let limit):
      guard position.isKnown(head) else { return try reading.newest(limit) }
      return try reading.beside("offset < ?2 ORDER BY offset DESC", position.offset, limit)
    case .beforeID(let id, let limit):
      guard let row = try row(of: id, shop) else { return unknownMessage(head) }
      return try reading.beside("offset < ?2 ORDER BY offset DESC", row.offset, limit).continued
    case .afterID(let id, let limit):
      guard let row = try row(of: id, shop) else { return unknownMessage(head) }
      return try reading.beside("offset > ?2 ORDER BY offset", row.offset, limit).continued
    case .changes(let position, let limit):
      guard reading.goesOn(after: position) else { return try reading.newest(limit) }
      let events = try reading.events(after: position.offset, limit.asLimit + 1)
      return .changes(events, after: position, limit: limit.asLimit, head: head)
    case .newest(let position, let limit):
      var page = try reading.numbered(1, limit)
      page.recovered = reading.goesOn(after: position)
      if page.recovered {
        // A client may have stored later messages, too, which arrived after a gap.
        let changes = try reading.changes(
          "(offset <= ?2 OR text IS NULL)", after: position.offset, limit: 1_001)
        page.addChanges(changes, after: position)
      }
      return page
    }
  }

  private func unknownMessage(_ head: ShopPosition) -> Page {
    Page(messages: [], hasNext: false, head: head, recovered: false)
  }

  /// Returns the page of a shop without events.
  private func emptyPage(_ query: PageQuery, _ head: ShopPosition) -> Page {
    var page = Page(messages: [], hasNext: false, head: head)
    switch query {
    case .page, .since: break
    case .after(let position, _), .before(let position, _): page.recovered = position.isKnown(head)
    case .beforeID, .afterID: page.recovered = false
    case .changes(let position, _):
      page.recovered = position.isKnown(head)
      if page.recovered { page.through = head }
    case .newest(let position, _):
      page.recovered = position.isKnown(head)
      if page.recovered { page.changesThrough = head }
    }
    return page
  }

  func count(_ query: PageQuery, of shop: ShopID) throws(StoreFailure) -> UInt64 {
    guard let shop = try find(shop) else { return 0 }
    let end = try readEnd(shop)
    let extent = Extent(shop: shop, end: end, oldest: try oldest(of: shop))
    let head = position(end.offset)
    switch query {
    case .page, .newest: return try count(extent, after: 0)
    case .since(let time, _, _):
      return try number(
        "SELECT count(*) FROM messages WHERE shop = ?1 AND \(Self.kept) AND created_at > ?2",
        [.integer(shop.number), .time(time)])
    case .after(let position, _):
      return try count(extent, after: position.isKnown(head) ? position.offset : 0)
    case .before(let position, _):
      guard position.isKnown(head) else { return try count(extent, after: 0) }
      return try count(extent, before: position.offset)
    case .beforeID(let id, _):
      guard let row = try row(of: id, shop) else { return 0 }
      return try count(extent, before: row.offset)
    case .afterID(let id, _):
      guard let row = try row(of: id, shop) else { return 0 }
      return try count(extent, after: row.offset)
    case .changes(let position, _):
      guard position.isKnown(head), position.offset >= extent.oldest - 1 else {
        return try count(extent, after: 0)
      }
      let changed = try number(
        """
        SELECT count(*) FROM messages WHERE shop = ?1 AND changed > ?2 AND offset <= ?2
        """, [.integer(shop.number), .offset(position.offset)])
      return try end.place.less(place(extent, at: position.offset)) + changed
    }
  }

  /// Returns the number of messages after an offset that were not deleted.
  private func count(_ extent: Extent, after offset: UInt64) throws(StoreFailure) -> UInt64 {
    let offset = max(offset, extent.oldest - 1)
    let deleted = try number(
      "SELECT count(*) FROM messages WHERE shop = ?1 AND offset > ?2 AND text IS NULL",
      [.integer(extent.shop.number), .offset(offset)])
    return try extent.end.place.less(place(extent, at: offset)).less(deleted)
  }

  /// Returns the number of messages before an offset that were not deleted.
  private func count(_ extent: Extent, before offset: UInt64) throws(StoreFailure) -> UInt64 {
    guard offset > extent.oldest else { return 0 }
    let deleted = try number(
      """
      SELECT count(*) FROM messages WHERE shop = ?1 AND \(Self.kept) AND offset < ?2
        AND text IS NULL
      """, [.integer(extent.shop.number), .offset(offset)])
    let removed = try place(extent, at: 0)
    return try place(extent, at: offset - 1).less(removed).less(deleted)
  }

  /// Returns the number of posts of a shop up to an offset, or up to the oldest event that is kept.
  private func place(_ extent: Extent, at offset: UInt64) throws(StoreFailure) -> UInt64 {
    let shop = SQLValue.integer(extent.shop.number)
    let last = try number(
      """
      SELECT place FROM messages WHERE shop = ?1 AND \(Self.kept) AND offset <= ?2
      ORDER BY offset DESC LIMIT 1
      """, [shop, .integer(Int64(clamping: offset))])
    guard last == 0, extent.oldest > 1 else { return last }
    return try number(
      "SELECT place FROM messages WHERE shop = ?1 AND \(Self.kept) ORDER BY offset LIMIT 1", [shop]
    ).less(1)
  }

  private func number(_ sql: String, _ values: [SQLValue]) throws(StoreFailure) -> UInt64 {
    try database.query(sql, values) { row throws(StoreFailure) in try row.unsigned(0) }.first ?? 0
  }

  // MARK: - Rows

  /// Returns the rows of a shop that a condition selects.
  func rows(
    _ shop: LogShop, _ rest: String, _ values: [SQLValue]
  ) throws(StoreFailure) -> [LogRow] {
    try database.query(
      "SELECT \(LogRow.columns) FROM messages WHERE shop = ?1 AND \(rest)",
      [.integer(shop.number)] + values
    ) { row throws(StoreFailure) in try LogRow(row, shop: shop.name, epoch: epoch) }
  }

  /// Returns the row of a message, deleted or not.
  func row(of id: MessageID, _ shop: LogShop) throws(StoreFailure) -> LogRow? {
    try rows(shop, "id = ?2", [.uuid(id)]).first
  }

  /// Returns the messages that a condition selects, in their present form. The condition must not
  /// select deleted messages.
  func messages(
    _ shop: LogShop, _ rest: String, _ values: [SQLValue]
  ) throws(StoreFailure) -> [ShopMessage] {
    var messages = try database.query(
      "SELECT \(LogRow.columns) FROM messages WHERE shop = ?1 AND \(rest)",
      [.integer(shop.number)] + values
    ) { row throws(StoreFailure) in
      try LogRow.message(row, shop: shop.name, epoch: epoch)
    }
    for index in messages.indices where messages[index].parent != nil {
      messages[index] = try withoutDeletedParent(messages[index], shop)
    }
    return messages
  }

  /// Returns a message without its parent if the parent was deleted.
  func withoutDeletedParent(
    _ message: ShopMessage, _ shop: LogShop
  ) throws(StoreFailure) -> ShopMessage {
    guard let parent = message.parent else { return message }
    let deleted = try database.query(
      "SELECT 1 FROM messages WHERE id = ? AND shop = ? AND text IS NULL",
      [.uuid(parent), .integer(shop.number)]
    ) { row throws(StoreFailure) in try row.integer(0) }
    guard !deleted.isEmpty else { return message }
    var orphan = message
    orphan.parent = nil
    return orphan
  }
}

/// The end of a shop's log, and the offset of the oldest event that is kept.
private struct Extent {
  let shop: LogShop
  let end: LogTables.End
  let oldest: UInt64
}

/// One reading of a shop's log, at a moment at which it has a certain head.
private struct Reading {
  let tables: LogTables
  let shop: LogShop
  let head: ShopPosition
  /// The offset of the oldest event that is kept.
  let oldest: UInt64

  private static let newestFirst = "text IS NOT NULL ORDER BY offset DESC"

  /// Returns whether the log has all events after a position.
  func goesOn(after position: ShopPosition) -> Bool {
    position.isKnown(head) && position.offset >= oldest - 1
  }

  /// Returns page `page` (counted from 1) of the messages that `condition` selects and orders.
  func numbered(
    _ page: Int, _ limit: Int, _ condition: String = newestFirst, _ values: [SQLValue] = []
  ) throws(StoreFailure) -> Page {
    let (skipped, overflow) = (max(page, 1) - 1).multipliedReportingOverflow(by: limit.asLimit)
    guard !overflow else { return Page(messages: [], hasNext: false, head: head) }
    let found = try tables.messages(
      shop, "\(LogTables.kept) AND \(condition) LIMIT ?2 OFFSET ?3",
      [.integer(limit.asLimit + 1), .integer(skipped)] + values)
    return self.page(found, limit)
  }

  /// Returns the messages on one side of an offset.
  func beside(
    _ condition: String, _ offset: UInt64, _ limit: Int
  ) throws(StoreFailure) -> Page {
    let found = try tables.messages(
      shop, "text IS NOT NULL AND \(LogTables.kept) AND \(condition) LIMIT ?3",
      [.offset(offset), .integer(limit.asLimit + 1)])
    return page(found, limit)
  }

  /// Returns the page for an unknown position, which contains the newest messages.
  func newest(_ limit: Int) throws(StoreFailure) -> Page {
    let found = try tables.messages(
      shop, "\(LogTables.kept) AND \(Self.newestFirst) LIMIT ?2", [.integer(limit.asLimit)])
    return Page(messages: found.reversed(), hasNext: false, head: head, recovered: false)
  }

  private func page(_ found: [ShopMessage], _ limit: Int) -> Page {
    Page(
      messages: Array(found.prefix(limit.asLimit)), hasNext: found.count > limit.asLimit,
      head: head)
  }

  // MARK: - Events

  /// Returns up to `limit` newest events that follow an offset, in order.
  func events(after offset: UInt64, _ limit: Int) throws(StoreFailure) -> [ShopEvent] {
    let posts = try events("offset > ?2 AND changed IS NULL ORDER BY offset", offset, limit)
    let changes = try changes("TRUE", after: offset, limit: limit)
    var (merged, index): ([ShopEvent], Int) = ([], 0)
    for post in posts {
      while index < changes.count, changes[index].offset < post.offset {
        merged.append(changes[index])
        index += 1
      }
      merged.append(post)
    }
    return Array((merged + changes[index...]).prefix(limit))
  }

  /// Returns up to `limit` of the newest edits and deletions that follow an offset, in order.
  func changes(
    _ condition: String, after offset: UInt64, limit: Int
  ) throws(StoreFailure) -> [ShopEvent] {
    try events("changed > ?2 AND \(condition) ORDER BY changed", offset, limit)
  }

  private func events(
    _ rest: String, _ offset: UInt64, _ limit: Int
  ) throws(StoreFailure) -> [ShopEvent] {
    let values: [SQLValue] = [.offset(offset), .integer(limit)]
    var events: [ShopEvent] = []
    for row in try tables.rows(shop, "\(rest) LIMIT ?3", values) {
      switch row.content {
      case .deletion(let deletion): events.append(.deleted(deletion))
      case .message(let message):
        let present = try tables.withoutDeletedParent(message, shop)
        events.append(row.changed == nil ? .posted(present) : .edited(present))
      }
    }
    return events
  }
}

extension LogTables {
  /// The condition of rows whose posts are not before the oldest event that is kept. Others are kept
  /// for a later edit or deletion, and are on pages of changes alone.
  fileprivate static let kept = "offset >= (SELECT oldest FROM shops WHERE number = ?1)"
}

extension UInt64 {
  /// Returns the difference, or 0 if it would be negative. In a damaged file, any count may be wrong.
  fileprivate func less(_ other: UInt64) -> UInt64 { self > other ? self - other : 0 }
}

extension ShopEvent {
  fileprivate var offset: UInt64 { position?.offset ?? 0 }
}

extension ShopPosition {
  /// Returns whether the log with this head assigned the position.
  fileprivate func isKnown(_ head: ShopPosition) -> Bool {
    epoch == head.epoch && offset <= head.offset
  }
}
