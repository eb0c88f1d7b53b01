import Foundation
import HoldfastCore
import HoldfastMessageData
import HoldfastTestKit

@testable import HoldfastSQLiteStores

/// The properties of rows with arbitrary values in their columns, as in a damaged file.
enum RowProperty {
  private static let columns = """
    shop, id, user, username, text, created_at, updated_at, is_edited, parent, epoch, offset,
    changed_epoch, changed_offset
    """
  private static let loose = Schema(
    applicationID: 1,
    tables: """
      CREATE TABLE shops(number INTEGER PRIMARY KEY, shop);
      CREATE TABLE messages(\(columns));
      CREATE TABLE ids(shop, id, created_at);
      CREATE TABLE new_ids(shop, id, created_at);
      CREATE TABLE cursors(shop, epoch, offset, time, whole_at, base_offset);
      CREATE TABLE gaps(shop, place, after_time, after_id, before_time, before_id);
      CREATE TABLE outbox(shop, turn, id, text, parent, created_at, tries, failure, action, target,
        image_type, image_size, image_url, image_uploaded_at, UNIQUE (shop, id));
      """)

  static func check(_ bytes: [UInt8]) throws(Broken) {
    var choices = Choices(bytes)
    let rows: Rows
    do throws(StoreFailure) {
      if let kind = bytes.first, kind & 7 == 4 { return try readLog(&choices) }
      rows = try read(&choices)
    } catch {
      guard case .corrupt = error else { throw Broken("a bad row is corrupt, not \(error)") }
      return
    }
    try hold((try? written(rows)) == rows, "rows that were read can be written")
  }

  private static func read(_ choices: inout Choices) throws(StoreFailure) -> Rows {
    let tables = try tables(loose)
    let shop = SQLValue.text(Shop.id.text)
    switch choices.byte() & 3 {
    case 0:
      try insert(into: "shops", [.integer(1), shop], tables)
      try insert(into: "messages", [.integer(1)] + values(12, &choices), tables)
    case 1: try insert(into: "cursors", [shop] + values(5, &choices), tables)
    case 2: try insert(into: "gaps", [shop, .integer(0)] + values(4, &choices), tables)
    case _: try insert(into: "outbox", [shop, .integer(0)] + values(12, &choices), tables)
    }
    return try Rows(tables)
  }

  private static let looseLog = Schema(
    applicationID: 1,
    tables: """
      CREATE TABLE log(epoch); INSERT INTO log VALUES ('e');
      CREATE TABLE shops(number INTEGER PRIMARY KEY, shop, oldest DEFAULT 1);
      CREATE TABLE removed_keys(shop, key, created_at);
      CREATE TABLE messages(
        shop, offset, place, id, user, username, text, created_at, updated_at, is_edited, parent,
        key, changed);
      CREATE TABLE edits(shop, key, offset, changed);
      CREATE TABLE images(id PRIMARY KEY, shop, user, type, size, created_at, message)
      """)

  /// Reads two rows of the backend's log, and changes them.
  private static func readLog(_ choices: inout Choices) throws(StoreFailure) {
    _ = choices.byte()
    let database = try Database(
      path: ":memory:", access: .write, busyTimeout: .zero, schema: looseLog)
    let tables = try LogTables(database)
    try database.run("INSERT INTO shops(number, shop) VALUES (1, ?)", [.text(Shop.id.text)])
    let placeholders = Array(repeating: "?", count: 13).joined(separator: ", ")
    for _ in 0..<2 {
      try database.run(
        "INSERT INTO messages VALUES (\(placeholders))", [.integer(1)] + values(12, &choices))
    }
    let start = ShopPosition(epoch: "e", offset: 0)
    let queries: [PageQuery] = [
      .page(number: 1, limit: 9), .changes(after: start, limit: 9),
      .newest(knowing: start, limit: 9),
    ]
    for query in queries {
      let page = try tables.page(query, of: Shop.id)
      _ = try tables.count(query, of: Shop.id)
      let author = LogActor(user: page.messages.first?.user ?? "", isAdmin: true)
      for id in page.messages.map(\.id) + page.deleted.map(\.id) {
        let edit = LogEdit(
          id: id, shop: Shop.id, text: "x", at: Timestamp(nanoseconds: 1), by: author,
          key: UUID128(high: 1, low: 1))
        let deletion = LogDeletion(id: id, shop: Shop.id, by: author)
        _ = try tables.append([.edit(edit), .delete(deletion)])
      }
    }
  }

  private struct Rows: Equatable {
    var messages: [ShopMessage]
    var cursor: ShopCursor
    var gaps: [ShopGap]
    var outbox: [OutboxEntry]

    init(_ tables: TimelineTables) throws(StoreFailure) {
      messages = try tables.newest(limit: 10)
      cursor = try tables.cursor()
      gaps = try tables.gaps()
      outbox = try tables.outbox()
    }
  }

  /// Returns the rows after writing them to real tables and reading them back.
  private static func written(_ rows: Rows) throws(StoreFailure) -> Rows {
    let tables = try tables(TimelineTables.schema)
    let insertion = try tables.insertion()
    for message in rows.messages { _ = try insertion.insert(message) }
    try tables.set(rows.cursor)
    try tables.set(rows.gaps)
    for entry in rows.outbox { try tables.put(entry) }
    return try Rows(tables)
  }

  private static func tables(_ schema: Schema) throws(StoreFailure) -> TimelineTables {
    let database = try Database(
      path: ":memory:", access: .write, busyTimeout: .zero, schema: schema)
    return TimelineTables(database: database, shop: Shop.id)
  }

  private static func insert(
    into table: String, _ values: [SQLValue], _ tables: TimelineTables
  ) throws(StoreFailure) {
    let placeholders = values.map { _ in "?" }.joined(separator: ", ")
    try tables.database.run("INSERT INTO \(table) VALUES (\(placeholders))", values)
  }

  private static func values(_ count: Int, _ choices: inout Choices) -> [SQLValue] {
    (0..<count).map { _ in
      let kind = choices.byte()
      return switch kind & 7 {
      case 0: .null
      case 1: .integer(Int64(kind >> 3))
      case 2: .integer(Int64(bitPattern: choices.word()))
      case 3: .text(choices.text())
      case 4: .blob(choices.take(16))
      case _: .blob(choices.take(Int(kind >> 3)))
      }
    }
  }
}

/// The properties of database files that are damaged anywhere. An input is a list of offsets and
/// the bytes to write there.
enum StoreProperty {
  private static let timeline = whole("timeline.sqlite", TimelineTables.schema) { database in
    let tables = TimelineTables(database: database, shop: Shop.id)
    let insertion = try tables.insertion()
    for number in 1...12 {
      _ = try insertion.insert(message(UInt64(number)))
      if number == 6 { try TimelineTables.moveNewIDs(database) }
    }
    try tables.set(ShopCursor(time: Timestamp(nanoseconds: 5)))
    try tables.set([ShopGap(after: nil, before: message(1).key)])
    try tables.put(
      OutboxEntry(
        id: UUID128(high: 2, low: 2), shop: Shop.id, text: "to send",
        createdAt: Timestamp(nanoseconds: 9)))
  }
  private static let log = whole("messages.sqlite", LogTables.schema) { database in
    let tables = try LogTables(database)
    for number in 1...12 {
      let key = number % 2 == 0 ? nil : UUID128(high: 1, low: UInt64(number))
      _ = try tables.append([.post(LogEntry(message: message(UInt64(number)), key: key))])
    }
    _ = try tables.append([edit(3, key: 3), edit(4, key: 4), delete(4), delete(5)])
  }

  static func check(_ bytes: [UInt8]) throws(Broken) {
    var choices = Choices(bytes)
    let choice = choices.byte()
    var file = choice & 1 == 0 ? timeline : log
    while !choices.isEmpty {
      let index = Int(choices.byte()) << 8 | Int(choices.byte())
      file[index % file.count] = choices.byte()
    }
    guard let scratch = try? Scratch(), (try? scratch.write(file, to: "s")) != nil else { return }
    let access: StoreAccess = choice & 2 == 0 ? .read : .write
    do throws(StoreFailure) {
      if choice & 1 == 0 {
        try useTimeline(scratch("s"), access)
      } else {
        try useLog(scratch("s"), access)
      }
    } catch {
      // Any typed failure is a valid result. The file is kept so that a person can examine it.
    }
    guard access == .read else { return }
    try hold((try? scratch.bytes(of: "s")) == file, "reading changes no file")
  }

  private static func useTimeline(
    _ path: String, _ access: StoreAccess
  ) throws(StoreFailure) {
    let database = try Database(
      path: path, access: access, busyTimeout: .zero, schema: TimelineTables.schema)
    let tables = TimelineTables(database: database, shop: Shop.id)
    _ = try? tables.newest(limit: 100)
    _ = try? tables.cursor()
    _ = try? tables.gaps()
    _ = try? tables.outbox()
    guard access == .write else { return }
    try database.transaction(write: true) { () throws(StoreFailure) in
      _ = try tables.insertion().insert(message(20))
      try TimelineTables.moveNewIDs(database)
      try tables.set([])
    }
  }

  private static func useLog(_ path: String, _ access: StoreAccess) throws(StoreFailure) {
    let database = try Database(
      path: path, access: access, busyTimeout: .zero, schema: LogTables.schema)
    let tables = try LogTables(database)
    let position = ShopPosition(epoch: tables.epoch, offset: 5)
    for query in [
      .page(number: 1, limit: 5), .since(Timestamp(nanoseconds: 3), page: 1, limit: 100),
      .after(position, limit: 3), .before(position, limit: 3), .changes(after: position, limit: 9),
      .newest(knowing: position, limit: 3), .beforeID(message(5).id, limit: 3),
      .afterID(message(3).id, limit: 100),
    ] as [PageQuery] {
      _ = try? tables.page(query, of: Shop.id)
      _ = try? tables.count(query, of: Shop.id)
    }
    guard access == .write else { return }
    _ = try? tables.shop(of: message(5).id)
    _ = try database.transaction(write: true) { () throws(StoreFailure) in
      try tables.append([
        .post(LogEntry(message: message(20), key: UUID128(high: 1, low: 1))), edit(3, key: 9),
        edit(1, key: 3), delete(2), delete(4),
      ])
    }
  }

  private static func edit(_ number: UInt64, key: UInt64) -> LogRequest {
    .edit(
      LogEdit(
        id: message(number).id, shop: Shop.id, text: "edited", at: Timestamp(nanoseconds: 90),
        by: LogActor(user: "user"), key: UUID128(high: 2, low: key)))
  }

  private static func delete(_ number: UInt64) -> LogRequest {
    .delete(LogDeletion(id: message(number).id, shop: Shop.id, by: LogActor(user: "user")))
  }

  private static func message(_ number: UInt64) -> ShopMessage {
    ShopMessage(
      id: UUID128(high: 7, low: number), shop: Shop.id, user: "user", username: "User",
      text: "text", createdAt: Timestamp(nanoseconds: Int64(number)))
  }

  /// Returns the bytes of an intact file.
  private static func whole(
    _ name: String, _ schema: Schema, _ fill: (Database) throws -> Void
  ) -> [UInt8] {
    do {
      let scratch = try Scratch()
      try scratch.write([], to: name)
      let database = try Database(
        path: scratch(name), access: .write, busyTimeout: .zero, schema: schema)
      try fill(database)
      // This empties the write-ahead log and disables it.
      try database.execute("PRAGMA journal_mode = DELETE")
      return try scratch.bytes(of: name)
    } catch {
      preconditionFailure("a new file in a directory of our own can be written: \(error)")
    }
  }
}
