import Foundation
import HoldfastCore
import HoldfastFeaturePorts
import HoldfastMessageData
import HoldfastTestKit
import Testing

@testable import HoldfastSQLiteStores

/// Property tests of the log in SQLite, with random posts, edits and deletions.
@Suite struct LogPropertyTests {
  /// Returns a page with the epoch of another log.
  private static func moved(_ page: Page, to epoch: String) throws -> Page {
    let text = String(decoding: try JSONEncoder().encode(page), as: UTF8.self)
    let moved = text.replacing(#""epoch":"memory""#, with: #""epoch":"\#(epoch)""#)
    return try JSONDecoder().decode(Page.self, from: Data(moved.utf8))
  }

  private static func moved(_ outcome: LogOutcome, to epoch: String) -> LogOutcome {
    func moved(_ message: ShopMessage) -> ShopMessage {
      var message = message
      message.position?.epoch = epoch
      message.changed?.epoch = epoch
      return message
    }
    switch outcome {
    case .posted(let message, let isNew): return .posted(moved(message), isNew: isNew)
    case .edited(let message, let isNew): return .edited(moved(message), isNew: isNew)
    case .deleted(var deletion, let isNew):
      (deletion.position.epoch, deletion.changed.epoch) = (epoch, epoch)
      return .deleted(deletion, isNew: isNew)
    case .refused: return outcome
    }
  }

  @Test(arguments: 1...12 as ClosedRange<UInt64>)
  func `the log in SQLite does what the log in memory does`(seed: UInt64) async throws {
    let scratch = try Scratch()
    let shops = [try Sample.shop("s"), try Sample.shop("t")]
    var random = RandomLog(seed: seed, shops: shops, lengths: [0, 1, 9, 40])
    var log = try await SQLiteMessageLog.open(in: scratch.path)
    let memory = MemoryMessageLog()
    let epoch = try await log.head(of: shops[0]).epoch
    for step in 0..<60 {
      let requests = (0..<random.generator.one([1, 1, 2, 9])).map { _ in random.request() }
      let found = await log.append(requests)
      let wanted = await memory.append(requests)
      for (index, request) in requests.enumerated() {
        let outcome = try? wanted[index].get()
        #expect(
          (try? found[index].get()) == outcome.map { Self.moved($0, to: epoch) }, "\(request)")
      }
      if step % 9 == 8 {
        try await Self.cut(log, memory, shops, step, &random.generator)
      }
      if step % 20 == 19 {
        await log.close()
        log = try await SQLiteMessageLog.open(in: scratch.path)
      } else if step % 7 == 6 {
        try await log.removeTraces()
      }
      for shop in shops {
        let head = try await memory.head(of: shop)
        #expect(try await log.head(of: shop).offset == head.offset)
        for _ in 0..<8 {
          let query = random.query(head)
          let page = try await log.page(Self.moved(query, to: epoch), of: shop)
          let memoryPage = try await memory.page(query, of: shop)
          #expect(try page == Self.moved(memoryPage, to: epoch), "\(query)")
          let count = try await log.count(Self.moved(query, to: epoch), of: shop)
          #expect(try await count == memory.count(query, of: shop), "\(query)")
        }
      }
    }
    await log.close()
  }

  /// Removes the beginning of a log in both places, and compares what they say about it.
  private static func cut(
    _ log: SQLiteMessageLog, _ memory: MemoryMessageLog, _ shops: [ShopID], _ step: Int,
    _ generator: inout RandomSource
  ) async throws {
    let shop = generator.one(shops)
    let head = try await memory.head(of: shop).offset
    let cut = LogCut(
      shop: shop, first: UInt64.random(in: 0...head + 2, using: &generator),
      now: Timestamp(nanoseconds: 0), keysSince: Timestamp(nanoseconds: .min))
    #expect(try await log.remove(cut) == memory.remove(cut), "\(cut)")
    #expect(
      try await log.extents(after: nil, limit: 9) == memory.extents(after: nil, limit: 9))
    for shop in shops {
      for (version, limit) in [(0, 100), (head / 2, 3)] as [(UInt64, Int)] {
        #expect(
          try await log.marks(of: shop, after: version, limit: limit)
            == memory.marks(of: shop, after: version, limit: limit))
      }
    }
  }

  private static func moved(_ query: PageQuery, to epoch: String) -> PageQuery {
    func moved(_ position: ShopPosition) -> ShopPosition {
      position.epoch == "memory"
        ? ShopPosition(epoch: epoch, offset: position.offset) : position
    }
    return switch query {
    case .after(let position, let limit): .after(moved(position), limit: limit)
    case .before(let position, let limit): .before(moved(position), limit: limit)
    case .changes(let position, let limit): .changes(after: moved(position), limit: limit)
    case .newest(let position, let limit): .newest(knowing: moved(position), limit: limit)
    case .page, .since, .beforeID, .afterID: query
    }
  }

  /// A client that keeps its messages by the pages of changes alone.
  @Test(arguments: [1, 3, 100])
  func `a client that follows the changes ends with what the log has`(limit: Int) async throws {
    let scratch = try Scratch()
    let shop = try Sample.shop()
    var random = RandomLog(seed: 7, shops: [shop], lengths: [9])
    let log = try await SQLiteMessageLog.open(in: scratch.path)
    var cursor = try await log.head(of: shop)
    var kept: [MessageID: ShopMessage] = [:]
    for _ in 0..<60 {
      _ = await log.append((0..<9).map { _ in random.request() })
      for _ in 0..<random.generator.one([0, 2, 100]) {
        let page = try await log.page(.changes(after: cursor, limit: limit), of: shop)
        #expect(page.messages.count + page.deleted.count <= limit)
        for message in page.messages { kept[message.id] = message }
        for deletion in page.deleted { kept[deletion.id] = nil }
        cursor = try #require(page.through)
        if !page.hasNext { break }
      }
    }
    while cursor != (try await log.head(of: shop)) {
      let page = try await log.page(.changes(after: cursor, limit: limit), of: shop)
      for message in page.messages { kept[message.id] = message }
      for deletion in page.deleted { kept[deletion.id] = nil }
      cursor = try #require(page.through)
    }
    let all = try await log.page(.page(number: 1, limit: 10_000), of: shop).messages
    // The loss of a parent is no event of its replies.
    func adult(_ message: ShopMessage) -> ShopMessage {
      var message = message
      message.parent = nil
      return message
    }
    #expect(Set(kept.values.map(adult)) == Set(all.map(adult)))
    #expect(kept.count == all.count)
  }

  @Test(arguments: [
    "user = x'00'", "user = NULL", "id = x'0011'", "id = 5", "text = x'FF'", "text = NULL",
    "created_at = 'never'", "created_at = NULL", "updated_at = x'00'", "is_edited = 2",
    "parent = 'p'", "username = 7", "changed = -5", "changed = 'x'", "offset = 0.5",
    "user = CAST(x'FF' AS TEXT)",
  ])
  func `a row with invalid values is reported as corrupt`(_ assignment: String) throws {
    // The tables have the same columns without types, as in a damaged file.
    let loose = Schema(
      applicationID: 1,
      tables: """
        CREATE TABLE log(epoch); INSERT INTO log VALUES ('e');
        CREATE TABLE shops(number INTEGER PRIMARY KEY, shop, oldest DEFAULT 1);
        CREATE TABLE removed_keys(shop, key, created_at);
        CREATE TABLE messages(
          shop, offset, place, id, user, username, text, created_at, updated_at, is_edited, parent,
          key, changed);
        CREATE TABLE edits(shop, key, offset, changed)
        """)
    let database = try Database(
      path: ":memory:", access: .write, busyTimeout: .zero, schema: loose)
    let tables = try LogTables(database)
    let shop = try Sample.shop()
    let message = Sample.message(1, in: shop)
    _ = try tables.append([.post(LogEntry(message: message, key: nil))])
    let query = PageQuery.page(number: 1, limit: 1)
    #expect(try tables.page(query, of: shop).messages.map(\.id) == [message.id])
    try database.execute("UPDATE messages SET \(assignment)")
    let error = #expect(throws: StoreFailure.self) {
      _ = try tables.page(query, of: shop)
      _ = try tables.append([
        .delete(LogDeletion(id: message.id, shop: shop, by: LogActor(user: "user")))
      ])
      _ = try tables.page(.changes(after: ShopPosition(epoch: "e", offset: 0), limit: 1), of: shop)
    }
    #expect(try FailureKind(#require(error)) == .corrupt)
  }
}
