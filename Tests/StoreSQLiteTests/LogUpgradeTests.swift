import Foundation
import HoldfastCore
import HoldfastFeaturePorts
import HoldfastMessageData
import HoldfastTestKit
import Testing

@testable import HoldfastSQLiteStores

/// Tests of files of the backend's log whose tables have version 1, without edits and deletions.
@Suite struct LogUpgradeTests {
  private static let first = Schema(
    applicationID: 0x4846_6D6C,
    tables: """
      CREATE TABLE log(epoch TEXT NOT NULL) STRICT;
      INSERT INTO log VALUES ('e-1');
      CREATE TABLE messages(
        shop TEXT NOT NULL, offset INTEGER NOT NULL, \(ShopMessage.columnTypes), key BLOB,
        PRIMARY KEY (shop, offset), UNIQUE (shop, id)) STRICT;
      CREATE INDEX timeline ON messages(shop, created_at, id);
      CREATE UNIQUE INDEX keys ON messages(shop, user, key) WHERE key IS NOT NULL;
      """)

  private static func key(_ number: UInt64) -> UUID128? {
    number.isMultiple(of: 2) ? UUID128(high: 9, low: number) : nil
  }

  /// Writes a file of version 1 with `count` messages in each of two shops. Returns the messages of
  /// the first shop, with their positions.
  private static func write(_ count: UInt64, to scratch: Scratch) throws -> [ShopMessage] {
    try scratch.write([], to: "messages.sqlite")
    let database = try Database(
      path: scratch("messages.sqlite"), access: .write, busyTimeout: .zero, schema: first)
    var messages: [ShopMessage] = []
    for number in 1...count {
      for shop in [try Sample.shop("s"), try Sample.shop("t")] {
        var message = Sample.message(number, in: shop, text: "<secret \(number) of \(shop)>")
        if number > 1 { message.parent = UUID128(high: 7, low: 1) }
        try database.run(
          """
          INSERT INTO messages(shop, id, user, username, text, created_at, is_edited, parent,
            offset, key) VALUES (?, ?, ?, ?, ?, ?, 0, ?, ?, ?)
          """,
          [
            .text(shop.text), .uuid(message.id), .text(message.user), .text(message.username),
            .text(message.text), .time(message.createdAt), .uuid(message.parent),
            .integer(Int64(number)), .uuid(key(number)),
          ])
        message.position = ShopPosition(epoch: "e-1", offset: number)
        if shop.text == "s" { messages.append(message) }
      }
    }
    return messages
  }

  @Test func `a log of version 1 keeps its messages, positions and keys`() async throws {
    let scratch = try Scratch()
    let messages = try Self.write(5, to: scratch)
    let shop = try Sample.shop("s")
    let log = try await SQLiteMessageLog.open(in: scratch.path)
    #expect(try await log.head(of: shop) == messages.last?.position)
    let start = ShopPosition(epoch: "e-1", offset: 0)
    for query in [PageQuery.after(start, limit: 9), .changes(after: start, limit: 9)] {
      #expect(try await log.page(query, of: shop).messages == messages)
      #expect(try await log.count(query, of: shop) == 5)
    }
    let repeated = try await log.append(
      Sample.message(9, in: shop), idempotencyKey: Self.key(2))
    #expect(repeated == Appended(message: messages[1], isNew: false))
    let next = try await log.append(Sample.message(6, in: shop), idempotencyKey: nil)
    #expect(next.message.position == ShopPosition(epoch: "e-1", offset: 6))
    #expect(try await log.count(.page(number: 1, limit: 1), of: shop) == 6)
    await log.close()
    let again = try await SQLiteMessageLog.open(in: scratch.path)
    #expect(try await again.head(of: shop).offset == 6)
    await again.close()
  }

  @Test func `a message of version 1 can be deleted, and leaves all files`() async throws {
    let scratch = try Scratch()
    _ = try Self.write(300, to: scratch)
    let shop = try Sample.shop("s")
    let log = try await SQLiteMessageLog.open(in: scratch.path)
    for number in 1...300 as ClosedRange<UInt64> {
      let deletion = LogDeletion(
        id: UUID128(high: 7, low: number), shop: shop, by: LogActor(user: "user"))
      guard case .deleted(_, isNew: true) = try await log.append(.delete(deletion)) else {
        Issue.record("message \(number) was not deleted")
        return
      }
    }
    try await log.removeTraces()
    for name in try FileManager.default.contentsOfDirectory(atPath: scratch.path) {
      let text = String(decoding: try scratch.bytes(of: name), as: UTF8.self)
      #expect(!text.contains(" of s>"), "\(name)")
      #expect(text.contains("<secret 7 of t>") == (name == "messages.sqlite"), "\(name)")
    }
    let other = try await log.page(.page(number: 1, limit: 400), of: try Sample.shop("t"))
    #expect(other.messages.count == 300)
    await log.close()
  }

  @Test func `a log of version 2 keeps its messages, and takes images`() async throws {
    let scratch = try Scratch()
    let messages = try Self.write(2, to: scratch)
    do {
      let second = Schema(
        applicationID: 0x4846_6D6C, tables: "", upgrades: [LogTables.schema.upgrades[0]])
      let database = try Database(
        path: scratch("messages.sqlite"), access: .write, busyTimeout: .zero, schema: second)
      let tables = try database.query("SELECT count(*) FROM sqlite_schema WHERE name = 'images'") {
        row throws(StoreFailure) in try row.integer(0)
      }
      #expect(tables == [0])
    }
    let shop = try Sample.shop("s")
    let log = try await SQLiteMessageLog.open(in: scratch.path)
    #expect(try await log.page(.page(number: 1, limit: 9), of: shop).messages.count == 2)
    #expect(try await log.head(of: shop) == messages.last?.position)
    let image = StoredImage(
      id: UUID128(high: 8, low: 1), shop: shop, user: "user", type: .heic, size: 5,
      createdAt: Timestamp(nanoseconds: 1_000))
    #expect(try await log.addImage(image, atMost: 1))
    await log.close()
    let again = try await SQLiteMessageLog.open(in: scratch.path)
    #expect(try await again.image(image.id) == image)
    await again.close()
  }

  @Test func `a log of a later version is refused`() async throws {
    let scratch = try Scratch()
    await (try SQLiteMessageLog.open(in: scratch.path)).close()
    do {
      let database = try Database(
        path: scratch("messages.sqlite"), access: .write, busyTimeout: .zero,
        schema: LogTables.schema)
      try database.execute("PRAGMA user_version = 5")
    }
    let kind = try await failure { try await SQLiteMessageLog.open(in: scratch.path) }
    #expect(kind == .fromTheFuture(5, 4))
  }
}
