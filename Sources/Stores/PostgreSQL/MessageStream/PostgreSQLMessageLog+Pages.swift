package import HoldfastCore
package import HoldfastMessageData

// These functions read pages of the log. A page and its head are read from one snapshot.
extension PostgreSQLMessageLog {
  package func head(of shop: ShopID) async throws(StoreFailure) -> ShopPosition {
    try await LogEnd(read([LogEnd.command(shop)])[0]).head
  }

  package func heads(of shops: [ShopID]) async throws(StoreFailure) -> [ShopPosition] {
    var heads: [ShopPosition] = []
    for row in try await read([LogEnd.command(shops)])[0] { heads.append(try LogEnd([row]).head) }
    return heads
  }

  package func shop(of id: MessageID) async throws(StoreFailure) -> ShopID? {
    let rows = try await read([
      Command(
        """
        SELECT s.shop FROM messages m JOIN shops s ON s.number = m.shop WHERE m.id = $1
        ORDER BY s.shop LIMIT 1
        """, [.uuid(id)])
    ])
    guard let row = rows[0].first else { return nil }
    guard let shop = ShopID(try row.text(0)) else { throw row.garbage(0, expected: "a shop id") }
    return shop
  }

  package func page(_ query: PageQuery, of shop: ShopID) async throws(StoreFailure) -> Page {
    let reading = LogReading(shop: shop)
    let rows = try await read([LogEnd.command(shop)] + reading.commands(of: query))
    let end = try LogEnd(rows[0])
    if var page = try reading.page(query, end, Array(rows.dropFirst())) {
      page.oldest = end.oldestPosition
      return page
    }
    // The position is unknown, so the answer is the newest page.
    let limit = query.limit
    let newest = try await read([
      LogEnd.command(shop), reading.messages(LogReading.newestFirst, limit: limit),
    ])
    let present = try LogEnd(newest[0])
    let found = try reading.messages(in: newest[1], present.epoch)
    return Page(
      messages: found.reversed(), hasNext: false, head: present.head, recovered: false,
      oldest: present.oldestPosition)
  }

  package func count(_ query: PageQuery, of shop: ShopID) async throws(StoreFailure) -> UInt64 {
    let reading = LogReading(shop: shop)
    let rows = try await read([LogEnd.command(shop)] + reading.counts(of: query))
    let end = try LogEnd(rows[0])
    var numbers: [UInt64] = []
    for rows in rows.dropFirst() { numbers.append(try rows.first?.optionalUnsigned(0) ?? 0) }
    switch query {
    case .page, .newest: return end.place.less(end.removed).less(numbers[0])
    case .since: return numbers[0]
    case .beforeID, .afterID:
      guard rows[3].first != nil else { return 0 }
      guard case .afterID = query else {
        return numbers[1].less(end.removed).less(numbers[0])
      }
      return end.place.less(max(numbers[1], end.removed)).less(numbers[0])
    case .before(let position, _) where position.isKnown(end.head):
      return numbers[1].less(end.removed).less(numbers[0])
    case .after(let position, _) where position.isKnown(end.head):
      return end.place.less(max(numbers[1], end.removed)).less(numbers[0])
    case .changes(let position, _) where end.goesOn(after: position):
      return end.place.less(max(numbers[1], end.removed)) + numbers[0]
    case .before, .after, .changes: return try await count(.page(number: 1, limit: 1), of: shop)
    }
  }
}

/// The end of a shop's log, with the epoch.
private struct LogEnd {
  let epoch: String
  /// The number of posts.
  let place: UInt64
  /// The number of posts that were removed with the beginning of the log.
  let removed: UInt64
  private let offset: UInt64
  private let oldest: UInt64

  var head: ShopPosition { ShopPosition(epoch: epoch, offset: offset) }

  /// The position of the oldest event that is kept; `nil` if none was removed.
  var oldestPosition: ShopPosition? {
    oldest > 1 ? ShopPosition(epoch: epoch, offset: oldest) : nil
  }

  /// Returns whether the log has all events after a position.
  func goesOn(after position: ShopPosition) -> Bool {
    position.isKnown(head) && position.offset >= oldest - 1
  }

  static func command(_ shop: ShopID) -> Command { command([shop]) }

  /// Returns the statement that reads the ends of shops, in the same order.
  static func command(_ shops: [ShopID]) -> Command {
    Command(
      """
      SELECT l.epoch, e."offset", e.place, c.changed, b.oldest, o.place
      FROM log l CROSS JOIN unnest($1) WITH ORDINALITY q(shop, place)
      LEFT JOIN shops s ON s.shop = q.shop
      LEFT JOIN log_beginnings b ON b.shop = s.number
      LEFT JOIN LATERAL (
        SELECT "offset", place FROM messages WHERE shop = s.number ORDER BY "offset" DESC LIMIT 1
      ) e ON true
      LEFT JOIN LATERAL (
        SELECT changed FROM messages WHERE shop = s.number AND changed IS NOT NULL
        ORDER BY changed DESC LIMIT 1
      ) c ON true
      LEFT JOIN LATERAL (
        SELECT place FROM messages
        WHERE b.oldest > 1 AND shop = b.shop AND "offset" >= b.oldest
        ORDER BY "offset" LIMIT 1
      ) o ON true
      ORDER BY q.place
      """, [.texts(shops.map(\.text))])
  }

  init(_ rows: [Row]) throws(StoreFailure) {
    guard let row = rows.first, rows.count == 1 else {
      throw .corrupt(detail: "The log contains no epoch. Restore the database from a backup.")
    }
    epoch = try row.text(0)
    offset = max(try row.optionalUnsigned(1) ?? 0, try row.optionalUnsigned(3) ?? 0)
    place = try row.optionalUnsigned(2) ?? 0
    oldest = max(1, try row.optionalUnsigned(4) ?? 1)
    removed = (try row.optionalUnsigned(5) ?? 1).less(1)
  }
}

/// One reading of a shop's log.
private struct LogReading {
  let shop: ShopID

  static let newestFirst = #"m.text IS NOT NULL AND \#(kept) ORDER BY m."offset" DESC"#
  private static let room = "(SELECT number FROM shops WHERE shop = $1)"
  /// The condition of rows whose posts are not before the oldest event that is kept. Others are kept
  /// for a later edit or deletion, and are on pages of changes alone.
  private static let kept = """
    m."offset" >= coalesce(
      (SELECT oldest FROM log_beginnings WHERE shop = \(room)), 1)
    """

  // MARK: Statements

  /// Returns the statement for the messages before or after an offset, the nearest first.
  private func messages(_ range: String, limit: Int, _ parameter: Parameter) -> Command {
    let order = range.hasPrefix("<") ? " DESC" : ""
    return messages(
      #"m.text IS NOT NULL AND \#(Self.kept) AND m."offset" \#(range) "#
        + #"ORDER BY m."offset"\#(order)"#, limit: limit, [parameter])
  }

  /// Returns the statements for a query. The position in it may turn out to be unknown.
  func commands(of query: PageQuery) -> [Command] {
    let limit = query.limit
    switch query {
    case .page(let number, _): return numbered(Self.newestFirst, number, limit)
    case .since(let time, let number, _):
      return numbered(
        "m.text IS NOT NULL AND \(Self.kept) AND m.created_at > $4 "
          + "ORDER BY m.created_at, m.id", number, limit,
        [.time(time)])
    case .after(let position, _):
      return [messages("> $4", limit: limit + 1, .offset(position.offset))]
    case .before(let position, _):
      return [messages("< $4", limit: limit + 1, .offset(position.offset))]
    case .beforeID(let id, _):
      return [messages("< \(Self.own("$4"))", limit: limit + 1, .uuid(id)), position(of: id)]
    case .afterID(let id, _):
      return [messages("> \(Self.own("$4"))", limit: limit + 1, .uuid(id)), position(of: id)]
    case .changes(let position, _):
      return [
        messages(
          #"m."offset" > $4 AND m.changed IS NULL ORDER BY m."offset""#, limit: limit + 1,
          [.offset(position.offset)]),
        messages("m.changed > $4 ORDER BY m.changed", limit: limit + 1, [.offset(position.offset)]),
      ]
    case .newest(let position, _):
      return numbered(Self.newestFirst, 1, limit) + [
        messages(
          #"m.changed > $4 AND (m."offset" <= $4 OR m.text IS NULL) ORDER BY m.changed"#,
          limit: 1_001, [.offset(position.offset)])
      ]
    }
  }

  private func numbered(
    _ rest: String, _ number: Int, _ limit: Int, _ values: [Parameter] = []
  ) -> [Command] {
    let (skipped, overflow) = (max(number, 1) - 1).multipliedReportingOverflow(by: limit)
    guard !overflow else { return [] }
    return [messages(rest, limit: limit + 1, skipping: skipped, values)]
  }

  func messages(
    _ rest: String, limit: Int, skipping skipped: Int = 0, _ values: [Parameter] = []
  ) -> Command {
    Command(
      "SELECT \(LogRow.columns) FROM messages m WHERE m.shop = \(Self.room) AND \(rest) "
        + "LIMIT $2 OFFSET $3",
      [.text(shop.text), .integer(Int64(limit)), .integer(Int64(skipped))] + values)
  }

  /// Returns the offset of a message as a subquery.
  private static func own(_ parameter: String) -> String {
    "(SELECT o.\"offset\" FROM messages o WHERE o.id = \(parameter) AND o.shop = \(room))"
  }

  private func position(of id: MessageID) -> Command {
    Command(
      "SELECT o.\"offset\" FROM messages o WHERE o.id = $2 AND o.shop = \(Self.room)",
      [.text(shop.text), .uuid(id)])
  }

  /// Returns the statements whose numbers make up the count for a query.
  func counts(of query: PageQuery) -> [Command] {
    func count(_ condition: String, _ values: [Parameter] = []) -> Command {
      Command(
        "SELECT count(*) FROM messages m WHERE m.shop = \(Self.room) AND \(condition)",
        [.text(shop.text)] + values)
    }
    /// Returns the number of posts up to an offset.
    func place(_ condition: String, _ values: [Parameter]) -> Command {
      Command(
        "SELECT m.place FROM messages m WHERE m.shop = \(Self.room) AND m.\"offset\" \(condition) "
          + "ORDER BY m.\"offset\" DESC LIMIT 1", [.text(shop.text)] + values)
    }
    let deleted = "m.text IS NULL AND \(Self.kept) AND m.\"offset\""
    switch query {
    case .page, .newest: return [count("m.text IS NULL AND \(Self.kept)")]
    case .since(let time, _, _):
      return [
        count("m.text IS NOT NULL AND \(Self.kept) AND m.created_at > $2", [.time(time)])
      ]
    case .after(let position, _):
      let value = [Parameter.offset(position.offset)]
      return [count("\(deleted) > $2", value), place("<= $2", value)]
    case .before(let position, _):
      let value = [Parameter.offset(position.offset)]
      return [count("\(deleted) < $2", value), place("< $2", value)]
    case .afterID(let id, _):
      return [
        count("\(deleted) > \(Self.own("$2"))", [.uuid(id)]),
        place("<= \(Self.own("$2"))", [.uuid(id)]), position(of: id),
      ]
    case .beforeID(let id, _):
      return [
        count("\(deleted) < \(Self.own("$2"))", [.uuid(id)]),
        place("< \(Self.own("$2"))", [.uuid(id)]), position(of: id),
      ]
    case .changes(let position, _):
      let value = [Parameter.offset(position.offset)]
      return [count("m.changed > $2 AND m.\"offset\" <= $2", value), place("<= $2", value)]
    }
  }

  // MARK: Results

  /// Returns the page; `nil` if the position in the query is unknown.
  func page(
    _ query: PageQuery, _ end: LogEnd, _ rows: [[Row]]
  ) throws(StoreFailure) -> Page? {
    let limit = query.limit
    let head = end.head
    switch query {
    case .page, .since: return try page(rows.first ?? [], limit, end)
    case .after(let position, _):
      return end.goesOn(after: position) ? try page(rows[0], limit, end) : nil
    case .before(let position, _):
      return position.isKnown(head) ? try page(rows[0], limit, end) : nil
    case .beforeID, .afterID:
      guard !rows[1].isEmpty else {
        return Page(messages: [], hasNext: false, head: head, recovered: false)
      }
      return try page(rows[0], limit, end).continued
    case .changes(let position, _):
      guard end.goesOn(after: position) else { return nil }
      let events = try events(in: rows[0], end.epoch) + events(in: rows[1], end.epoch)
      return .changes(
        events.sorted { $0.offset < $1.offset }, after: position, limit: limit, head: head)
    case .newest(let position, _):
      var page = try page(rows[0], limit, end)
      page.recovered = end.goesOn(after: position)
      if page.recovered { page.addChanges(try events(in: rows[1], end.epoch), after: position) }
      return page
    }
  }

  private func page(_ rows: [Row], _ limit: Int, _ end: LogEnd) throws(StoreFailure) -> Page {
    let found = try messages(in: rows, end.epoch)
    return Page(
      messages: Array(found.prefix(limit)), hasNext: found.count > limit, head: end.head)
  }

  func messages(in rows: [Row], _ epoch: String) throws(StoreFailure) -> [ShopMessage] {
    var messages: [ShopMessage] = []
    for row in rows {
      guard let message = try LogRow(row, shop: shop, epoch: epoch).message else {
        throw row.garbage(5, expected: "a text")
      }
      messages.append(message)
    }
    return messages
  }

  private func events(in rows: [Row], _ epoch: String) throws(StoreFailure) -> [ShopEvent] {
    var events: [ShopEvent] = []
    for row in rows { events.append(try LogRow(row, shop: shop, epoch: epoch).event) }
    return events
  }
}

extension PageQuery {
  /// The limit of the query, at least 0 and small enough to add 1.
  fileprivate var limit: Int {
    let limit =
      switch self {
      case .page(_, let limit), .since(_, _, let limit), .after(_, let limit),
        .before(_, let limit), .beforeID(_, let limit), .afterID(_, let limit),
        .changes(_, let limit), .newest(_, let limit):
        limit
      }
    return min(max(limit, 0), Int(Int32.max) - 1)
  }
}

extension Parameter {
  fileprivate static func offset(_ value: UInt64) -> Parameter { .integer(Int64(clamping: value)) }
}

extension UInt64 {
  /// Returns the difference, or 0 if it would be negative.
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
