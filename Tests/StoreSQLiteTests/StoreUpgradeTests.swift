import HoldfastCore
import HoldfastFeaturePorts
import HoldfastHealthSamples
import HoldfastMessageData
import HoldfastTestKit
import Testing

@testable import HoldfastSQLiteStores

/// Tests of files whose tables have version 1, which had no table of sources.
@Suite struct StoreUpgradeTests {
  private static func sample(_ start: Int64, source: String) -> HealthSample {
    HealthSample(
      type: "t", value: .quantity(1), unit: "count", start: Timestamp(nanoseconds: start),
      end: Timestamp(nanoseconds: start), source: source)
  }

  /// Brings a file back to version 1.
  private static func age(_ scratch: Scratch, _ name: String, _ schema: Schema) throws {
    let database = try Database(
      path: scratch("\(name).sqlite"), access: .write, busyTimeout: .zero, schema: schema)
    try database.execute("DROP TABLE sources; PRAGMA user_version = 1")
  }

  @Test func `health samples of version 1 are read as they are, and a writer adds their sources`()
    async throws
  {
    let scratch = try Scratch()
    let first = try await SQLiteHealthStore.open(in: scratch.path)
    try await first.add([Self.sample(1, source: "b"), Self.sample(2, source: "a")])
    #expect(try await first.summary().map(\.sources) == [["a", "b"]])
    await first.close()
    try Self.age(scratch, "health", HealthTables.schema)

    let reader = try await SQLiteHealthStore.open(in: scratch.path, access: .read)
    #expect(try await reader.summary().map(\.sources) == [nil])
    #expect(try await reader.summary().map(\.count) == [2])
    #expect(try await reader.stored().unfinished == nil)
    await reader.close()

    let writer = try await SQLiteHealthStore.open(in: scratch.path)
    #expect(try await writer.summary().map(\.sources) == [["a", "b"]])
    try await writer.add([Self.sample(3, source: "c"), Self.sample(1, source: "b")])
    #expect(try await writer.summary().map(\.sources) == [["a", "b", "c"]])
    await writer.close()
  }

  /// The columns of a timeline that versions 2 and 3 added.
  private static let added = [
    2: [
      "messages DROP COLUMN changed_epoch", "messages DROP COLUMN changed_offset",
      "cursors DROP COLUMN base_offset", "deliveries DROP COLUMN epoch",
      "deliveries DROP COLUMN offset",
    ],
    3: [
      "outbox DROP COLUMN action", "outbox DROP COLUMN target", "outbox DROP COLUMN image_type",
      "outbox DROP COLUMN image_size", "outbox DROP COLUMN image_url",
      "outbox DROP COLUMN image_uploaded_at",
    ],
  ]

  @Test(arguments: [1, 2])
  func `a timeline of an earlier version is read as it is, and a writer adds what it lacks`(
    version: Int
  ) async throws {
    let scratch = try Scratch()
    let shop = try Sample.shop()
    let cursor = ShopCursor(position: ShopPosition(epoch: "e", offset: 2))
    let first = Sample.message(1, in: shop)
    var entry = OutboxEntry(
      id: UUID128(high: 1, low: 1), shop: shop, text: "out",
      createdAt: Timestamp(nanoseconds: 7))
    let change = TimelineChange(messages: [first], cursor: cursor, outboxPut: [entry])
    let old = try await SQLiteTimelineStore.open(in: scratch.path)
    _ = try await old.commit(change, to: shop)
    await old.close()
    do {
      let database = try Database(
        path: scratch("timeline.sqlite"), access: .write, busyTimeout: .zero,
        schema: TimelineTables.schema)
      for (added, columns) in Self.added where added > version {
        for column in columns { try database.execute("ALTER TABLE \(column)") }
      }
      try database.execute("PRAGMA user_version = \(version)")
    }
    let reader = try await SQLiteTimelineStore.open(in: scratch.path, access: .read)
    let stored = TimelineSnapshot(messages: [first], cursor: cursor, outbox: [entry])
    #expect(try await reader.load(shop, limit: 9) == stored)
    #expect(
      try await reader.older(than: Sample.message(2, in: shop).key, in: shop, limit: 9) == [first])
    await reader.close()

    let writer = try await SQLiteTimelineStore.open(in: scratch.path)
    #expect(try await writer.load(shop, limit: 9) == stored)
    var edit = first
    (edit.text, edit.changed) = ("new", ShopPosition(epoch: "e", offset: 3))
    entry.action = .edit(first.id)
    _ = try await writer.commit(TimelineChange(edits: [edit], outboxPut: [entry]), to: shop)
    #expect(try await writer.load(shop, limit: 9).messages == [edit])
    #expect(try await writer.load(shop, limit: 9).outbox == [entry])
    await writer.close()
  }

  @Test func `synced samples of version 1 keep their sources, and deletions remove them`()
    async throws
  {
    let scratch = try Scratch()
    let first = try await SQLiteSyncStore.open(in: scratch.path)
    _ = try await first.apply(
      try SyncSamples.delivery([
        SyncSamples.record(1, source: "b", uuid: 1), SyncSamples.record(2, source: "a", uuid: 2),
        SyncSamples.record(3, source: "a", uuid: 3),
      ]))
    await first.close()
    try Self.age(scratch, "sync", SyncTables.schema)

    let second = try await SQLiteSyncStore.open(in: scratch.path)
    #expect(try await second.summary(of: "ann").map(\.sources) == [["a", "b"]])
    _ = try await second.apply(try SyncSamples.delivery([], deleted: [1, 2]))
    #expect(try await second.summary(of: "ann").map(\.sources) == [["a"]])
    await second.close()
  }
}
