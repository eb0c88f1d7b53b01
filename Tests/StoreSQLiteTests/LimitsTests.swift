import Foundation
import HoldfastCore
import HoldfastFeaturePorts
import HoldfastMessageData
import HoldfastOwnerFiles
import HoldfastTestKit
import Testing

@testable import HoldfastSQLiteStores

/// Tests with full disks, other processes, file permissions and a large timeline.
@Suite struct LimitsTests {
  @Test(arguments: [
    (13, 0, FailureKind.full), (778, ENOSPC, .full), (778, EDQUOT, .full), (778, EFBIG, .full),
    (14, ENOSPC, .full), (778, EIO, .other), (5, 0, .locked), (261, 0, .locked), (6, 0, .locked),
    (15, 0, .locked), (11, 0, .corrupt), (267, 0, .corrupt), (26, 0, .corrupt), (14, 0, .denied),
    (8, 0, .denied), (1_544, 0, .denied), (3, 0, .denied), (1, 0, .other), (19, 0, .other),
  ])
  func `each SQLite error maps to its store failure`(
    _ code: Int32, _ system: Int32, _ kind: FailureKind
  ) {
    let failure = storeFailure(code: code, system: system, text: "text", path: "/a/b")
    #expect(FailureKind(failure) == kind)
    #expect("\(failure)".contains("/a/b: text (SQLite \(code))."))
    let onPhone = storeFailure(
      code: code, system: system, text: "text", path: "/a/b", under: .deviceLock)
    #expect(onPhone == failure)
  }

  /// Result codes of SQLite with the `errno`, as a phone reports them before its first unlock.
  private static let beforeUnlock: [(code: Int32, system: Int32)] = [
    (23, 0), (14, EPERM), (526, EPERM), (10, EPERM), (778, EPERM), (266, EPERM),
  ]

  @Test(arguments: beforeUnlock)
  func `an error of SQLite before the first unlock is locked on a phone and nowhere else`(
    code: Int32, system: Int32
  ) {
    func kind(_ rules: FileRules) -> FailureKind {
      FailureKind(
        storeFailure(code: code, system: system, text: "text", path: "/a/b", under: rules))
    }
    #expect(kind(.deviceLock) == .locked)
    #expect(kind(.permissions) == (code & 0xFF == 10 ? .other : .denied))
  }

  @Test func `a full store fails as full, keeps its content and works again once there is space`()
    throws
  {
    let scratch = try Scratch()
    let shop = try Sample.shop()
    let file = StoreFile(directory: scratch.path, name: "timeline")
    _ = try file.claim(for: .write)
    let database = try Database(
      path: file.path, access: .write, busyTimeout: .zero, schema: TimelineTables.schema)
    let tables = TimelineTables(database: database, shop: shop)
    func store(_ number: UInt64) throws(StoreFailure) {
      try database.transaction(write: true) { () throws(StoreFailure) in
        _ = try tables.insertion().insert(
          Sample.message(number, in: shop, text: String(repeating: "x", count: 9_000)))
        try tables.set(ShopCursor(time: Timestamp(nanoseconds: Int64(number))))
      }
    }
    _ = try database.query("PRAGMA max_page_count = 40") { _ in }
    var stored: UInt64 = 0
    let error = try #require(throws: StoreFailure.self) {
      while stored < 100 {
        try store(stored + 1)
        stored += 1
      }
    }
    #expect(FailureKind(error) == .full)
    #expect(stored > 0)
    #expect(try tables.newest(limit: 100).count == Int(stored))
    #expect(try tables.cursor().time == Timestamp(nanoseconds: Int64(stored)))
    _ = try database.query("PRAGMA max_page_count = 4000") { _ in }
    try store(stored + 1)
    #expect(try tables.newest(limit: 100).count == Int(stored) + 1)
  }

  @Test(.enabled(if: Scratch.canMount, "needs root to mount a small disk"))
  func `a log on a full disk fails as full and keeps acknowledged messages`() async throws {
    let scratch = try Scratch()
    let shop = try Sample.shop()
    try scratch.mountDisk(size: "512k")
    defer { scratch.unmountDisk() }
    let log = try await SQLiteMessageLog.open(in: scratch.path)
    var stored: UInt64 = 0
    let kind = try await failure {
      while stored < 1_000 {
        let text = String(repeating: "x", count: 5_000)
        _ = try await log.append(
          Sample.message(stored + 1, in: shop, text: text), idempotencyKey: nil)
        stored += 1
      }
    }
    #expect(kind == .full)
    #expect(try await log.head(of: shop).offset == stored)
    #expect(try await failure { try await log.check() } == .full)
    await log.close()
    let again = try await SQLiteMessageLog.open(in: scratch.path)
    #expect(try await again.head(of: shop).offset == stored)
  }

  /// If the write-ahead log is not copied into its file in time, it fills the disk. It can then no
  /// longer be copied.
  @Test(
    .enabled(if: Scratch.canMount, "needs root to mount a small disk"),
    arguments: ["1m", "6m"])
  func `a log that has filled a small disk works again once there is space`(
    size: String
  ) async throws {
    let scratch = try Scratch()
    let shop = try Sample.shop()
    try scratch.mountDisk(size: size)
    defer { scratch.unmountDisk() }
    // This file belongs to another program. It is removed again below.
    try scratch.write([UInt8](repeating: 1, count: 200_000), to: "ballast")
    let log = try await SQLiteMessageLog.open(in: scratch.path)
    let first = try await fill(log, of: shop, behind: 0)
    // Messages fill most of the disk. Each takes 8 KiB: a page and an overflow page.
    let bytes: UInt64 = size == "1m" ? 1 << 20 : 6 << 20
    #expect(first * 8_192 > (bytes - 400_000) / 2, "\(first) messages")
    await log.close()
    let again = try await SQLiteMessageLog.open(in: scratch.path)
    #expect(try await again.head(of: shop).offset == first)
    let second = try await fill(again, of: shop, behind: first)
    try FileManager.default.removeItem(atPath: "\(scratch.path)/ballast")
    let third = try await fill(again, of: shop, behind: second)
    #expect(third >= second + 10)
    #expect(try await again.head(of: shop).offset == third)
  }

  /// Appends messages until the disk is full. Returns the number of stored messages.
  private func fill(
    _ log: SQLiteMessageLog, of shop: ShopID, behind first: UInt64
  ) async throws -> UInt64 {
    let text = String(repeating: "x", count: 5_000)
    var stored = first
    let kind = try await failure {
      while stored < 10_000 {
        _ = try await log.append(
          Sample.message(stored + 1, in: shop, text: text), idempotencyKey: nil)
        stored += 1
      }
    }
    #expect(kind == .full)
    return stored
  }

  @Test func `a second writer is locked out with a reason, and a reader is not`() async throws {
    let scratch = try Scratch()
    let shop = try Sample.shop()
    let writer = try await SQLiteTimelineStore.open(in: scratch.path)
    let error = await #expect(throws: StoreFailure.self) {
      try await SQLiteTimelineStore.open(in: scratch.path)
    }
    #expect(
      error
        == .locked(
          detail: "Another process, or this one, has opened \(scratch.path)/timeline.lock. "
            + "Close it there, or use another data directory."))
    let reader = try await SQLiteTimelineStore.open(in: scratch.path, access: .read)
    let change = TimelineChange(messages: [Sample.message(1, in: shop)])
    _ = try await writer.commit(change, to: shop)
    #expect(try await reader.load(shop, limit: 5).messages == change.messages)
    #expect(try await failure { try await reader.commit(change, to: shop) } == .denied)
    await writer.close()
    #expect(try await reader.load(shop, limit: 5).messages == change.messages)
    await (try SQLiteTimelineStore.open(in: scratch.path)).close()
  }

  @Test func `a store that is released without closing releases its lock`() async throws {
    let scratch = try Scratch()
    _ = try await SQLiteMessageLog.open(in: scratch.path)
    await (try SQLiteMessageLog.open(in: scratch.path)).close()
  }

  @Test func `a closed store can be read`() async throws {
    let scratch = try Scratch()
    let shop = try Sample.shop()
    let writer = try await SQLiteTimelineStore.open(in: scratch.path)
    _ = try await writer.commit(TimelineChange(messages: [Sample.message(1, in: shop)]), to: shop)
    await writer.close()
    let reader = try await SQLiteTimelineStore.open(in: scratch.path, access: .read)
    #expect(try await reader.shops() == [shop])
  }

  @Test func `commits fail as locked while another program locks the file`() async throws {
    let scratch = try Scratch()
    let shop = try Sample.shop()
    let store = try await SQLiteTimelineStore.open(in: scratch.path, busyTimeout: .milliseconds(1))
    let foreign = try Database(
      path: "\(scratch.path)/timeline.sqlite", access: .write, busyTimeout: .zero,
      schema: TimelineTables.schema)
    try foreign.execute("BEGIN IMMEDIATE")
    let change = TimelineChange(messages: [Sample.message(1, in: shop)])
    try await store.check()
    #expect(try await failure { try await store.commit(change, to: shop) } == .locked)
    #expect(try await failure { try await store.check() } == .locked)
    try foreign.execute("ROLLBACK")
    try await store.check()
    #expect(try await store.commit(change, to: shop).inserted.count == 1)
  }

  @Test func `only the owner can read the files, even those that were open to all`() async throws {
    let scratch = try Scratch()
    try scratch.write([], to: "timeline.sqlite")
    _ = unsafe chmod("\(scratch.path)/timeline.sqlite", 0o644)
    let shop = try Sample.shop()
    for directory in ["", "/a/b"] {
      let store = try await SQLiteTimelineStore.open(in: scratch.path + directory)
      _ = try await store.commit(TimelineChange(messages: [Sample.message(1, in: shop)]), to: shop)
      for name in [
        "timeline.sqlite", "timeline.sqlite-wal", "timeline.sqlite-shm", "timeline.lock",
      ] {
        #expect(try scratch.mode(of: "\(directory)/\(name)") == 0o600, "\(directory)/\(name)")
      }
    }
    #expect(try scratch.mode(of: "/a") == 0o700)
    #expect(try scratch.mode(of: "/a/b") == 0o700)
  }

  @Test func `a directory that is missing or cannot be created is denied`() async throws {
    let scratch = try Scratch()
    try scratch.write([1], to: "file")
    let kind = try await failure { try await SQLiteTimelineStore.open(in: "\(scratch.path)/file") }
    #expect(kind == .denied)
    let missing = try await failure {
      try await SQLiteTimelineStore.open(in: "\(scratch.path)/none", access: .read)
    }
    #expect(missing == .denied)
    #expect(!FileManager.default.fileExists(atPath: "\(scratch.path)/none"))
  }

  @Test(.timeLimit(.minutes(60)))
  func `the newest messages load without a scan of the others`() async throws {
    let shop = try Sample.shop()
    let (scratch, fewScratch) = (try Scratch(), try Scratch())
    let store = try await SQLiteTimelineStore.open(in: scratch.path)
    let few = try await SQLiteTimelineStore.open(in: fewScratch.path)
    for start in stride(from: UInt64(0), to: 100_000, by: 10_000) {
      let messages = (start..<start + 10_000).map { Sample.message($0, in: shop) }
      _ = try await store.commit(TimelineChange(messages: messages), to: shop)
      if start == 0 {
        _ = try await few.commit(TimelineChange(messages: Array(messages.prefix(1_000))), to: shop)
      }
    }
    let snapshot = try await store.load(shop, limit: 1_000)
    #expect(snapshot.messages.map(\.id.low) == Array(99_000..<100_000))
    #expect(snapshot.hasOlder)
    // The shortest times count, since a busy machine delays some loads of both stores. A scan of
    // all messages takes more than 20 times as long.
    var (best, bestOfFew) = (Duration.seconds(60), Duration.seconds(60))
    let clock = ContinuousClock()
    for _ in 0..<50 {
      best = min(best, try await clock.measure { _ = try await store.load(shop, limit: 10) })
      bestOfFew = min(
        bestOfFew, try await clock.measure { _ = try await few.load(shop, limit: 10) })
    }
    #expect(best < bestOfFew * 20)
  }
}
