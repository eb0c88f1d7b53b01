import Foundation
import HoldfastCore
import HoldfastFeaturePorts
import HoldfastMessageData
import HoldfastTestKit
import Testing

@testable import HoldfastSQLiteStores

/// Tests of the search for a user's messages, and of the erasure of samples.
@Suite struct UserEraseTests {
  private static func isFound(_ text: String, in scratch: Scratch) throws -> Bool {
    let sought = Data(text.utf8)
    return try FileManager.default.contentsOfDirectory(atPath: scratch.path).contains { name in
      Data(try scratch.bytes(of: name)).range(of: sought) != nil
    }
  }

  @Test func `the messages of an author are found in all parts and shops`() async throws {
    let scratch = try Scratch()
    let shops = [try Sample.shop("s"), try Sample.shop("t")]
    let log = try await SQLiteMessageLog.open(in: scratch.path)
    var requests: [LogRequest] = []
    var own: Set<MessageID> = []
    // Two parts and a half. Every 5,000th message is that of the author.
    for number in 0..<50_000 {
      var message = Sample.message(UInt64(number), in: shops[number % 2])
      if number % 5_000 == 0 {
        message.user = "ann-4711"
        own.insert(message.id)
      }
      requests.append(.post(LogEntry(message: message, key: nil)))
    }
    for result in await log.append(requests) { _ = try result.get() }
    var (place, found, parts): (LogPlace?, [AuthoredMessages.Message], Int) = (nil, [], 0)
    repeat {
      let part = try await log.messages(by: "ann-4711", after: place)
      found += part.messages
      place = part.end
      parts += 1
    } while place != nil
    #expect(parts == 3)
    #expect(Set(found.map(\.id)) == own && found.count == own.count)
    #expect(Set(found.map(\.shop)) == [shops[0]])
    // A deleted message is not found any more, and after a rewriting nothing names its author.
    for message in found {
      let deletion = LogDeletion(
        id: message.id, shop: message.shop, by: LogActor(user: "", isAdmin: true))
      _ = try await log.append(.delete(deletion))
    }
    #expect(try await log.messages(by: "ann-4711", after: nil).messages == [])
    try await log.rewrite()
    #expect(try !Self.isFound("ann-4711", in: scratch))
    #expect(try await log.head(of: shops[0]).offset == 25_010)
    await log.close()
  }

  @Test func `unclaimed images of a user are deleted, and those of others stay`() async throws {
    let scratch = try Scratch()
    let shop = try Sample.shop("s")
    let log = try await SQLiteMessageLog.open(in: scratch.path)
    for (number, user) in ["ann", "ben"].enumerated() {
      let image = StoredImage(
        id: UUID128(high: 9, low: UInt64(number)), shop: shop, user: user, type: .png, size: 1,
        createdAt: Timestamp(nanoseconds: 1))
      #expect(try await log.addImage(image, atMost: 9))
    }
    try await log.deleteUnclaimedImages(of: "ann")
    #expect(try await log.deletedImages() == [UUID128(high: 9, low: 0)])
    #expect(try await log.image(UUID128(high: 9, low: 1))?.user == "ben")
    await log.close()
  }

  @Test(arguments: [1, 2, 1_000])
  func `the samples of a user are erased in parts, and those of others stay`(
    limit: Int
  ) async throws {
    let scratch = try Scratch()
    let store = try await SQLiteSyncStore.open(in: scratch.path)
    let records = (1...5).map {
      SyncSamples.record(Int64($0), source: "The Watch of Ann", uuid: UInt64($0))
    }
    for user in ["ann-4711", "ben"] {
      _ = try await store.apply(
        try SyncSamples.delivery(records, user: user, device: "phone of \(user)"))
    }
    var erased = 0
    while case let part = try await store.erase("ann-4711", atMost: limit), part > 0 {
      erased += part
    }
    #expect(erased >= 10)
    #expect(try await store.summary(of: "ann-4711") == [])
    #expect(try await store.newestStamp(of: "ann-4711", device: "phone of ann-4711") == nil)
    #expect(try await store.summary(of: "ben").map(\.count) == [5])
    #expect(try await store.summary(of: "ben").first?.sources == ["The Watch of Ann"])
    try await store.rewrite()
    #expect(try !Self.isFound("ann-4711", in: scratch))
    // The user may come back.
    _ = try await store.apply(try SyncSamples.delivery(records, user: "ann-4711"))
    #expect(try await store.summary(of: "ann-4711").map(\.count) == [5])
    await store.close()
  }

  @Test func `a file cannot be written anew while another program reads it`() async throws {
    let scratch = try Scratch()
    let log = try await SQLiteMessageLog.open(in: scratch.path, busyTimeout: .milliseconds(1))
    _ = try await log.append(
      Sample.message(1, in: try Sample.shop()), idempotencyKey: nil)
    let reader = try Database(
      path: scratch("messages.sqlite"), access: .read, busyTimeout: .zero,
      schema: LogTables.schema)
    try reader.execute("BEGIN")
    _ = try reader.query("SELECT count(*) FROM messages") { row throws(StoreFailure) in
      try row.integer(0)
    }
    await #expect(throws: StoreFailure.self) { try await log.rewrite() }
    try reader.execute("ROLLBACK")
    try await log.rewrite()
    await log.close()
  }
}
