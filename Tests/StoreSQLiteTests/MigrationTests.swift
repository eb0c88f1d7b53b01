import HoldfastTestKit
import LinkCore
import LinkRuntime
import LinkWire
import Testing

@testable import StoreSQLite

/// Timelines whose tables are of the first version.
@Suite struct MigrationTests {
  private static let first = Schema(
    applicationID: TimelineTables.schema.applicationID,
    steps: Array(TimelineTables.schema.steps.prefix(1)))

  @Test func `a store of the first version keeps everything, and grows on`() async throws {
    let scratch = try Scratch()
    let (shop, other) = (try Sample.shop("z"), try Sample.shop("a"))
    var edited = Sample.message(3, in: shop)
    (edited.updatedAt, edited.isEdited) = (Timestamp(nanoseconds: 9_000), true)
    edited.parent = UUID128(high: 7, low: 1)
    edited.position = Position(epoch: "e", offset: .max)
    let kept = [Sample.message(1, in: shop), Sample.message(2, in: shop), edited]
    let theirs = Sample.message(2, in: other, text: "theirs")
    do {
      let database = try open(scratch)
      for message in [kept[2], theirs, kept[0], kept[1]] { try database.insertOld(message) }
      try TimelineTables(database: database, shop: shop).set(Cursor(position: edited.position))
    }
    let error = await #expect(throws: StoreFailure.self) {
      try await SQLiteTimelineStore.open(in: scratch.path, access: .read)
    }
    #expect(
      error
        == .other(
          detail: "\(scratch.path)/timeline.sqlite has tables of version 1, not 3. Run "
            + "`holdfast stream` once, which brings them up to date."))
    let store = try await SQLiteTimelineStore.open(in: scratch.path)
    #expect(
      try await store.load(shop, limit: 9)
        == TimelineSnapshot(messages: kept, cursor: Cursor(position: edited.position)))
    #expect(try await store.load(other, limit: 9) == TimelineSnapshot(messages: [theirs]))
    #expect(try await store.shops() == [other, shop])
    let next = Sample.message(4, in: shop)
    let grown = try await store.commit(TimelineChange(messages: kept + [next]), to: shop)
    #expect(grown == TimelineCommit(inserted: [next.id]))
    #expect(try await store.load(shop, limit: 9).messages == kept + [next])
  }

  @Test func `a message that a broken index let in twice does not keep a store closed`()
    async throws
  {
    let scratch = try Scratch()
    let shop = try Sample.shop()
    let kept = [Sample.message(1, in: shop), Sample.message(2, in: shop)]
    do {
      let database = try open(scratch, loosened(["PRIMARY KEY (shop, id)": "CHECK (1)"]))
      for message in kept + kept { try database.insertOld(message) }
    }
    let store = try await SQLiteTimelineStore.open(in: scratch.path)
    #expect(try await store.load(shop, limit: 9) == TimelineSnapshot(messages: kept))
    #expect(try await store.commit(TimelineChange(messages: kept), to: shop) == TimelineCommit())
  }

  @Test func `a row that the new tables cannot take is corrupt, and nothing changes`() async throws
  {
    let scratch = try Scratch()
    let shop = try Sample.shop()
    do {
      let database = try open(scratch, loosened(["STRICT;": ";"]))
      try database.insertOld(Sample.message(1, in: shop))
      try database.execute("UPDATE messages SET created_at = 'never'")
    }
    let bytes = try scratch.bytes(of: "timeline.sqlite")
    let error = await #expect(throws: StoreFailure.self) {
      try await SQLiteTimelineStore.open(in: scratch.path)
    }
    guard case .corrupt(let detail) = error else { throw try #require(error) }
    #expect(detail.hasSuffix("The file was left as it is; move it away to begin anew."))
    #expect(try scratch.bytes(of: "timeline.sqlite") == bytes)
  }

  @Test func `a damaged page is corrupt and stays as it is`() async throws {
    let scratch = try Scratch()
    let shop = try Sample.shop()
    do {
      let database = try open(scratch)
      for number in 1...500 as ClosedRange<UInt64> {
        try database.insertOld(Sample.message(number, in: shop))
      }
    }
    var bytes = try scratch.bytes(of: "timeline.sqlite")
    for index in bytes.count - 4_096..<bytes.count { bytes[index] = 0xA5 }
    try scratch.write(bytes, to: "timeline.sqlite")
    #expect(try await failure { try await SQLiteTimelineStore.open(in: scratch.path) } == .corrupt)
    #expect(try scratch.bytes(of: "timeline.sqlite") == bytes)
  }

  @Test func `a full disk leaves the first version, and says how much room is needed`() throws {
    let scratch = try Scratch()
    let shop = try Sample.shop()
    let database = try open(scratch)
    for number in 1...500 as ClosedRange<UInt64> {
      try database.insertOld(
        Sample.message(number, in: shop, text: String(repeating: "x", count: 99)))
    }
    let pages = try number(database, "PRAGMA page_count")
    _ = try number(database, "PRAGMA max_page_count = \(pages + 9)")
    let error = try #require(throws: StoreFailure.self) {
      try TimelineTables.schema.migrate(database, from: 1)
    }
    guard case .full(let detail) = error else { throw error }
    #expect(
      detail.hasSuffix(
        "To bring its tables up to date takes up to three times the room of the file, 1 MB, "
          + "more where texts exceed 1,000 bytes."))
    #expect(try Self.first.inspect(database, path: "") == 1)
    #expect(try number(database, "SELECT count(*) FROM messages") == 500)
    try database.insertOld(Sample.message(501, in: shop))
    _ = try number(database, "PRAGMA max_page_count = 4000")
    try TimelineTables.schema.migrate(database, from: 1)
    let found = try TimelineTables(database: database, shop: shop).newest(limit: 999)
    #expect(found.map(\.id.low) == (1...501).reversed())
  }

  @Test func `an upgrade that fails at its end leaves the first version whole`() async throws {
    let scratch = try Scratch()
    let shop = try Sample.shop()
    let broken = Schema(
      applicationID: Self.first.applicationID,
      steps: TimelineTables.schema.steps + ["CREATE TABLE shops(again)"])
    do {
      let database = try open(scratch)
      try database.insertOld(Sample.message(1, in: shop))
    }
    let bytes = try scratch.bytes(of: "timeline.sqlite")
    let error = try #require(throws: StoreFailure.self) { try open(scratch, broken) }
    #expect(FailureKind(error) == .other)
    #expect(try scratch.bytes(of: "timeline.sqlite") == bytes)
    do {
      let database = try open(scratch)
      try database.insertOld(Sample.message(2, in: shop))
    }
    let store = try await SQLiteTimelineStore.open(in: scratch.path)
    #expect(
      try await store.load(shop, limit: 9).messages
        == [Sample.message(1, in: shop), Sample.message(2, in: shop)])
  }

  @Test(.timeLimit(.minutes(1)))
  func `fifty thousand messages in another order are brought up to date`() async throws {
    let scratch = try Scratch()
    let shop = try Sample.shop()
    let count: UInt64 = 50_000
    do {
      let database = try open(scratch)
      try database.transaction(write: true) { () throws(StoreFailure) in
        // Ids in another order than the times, as random ones are.
        for number in 1...count {
          var message = Sample.message(number, in: shop)
          message.id = UUID128(high: number &* 0x9E37_79B9_7F4A_7C15, low: number)
          try database.insertOld(message)
        }
      }
    }
    // It takes a tenth of a second; what takes the square of it exceeds the limit of a minute.
    let store = try await SQLiteTimelineStore.open(in: scratch.path)
    let kept = try await store.load(shop, limit: Int(count)).messages
    #expect(kept.map(\.id.low) == Array(1...count))
    #expect(try await store.commit(TimelineChange(messages: kept), to: shop) == TimelineCommit())
  }

  /// The first version with other words, as if damage had taken what they demand.
  private func loosened(_ words: [String: String]) -> Schema {
    var step = Self.first.steps[0]
    for (word, other) in words { step = step.replacing(word, with: other) }
    return Schema(applicationID: Self.first.applicationID, steps: [step])
  }

  private func number(_ database: Database, _ sql: String) throws -> Int64 {
    let found = try database.query(sql) { row throws(StoreFailure) in try row.integer(0) }
    return try #require(found.first)
  }

  private func open(
    _ scratch: Scratch, _ schema: Schema = MigrationTests.first
  ) throws(StoreFailure) -> Database {
    let file = StoreFile(directory: scratch.path, name: "timeline")
    _ = try file.claim(for: .write)
    return try Database(path: file.path, access: .write, busyTimeout: .zero, schema: schema)
  }
}

extension Database {
  /// As the first version did.
  fileprivate func insertOld(_ message: Message) throws(StoreFailure) {
    let offset = message.position.map { Int64(bitPattern: $0.offset) }
    try run(
      """
      INSERT INTO messages(shop, \(Message.columns), epoch, offset)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
      """,
      [.text(message.shop.text)] + message.values
        + [.text(message.position?.epoch), offset.map { .integer($0) } ?? .null])
  }
}
