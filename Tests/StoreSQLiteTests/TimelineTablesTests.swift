import HoldfastCore
import HoldfastMessageData
import HoldfastTestKit
import Testing

@testable import HoldfastSQLiteStores

/// Tests of message ids, which are collected in the table `new_ids` and later moved to `ids`.
@Suite struct TimelineTablesTests {
  private struct Ids: Equatable {
    var new: UInt64
    var moved: UInt64
  }

  private static let most = UInt64(TimelineTables.mostNewIDs)

  @Test(arguments: [-1, 0, 1, 7])
  func `new ids are collected up to a limit and then moved`(_ beyond: Int) async throws {
    let count = UInt64(TimelineTables.mostNewIDs + beyond)
    let left = beyond < 0 ? count : 0
    let scratch = try Scratch()
    let shop = try Sample.shop()
    let store = try await SQLiteTimelineStore.open(in: scratch.path)
    let all = (1...count).map { Sample.message($0, in: shop) }
    // There are two commits, and the second commit must include the count of the first.
    _ = try await store.commit(TimelineChange(messages: Array(all.prefix(5_000))), to: shop)
    _ = try await store.commit(TimelineChange(messages: Array(all.dropFirst(5_000))), to: shop)
    let again = try await store.commit(TimelineChange(messages: all), to: shop)
    #expect(again == TimelineCommit())
    #expect(try await store.load(shop, limit: all.count).messages == all)
    await store.close()
    let database = try open(scratch, TimelineTables.schema)
    #expect(try ids(database) == Ids(new: left, moved: count - left))
  }

  @Test func `collected ids are counted after a reopen and after a failed commit`() async throws {
    let scratch = try Scratch()
    let shop = try Sample.shop()
    let all = (1...Self.most).map { Sample.message($0, in: shop) }
    let first = try await SQLiteTimelineStore.open(in: scratch.path)
    _ = try await first.commit(TimelineChange(messages: Array(all.prefix(5_000))), to: shop)
    await first.close()
    let store = try await SQLiteTimelineStore.open(in: scratch.path, busyTimeout: .zero)
    _ = try await store.commit(TimelineChange(messages: Array(all[5_000..<6_000])), to: shop)
    do {
      let other = try Database(
        path: scratch("timeline.sqlite"), access: .write, busyTimeout: .zero,
        schema: TimelineTables.schema)
      try other.execute("BEGIN IMMEDIATE")
      let rest = TimelineChange(messages: Array(all[6_000...]))
      #expect(try await failure { try await store.commit(rest, to: shop) } == .locked)
      try other.execute("ROLLBACK")
    }
    _ = try await store.commit(TimelineChange(messages: Array(all[6_000...])), to: shop)
    await store.close()
    #expect(try ids(open(scratch, TimelineTables.schema)) == Ids(new: 0, moved: Self.most))
  }

  @Test func `an id is known and its message editable whether the id is new or settled`() throws {
    let scratch = try Scratch()
    let shop = try Sample.shop()
    let database = try open(scratch, TimelineTables.schema)
    let tables = TimelineTables(database: database, shop: shop)
    let insertion = try tables.insertion()
    var messages = [Sample.message(1, in: shop), Sample.message(2, in: shop)]
    #expect(try insertion.insert(messages[0]))
    try TimelineTables.moveNewIDs(database)
    #expect(try insertion.insert(messages[1]))
    for index in messages.indices {
      #expect(try !insertion.insert(messages[index]))
      messages[index].text = "edited"
      messages[index].updatedAt = Timestamp(nanoseconds: 5_000)
      messages[index].isEdited = true
      #expect(try tables.edit(messages[index]))
      #expect(try !tables.edit(messages[index]))
    }
    #expect(try tables.newest(limit: 3) == messages.reversed())
    #expect(try ids(database) == Ids(new: 1, moved: 1))
  }

  @Test func `a value that cannot be bound fails its statement and no later one`() throws {
    let scratch = try Scratch()
    let database = try open(scratch, TimelineTables.schema)
    let statement = try database.statement("INSERT INTO shops(number, shop) VALUES (?, ?)")
    let bindings: [(Statement) -> Void] = [
      { $0.bind(1, at: 3) }, { $0.bind(1.5, at: 3) }, { $0.bind("text", at: 3) },
      { $0.bind(UUID128(high: 7, low: 1), at: 3) }, { $0.bindNothing(at: 3) },
    ]
    for bind in bindings {
      bind(statement)
      statement.bind(Int64(1), at: 1)
      statement.bind("a", at: 2)
      let error = try #require(throws: StoreFailure.self) { try database.finish(statement) }
      #expect("\(error)".contains("column index out of range (SQLite 25)"))
    }
    statement.bind(Int64(1), at: 1)
    statement.bind("a", at: 2)
    #expect(try database.finish(statement) == 1)
  }

  private func ids(_ database: Database) throws -> Ids {
    let found = try database.query(
      "SELECT (SELECT count(*) FROM new_ids), (SELECT count(*) FROM ids)"
    ) { row throws(StoreFailure) in
      Ids(new: try row.unsigned(0), moved: try row.unsigned(1))
    }
    return try #require(found.first)
  }

  private func open(_ scratch: Scratch, _ schema: Schema) throws(StoreFailure) -> Database {
    let file = StoreFile(directory: scratch.path, name: "timeline")
    _ = try file.claim(for: .write)
    return try Database(path: file.path, access: .write, busyTimeout: .zero, schema: schema)
  }
}
