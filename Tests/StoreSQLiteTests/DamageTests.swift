import Foundation
import HoldfastCore
import HoldfastFeaturePorts
import HoldfastMessageData
import HoldfastTestKit
import Testing

@testable import HoldfastSQLiteStores

/// Tests that unusable files are reported and left unchanged.
@Suite struct DamageTests {
  @Test func `a file that is not a database is reported as corrupt and left unchanged`()
    async throws
  {
    let scratch = try Scratch()
    let text =
      [UInt8]("these are not the tables you look for".utf8) + Array(repeating: 7, count: 5_000)
    for name in ["timeline.sqlite", "messages.sqlite"] { try scratch.write(text, to: name) }
    #expect(try await failure { try await SQLiteTimelineStore.open(in: scratch.path) } == .corrupt)
    #expect(try await failure { try await SQLiteMessageLog.open(in: scratch.path) } == .corrupt)
    #expect(try scratch.bytes(of: "timeline.sqlite") == text)
    #expect(try scratch.bytes(of: "messages.sqlite") == text)
  }

  @Test(arguments: [StoreAccess.write, .read])
  func `a truncated file is reported as corrupt, not recreated, and keeps its log`(
    access: StoreAccess
  ) async throws {
    let scratch = try Scratch()
    let shop = try Sample.shop()
    let store = try await SQLiteTimelineStore.open(in: scratch.path)
    // After the first commit, the log of an earlier run is truncated.
    for number in [1, 2] as [UInt64] {
      let message = Sample.message(number, in: shop)
      _ = try await store.commit(TimelineChange(messages: [message]), to: shop)
    }
    let log = try scratch.bytes(of: "timeline.sqlite-wal")
    await store.close()
    let whole = try scratch.bytes(of: "timeline.sqlite")
    for length in [0, 1, 99, 100, 4_095, 4_096, 8_192] {
      try scratch.write(Array(whole[..<length]), to: "timeline.sqlite")
      let kind = try await failure {
        let damaged = try await SQLiteTimelineStore.open(in: scratch.path, access: access)
        _ = try await damaged.load(shop, limit: 5)
      }
      #expect(kind == .corrupt, "\(length)")
      #expect(try scratch.bytes(of: "timeline.sqlite") == Array(whole[..<length]), "\(length)")
    }
    // The result is the same after a process was killed. The lock file of older versions is empty.
    try scratch.write([], to: "timeline.sqlite")
    try scratch.write([], to: "timeline.lock")
    try scratch.write(log, to: "timeline.sqlite-wal")
    #expect(
      try await failure {
        try await SQLiteTimelineStore.open(in: scratch.path, access: access)
      } == .corrupt)
    #expect(try scratch.bytes(of: "timeline.sqlite-wal") == log)
  }

  @Test func `a new file may take the place of one that was moved away`() async throws {
    let scratch = try Scratch()
    await (try SQLiteTimelineStore.open(in: scratch.path)).close()
    try FileManager.default.removeItem(atPath: "\(scratch.path)/timeline.sqlite")
    await (try SQLiteTimelineStore.open(in: scratch.path)).close()
    let reader = try await SQLiteTimelineStore.open(in: scratch.path, access: .read)
    #expect(try await reader.shops() == [])
  }

  @Test func `a new file without tables gets them at the next open`() async throws {
    let scratch = try Scratch()
    await (try SQLiteTimelineStore.open(in: scratch.path)).close()
    try FileManager.default.removeItem(atPath: "\(scratch.path)/timeline.sqlite")
    // The file is in the state that remains if a process ends after claiming it and before creating
    // the tables.
    _ = try StoreFile(directory: scratch.path, name: "timeline").claim(for: .write)
    let store = try await SQLiteTimelineStore.open(in: scratch.path)
    #expect(try await store.shops() == [])
    await store.close()
  }

  @Test func `a damaged page is reported as corrupt and left unchanged`() async throws {
    let scratch = try Scratch()
    let shop = try Sample.shop()
    let store = try await SQLiteTimelineStore.open(in: scratch.path)
    _ = try await store.commit(
      TimelineChange(messages: (1...500).map { Sample.message($0, in: shop) }), to: shop)
    await store.close()
    var bytes = try scratch.bytes(of: "timeline.sqlite")
    for index in 8_192..<bytes.count { bytes[index] = 0xA5 }
    try scratch.write(bytes, to: "timeline.sqlite")
    let damaged = try await SQLiteTimelineStore.open(in: scratch.path)
    #expect(try await failure { try await damaged.load(shop, limit: 500) } == .corrupt)
    await damaged.close()
    #expect(try scratch.bytes(of: "timeline.sqlite") == bytes)
  }

  @Test func `random damage to a file yields a result or a typed failure`() async throws {
    let scratch = try Scratch()
    let shop = try Sample.shop()
    let change = TimelineChange(
      messages: (1...60).map { Sample.message($0, in: shop) }, cursor: ShopCursor(),
      gaps: [ShopGap(after: nil, before: Sample.message(1, in: shop).key)])
    let store = try await SQLiteTimelineStore.open(in: scratch.path)
    _ = try await store.commit(change, to: shop)
    await store.close()
    let whole = try scratch.bytes(of: "timeline.sqlite")
    var generator = RandomSource(seed: 5)
    var failures = 0
    for _ in 0..<150 {
      var bytes = whole
      for _ in 0..<Int.random(in: 1...40, using: &generator) {
        bytes[Int.random(in: 100..<bytes.count, using: &generator)] = UInt8.random(
          in: 0...255, using: &generator)
      }
      try scratch.write(bytes, to: "timeline.sqlite")
      do throws(StoreFailure) {
        let damaged = try await SQLiteTimelineStore.open(in: scratch.path)
        _ = try await damaged.load(shop, limit: 100)
        _ = try await damaged.commit(change, to: shop)
        await damaged.close()
      } catch {
        failures += 1
      }
    }
    #expect(failures > 0)
  }

  @Test(arguments: [
    "user = x'00'", "id = x'0011'", "id = 5", "text = x'FF'", "created_at = 'never'",
    "is_edited = 2", "epoch = 'e', offset = NULL", "parent = 'p'", "user = CAST(x'FF' AS TEXT)",
    "changed_epoch = 'e', changed_offset = NULL",
  ])
  func `a row with invalid values is reported as corrupt`(_ assignment: String) throws {
    let scratch = try Scratch()
    let shop = try Sample.shop()
    // The tables have the same columns without types, as in a damaged file.
    let loose = Schema(
      applicationID: 1,
      tables: """
        CREATE TABLE shops(number INTEGER PRIMARY KEY, shop);
        CREATE TABLE messages(
          shop, id, user, username, text, created_at, updated_at, is_edited, parent, epoch, offset,
          changed_epoch, changed_offset);
        CREATE TABLE ids(shop, id, created_at);
        CREATE TABLE new_ids(shop, id, created_at)
        """)
    let database = try open(scratch, loose)
    let tables = TimelineTables(database: database, shop: shop)
    #expect(try tables.insertion().insert(Sample.message(1, in: shop)))
    #expect(try tables.newest(limit: 1) == [Sample.message(1, in: shop)])
    try database.execute("UPDATE messages SET \(assignment)")
    let error = try #require(throws: StoreFailure.self) { try tables.newest(limit: 1) }
    #expect(FailureKind(error) == .corrupt)
  }

  @Test func `a store of a newer version is refused and left unchanged`() async throws {
    let scratch = try Scratch()
    await (try SQLiteTimelineStore.open(in: scratch.path)).close()
    do {
      let database = try open(scratch, TimelineTables.schema)
      try database.execute("PRAGMA user_version = 4")
    }
    let bytes = try scratch.bytes(of: "timeline.sqlite")
    for access in [StoreAccess.write, .read] {
      let kind = try await failure {
        try await SQLiteTimelineStore.open(in: scratch.path, access: access)
      }
      #expect(kind == .fromTheFuture(4, 3))
    }
    #expect(try scratch.bytes(of: "timeline.sqlite") == bytes)
  }

  @Test func `a database of another program is refused and left unchanged`() async throws {
    let scratch = try Scratch()
    _ = try open(scratch, Schema(applicationID: 99, tables: "CREATE TABLE theirs(a)"))
    let bytes = try scratch.bytes(of: "timeline.sqlite")
    #expect(try await failure { try await SQLiteTimelineStore.open(in: scratch.path) } == .corrupt)
    #expect(try scratch.bytes(of: "timeline.sqlite") == bytes)
  }

  @Test func `tables that cannot all be created are not created at all`() throws {
    let scratch = try Scratch()
    let broken = Schema(
      applicationID: 3, tables: "CREATE TABLE notes(a); CREATE TABLE notes(b)")
    #expect(throws: StoreFailure.self) { try open(scratch, broken) }
    let whole = Schema(applicationID: 3, tables: "CREATE TABLE notes(a)")
    #expect(try whole.inspect(open(scratch, whole), path: ""))
  }

  @Test func `a file without tables cannot be opened for reading`() throws {
    let scratch = try Scratch()
    try scratch.write([], to: "timeline.sqlite")
    let error = try #require(throws: StoreFailure.self) {
      try open(scratch, TimelineTables.schema, access: .read)
    }
    #expect(FailureKind(error) == .denied)
  }

  private func open(
    _ scratch: Scratch, _ schema: Schema, access: StoreAccess = .write
  ) throws(StoreFailure) -> Database {
    let file = StoreFile(directory: scratch.path, name: "timeline")
    _ = try file.claim(for: access)
    return try Database(
      path: file.path, access: access, busyTimeout: .zero, schema: schema)
  }

  @Test(arguments: [false, true])
  func `a file that is deleted or replaced under an open store fails every call`(
    isReplaced: Bool
  ) async throws {
    let scratch = try Scratch()
    let shop = try Sample.shop()
    let store = try await SQLiteTimelineStore.open(in: scratch.path)
    let log = try await SQLiteMessageLog.open(in: scratch.path)
    let change = TimelineChange(messages: [Sample.message(1, in: shop)])
    _ = try await store.commit(change, to: shop)
    for name in ["timeline.sqlite", "messages.sqlite"] {
      let bytes = try scratch.bytes(of: name)
      try FileManager.default.removeItem(atPath: scratch.path + "/" + name)
      if isReplaced { try scratch.write(bytes, to: name) }
    }
    #expect(try await failure { try await store.commit(change, to: shop) } == .denied)
    #expect(try await failure { try await store.load(shop, limit: 1) } == .denied)
    #expect(try await failure { try await store.check() } == .denied)
    #expect(
      try await failure {
        try await log.append(Sample.message(1, in: shop), idempotencyKey: nil)
      } == .denied)
    #expect(
      try await failure { try await log.page(.page(number: 1, limit: 1), of: shop) } == .denied)
  }

  @Test(.timeLimit(.minutes(60)))
  func `a file that is not a regular file is refused at once`() async throws {
    let scratch = try Scratch()
    #expect(unsafe mkfifo(scratch.path + "/timeline.sqlite", 0o600) == 0)
    for access in [StoreAccess.read, .write] {
      #expect(
        try await failure {
          try await SQLiteTimelineStore.open(in: scratch.path, access: access)
        } == .denied)
    }
  }

  @Test func `a directory that cannot be created is refused with the actual cause`() async throws {
    // Creating a directory in sysfs fails, because it is not permitted or the file system is
    // read-only.
    do throws(StoreFailure) {
      let store = try await SQLiteHealthStore.open(in: "/sys/holdfast/phone")
      await store.close()
      Issue.record("a directory was created in sysfs")
    } catch {
      guard case .denied(let detail) = error else { throw error }
      #expect(detail.hasPrefix("Cannot create /sys/holdfast: "))
      #expect(!detail.contains("No such file"))
    }
  }

  @Test func `a new epoch keeps the messages and forgets the positions`() async throws {
    let scratch = try Scratch()
    let shop = try Sample.shop()
    let log = try await SQLiteMessageLog.open(in: scratch.path)
    for number in 1...3 as ClosedRange<UInt64> {
      _ = try await log.append(Sample.message(number, in: shop), idempotencyKey: nil)
    }
    let before = try await log.head(of: shop)
    await log.close()
    let again = try await SQLiteMessageLog.open(in: scratch.path, newEpoch: true)
    let after = try await again.head(of: shop)
    #expect(after.offset == before.offset)
    #expect(after.epoch != before.epoch)
    let page = try await again.page(.after(before, limit: 10), of: shop)
    #expect(!page.recovered)
    #expect(page.messages.map(\.id) == (1...3).map { Sample.message($0, in: shop).id })
    await again.close()
    let third = try await SQLiteMessageLog.open(in: scratch.path)
    #expect(try await third.head(of: shop) == after)
  }
}
